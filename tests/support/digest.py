"""The MD5 sums of message attributes as AWS documents them, written again from the documentation."""

import hashlib
from collections.abc import Mapping
from typing import Any


def md5(body: str) -> str:
    return hashlib.md5(body.encode()).hexdigest()


def attributes_md5(attributes: Mapping[str, Mapping[str, Any]]) -> str:
    """Of attributes as boto3 takes and gives them."""
    parts = []
    for name, attribute in sorted(attributes.items()):
        binary = attribute["DataType"].startswith("Binary")
        value = attribute["BinaryValue"] if binary else attribute["StringValue"].encode()
        parts += [_framed(name.encode()), _framed(attribute["DataType"].encode())]
        parts += [b"\x02" if binary else b"\x01", _framed(value)]
    return hashlib.md5(b"".join(parts)).hexdigest()


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
