"""The MD5 sums that SQS returns, and its clients check."""

import hashlib
from collections.abc import Mapping

from rockdove.core.message import Attribute


def body_md5(body: bytes) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def attributes_md5(attributes: Mapping[str, Attribute]) -> str:
    """Over the attributes in the order of their names: name, data type, one byte for the kind of value, value.

    Each string is preceded by its length in four bytes.
    """
    md5 = hashlib.md5(usedforsecurity=False)
    for name in sorted(attributes):
        attribute = attributes[name]
        binary = attribute.binary_value is not None
        value = attribute.binary_value if binary else (attribute.string_value or "").encode()
        for part in (name.encode(), attribute.data_type.encode()):
            md5.update(len(part).to_bytes(4, "big") + part)
        md5.update(b"\x02" if binary else b"\x01")
        md5.update(len(value or b"").to_bytes(4, "big") + (value or b""))
    return md5.hexdigest()
