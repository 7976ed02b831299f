"""Frames between processes, of which one dies."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from rockdove.store.remote.frame import Framed


class Ear(Framed):
    """Keeps what it hears."""

    def __init__(self, sock: socket.socket) -> None:
        self.heard: list[Any] = []
        self.is_lost = asyncio.get_running_loop().create_future()
        super().__init__(sock, msgspec.msgpack.Decoder(list[Any]))

    def received(self, messages: Sequence[Any]) -> None:
        self.heard += messages

    def unsaid(self, message: Any, error: Exception) -> None:
        raise error

    def lost(self) -> None:
        self.is_lost.set_result(None)


def frame(*messages: Any) -> bytes:
    body = msgspec.msgpack.encode(list(messages))
    return len(body).to_bytes(4, "little") + body


def test_what_the_other_side_said_before_it_died_is_heard() -> None:
    async def work() -> list[Any]:
        ours, theirs = socket.socketpair()
        ear = Ear(ours)
        theirs.sendall(frame("delivered"))
        theirs.close()
        # Before anything was read, what is said finds nobody.
        for number in range(20):
            ear.send(number)
        assert ear.is_open
        await asyncio.wait_for(ear.is_lost, 10)
        ear.send("late")
        assert not ear.is_open
        return ear.heard

    assert asyncio.run(work()) == ["delivered"]


def test_a_large_frame_that_is_not_taken_to_its_end() -> None:
    async def work() -> list[Any]:
        ours, theirs = socket.socketpair()
        ear = Ear(ours)
        ear.send("x" * 4_000_000)
        await asyncio.sleep(0)
        theirs.sendall(frame("delivered"))
        # With what it has not read, so that the next write fails.
        theirs.close()
        await asyncio.wait_for(ear.is_lost, 10)
        return ear.heard

    assert asyncio.run(work()) == ["delivered"]
