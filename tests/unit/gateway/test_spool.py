"""Blocks of large messages."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiocoap.blockwise import ContinueException
from aiocoap.error import BadRequest, RequestEntityIncomplete, RequestEntityTooLarge
from aiocoap.message import Message
from aiocoap.numbers.codes import POST

from rockdove.gateway.coap.spool import Spool


class Remote:
    """As far as a spool looks at it."""

    def __init__(self, name: str = "device") -> None:
        self.blockwise_key = name


def block(number: int, more: bool, payload: bytes, remote: str = "device") -> Message:
    """Of 16 bytes."""
    message = Message(code=POST, uri_path=("queues", "jobs"), payload=payload, block1=(number, more, 0))
    message.remote = Remote(remote)
    return message


def running(scenario: Callable[[], None]) -> Callable[[], None]:
    async def run() -> None:
        scenario()

    return lambda: asyncio.run(run())


def put(spool: Spool, *blocks: Message) -> Any:
    for each in blocks:
        with pytest.raises(ContinueException):
            spool.feed_and_take(each)


@running
def test_whole() -> None:
    spool = Spool()
    put(spool, block(0, True, b"a" * 16), block(0, True, b"x" * 16, "other"), block(1, True, b"b" * 16))
    assert spool.feed_and_take(block(2, False, b"c")).payload == b"a" * 16 + b"b" * 16 + b"c"
    assert spool.feed_and_take(block(1, False, b"y", "other")).payload == b"x" * 16 + b"y"
    # It is gone, then.
    with pytest.raises(RequestEntityIncomplete):
        spool.feed_and_take(block(2, False, b"c"))


@running
def test_a_gap() -> None:
    spool = Spool()
    put(spool, block(0, True, b"a" * 16))
    with pytest.raises(RequestEntityIncomplete):
        spool.feed_and_take(block(2, False, b"c"))


@running
def test_beginning_anew() -> None:
    spool = Spool()
    put(spool, block(0, True, b"a" * 16), block(1, True, b"b" * 16), block(0, True, b"c" * 16))
    assert spool.feed_and_take(block(1, False, b"d")).payload == b"c" * 16 + b"d"


@running
def test_a_block_of_another_length() -> None:
    with pytest.raises(BadRequest):
        Spool().feed_and_take(block(0, True, b"a" * 15))


@running
def test_too_large() -> None:
    with pytest.raises(RequestEntityTooLarge):
        Spool().feed_and_take(block(65_536, False, b"a"))


@running
def test_no_room() -> None:
    """The one that was silent for the longest makes room."""
    spool = Spool(most=3 * 2_100)
    for name in "abc":
        put(spool, block(0, True, name.encode() * 16, name))
    put(spool, block(1, True, b"a" * 16, "a"), block(0, True, b"d" * 16, "d"))
    with pytest.raises(RequestEntityIncomplete):
        spool.feed_and_take(block(1, False, b"b", "b"))
    for name in "acd":
        assert spool.feed_and_take(block(2 if name == "a" else 1, False, b"x", name)).payload.endswith(b"x")
