"""Requests of CoAP as datagrams."""

from collections.abc import Sequence
from typing import Any

from aiocoap.message import Message
from aiocoap.numbers.codes import POST
from aiocoap.numbers.types import CON


def posting(path: Sequence[str], mid: int, payload: bytes, token: bytes = b"t", **options: Any) -> bytes:
    message = Message(code=POST, uri_path=path, payload=payload, _mtype=CON, _mid=mid, _token=token, **options)
    return message.encode()  # type: ignore[no-any-return]
