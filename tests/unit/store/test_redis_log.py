"""The log of changes over servers that do not answer: nothing is called undone that may be done yet."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rockdove.core.errors import NoMajority, StoreError, StoreInterrupted
from rockdove.store.redis.log import NONCE_BYTES, ChangeLog


class Server:
    """As `functions/record.lua` has it."""

    def __init__(self) -> None:
        self.promised = b""
        self.begun: tuple[int, bytes, bytes] = (0, b"", b"")
        self.changes: list[tuple[int, bytes]] = []
        # What does not get through: a function's name. It is done, but its answer is lost.
        self.loses = ""
        # The same, and it is not done.
        self.drops = ""

    @property
    def version(self) -> int:
        return self.changes[-1][0] if self.changes else 0

    async def ask(self, function: str, *words: Any) -> Any:
        if function == self.drops:
            raise StoreError("the server is away")
        answer = getattr(self, function)(*words[2:])
        if function == self.loses:
            raise StoreError("no answer")
        return answer

    async def ask_command(self, name: str, *words: Any) -> Any:
        if name == "GET":
            return self.version
        first = int(words[1].partition("-")[0])
        return [(b"%d-0" % version, [b"change", change]) for version, change in self.changes if version >= first]

    def rd_prepare(self, ballot: str) -> list[Any]:
        if ballot.encode() <= self.promised:
            return [0, self.promised]
        self.promised = ballot.encode()
        version, accepted, change = self.begun
        return [1, self.version, version, accepted, change]

    def rd_accept(self, ballot: str, version: int, change: bytes) -> list[Any]:
        if ballot.encode() < self.promised:
            return [0, self.promised]
        if version != self.version + 1:
            return [-1, self.version]
        self.begun = (version, ballot.encode(), change)
        return [1]

    def rd_commit(self, version: int, change: bytes, *puts: Any) -> int:
        if version == self.version + 1:
            self.changes.append((version, change))
        return self.version


class Servers:
    store, trouble = "store", "It is away."

    def __init__(self, number: int) -> None:
        self.all = [Server() for _ in range(number)]
        self.up = list(self.all)
        self.number = number
        self.majority = number // 2 + 1


def writer(servers: Servers, heard: list[bytes]) -> ChangeLog:
    async def reload(server: Any) -> None:
        raise AssertionError

    made: Any = ChangeLog(servers, lambda change: [], lambda version, change: heard.append(change), reload)  # type: ignore[arg-type]
    return made  # type: ignore[no-any-return]


def changing(change: bytes) -> Callable[[int], Any]:
    async def decide(version: int) -> bytes:
        return change

    return decide


def test_an_answer_that_is_lost_leaves_it_open() -> None:
    """Whoever writes next finishes what the only server has accepted: it must not be called undone."""

    async def work() -> None:
        servers, heard = Servers(1), []  # type: ignore[var-annotated]
        log = writer(servers, heard)
        assert await log.write(changing(b"first")) == 1
        servers.all[0].loses = "rd_accept"
        with pytest.raises(StoreInterrupted):
            await log.write(changing(b"second"))
        servers.all[0].loses = ""
        assert await log.write(changing(b"third")) == 3
        assert heard == [b"first", b"second", b"third"]

    asyncio.run(work())


def test_of_three_servers_one_may_have_it() -> None:
    async def work() -> None:
        servers, heard = Servers(3), []  # type: ignore[var-annotated]
        log = writer(servers, heard)
        await log.write(changing(b"first"))
        servers.all[0].loses = "rd_accept"
        for server in servers.all[1:]:
            server.drops = "rd_accept"
        with pytest.raises(StoreInterrupted):
            await log.write(changing(b"second"))
        for server in servers.all:
            server.loses = server.drops = ""
        assert await log.write(changing(b"third")) == 3
        assert heard == [b"first", b"second", b"third"]

    asyncio.run(work())


def test_what_was_never_proposed_is_not_done() -> None:
    async def work() -> None:
        servers, heard = Servers(3), []  # type: ignore[var-annotated]
        log = writer(servers, heard)
        await log.write(changing(b"first"))
        servers.up = servers.all[:1]
        with pytest.raises(NoMajority):
            await log.write(changing(b"second"))
        servers.up = servers.all
        assert await log.write(changing(b"third")) == 2
        assert heard == [b"first", b"third"]

    asyncio.run(work())


def test_what_another_writer_has_finished_is_done() -> None:
    async def work() -> None:
        servers, heard = Servers(1), []  # type: ignore[var-annotated]
        log, other = writer(servers, heard), writer(servers, [])
        servers.all[0].loses = "rd_accept"
        with pytest.raises(StoreInterrupted):
            await log.write(changing(b"first"))
        servers.all[0].loses = ""
        await other.write(changing(b"theirs"))
        assert [change[NONCE_BYTES:] for _, change in servers.all[0].changes] == [b"first", b"theirs"]
        assert await log.write(changing(b"second")) == 3

    asyncio.run(work())
