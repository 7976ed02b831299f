"""The changes of records, one after another, on all servers: more than half of them decide which comes next.

See the comment at the head of `functions/record.lua`. One writes at a time in this process; others write in theirs.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeAlias

from rockdove.core.errors import NoMajority, StoreError, StoreInterrupted
from rockdove.store.redis.server import Server
from rockdove.store.redis.servers import Servers

# What a change puts, and what goes (None): kind of record, field, value.
Puts: TypeAlias = list[tuple[str, str, bytes | None]]
# Seconds between two tries of who was overtaken by another writer.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.1
MOST_TRIES = 40
# Changes that are read at a time.
PAGE = 500
# Tells a change from another that says the same.
NONCE_BYTES = 12
KINDS = ("queue", "deleted", "task", "account", "former", "topic")


class Overtaken(Exception):
    """Another process writes at the same time."""


class ChangeLog:
    """``puts`` tells what a change puts; ``heard`` is told of each that was committed, in order: version, change.

    ``reload`` is awaited with a server to read all records from if changes were missed; it sets `version`.
    """

    def __init__(
        self,
        servers: Servers,
        puts: Callable[[bytes], Puts],
        heard: Callable[[int, bytes], None],
        reload: Callable[[Server], Awaitable[None]],
    ) -> None:
        self._servers = servers
        self._puts = puts
        self._heard = heard
        self._reload = reload
        self._name = secrets.token_hex(6)
        self._round = 0
        # The ballot under which this process may write without asking again.
        self._ballot: str | None = None
        self._rng = Random()
        self._writing = asyncio.Lock()
        self._reading = asyncio.Lock()
        # What the writer of this process has proposed; and the version, if it was committed, by whomever.
        self._proposed: dict[bytes, int | None] = {}
        # The highest version for which some server may have accepted any of that.
        self._accepted = 0
        self.version = 0

    async def write(self, decide: Callable[[int], Awaitable[bytes]]) -> int:
        """Add a change; ``decide`` makes it, knowing all before, of which it gets the next version.

        The version it has got. Raises `StoreError`, also what ``decide`` raises.
        """
        async with self._writing:
            self._proposed, self._accepted = {}, 0
            try:
                return await self._write(decide)
            except StoreError as error:
                done = self._done()
                if done is not None:
                    return done
                if self._accepted <= self.version:
                    raise
                # Whoever writes next may find it on a server, and finish it.
                raise StoreInterrupted(str(error)) from error

    def _done(self) -> int | None:
        """The version that the change has got that is being written, if another writer has finished it."""
        return next((version for version in self._proposed.values() if version is not None), None)

    async def settle(self) -> None:
        """Finish what was told to be open, if servers have it. Raises `StoreError`."""
        if self._accepted > self.version:
            async with self._writing:
                self._ballot = None
                await self.lead()

    async def _write(self, decide: Callable[[int], Awaitable[bytes]]) -> int:
        pause_s = FIRST_PAUSE_S
        for _ in range(MOST_TRIES):
            try:
                await self.lead()
                done = self._done()
                if done is not None:
                    # Another writer has finished what this one had to give up.
                    return done
                version = self.version + 1
                change = secrets.token_bytes(NONCE_BYTES) + await decide(version)
                self._proposed[change] = None
                await self._propose(version, change)
                return version
            except Overtaken:
                self._ballot = None
                await asyncio.sleep(pause_s * (0.5 + self._rng.random()))
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        raise StoreError("too many others change queues or accounts at the same time")

    async def lead(self) -> None:
        """Get the promise of more than half of the servers, and hear of all that was changed before."""
        # Else a change would be begun, and nobody could say what becomes of it.
        self._need_most(len(self._servers.up))
        if self._ballot is not None:
            return
        self._round += 1
        ballot = f"{self._round:016d}-{self._name}"
        _, replies = await self._ask_most("rd_prepare", ballot)
        promised = [reply[1] for _, reply in replies if not reply[0]]
        if promised or len(replies) < self._servers.majority:
            self._outbid(promised)
            self._need_most(len(replies))
            raise Overtaken
        await self._read([server for server, reply in replies if reply[1] > self.version])
        # What somebody has begun, and did not finish: nobody knows whether it counts, so it has to.
        begun = [(reply[3], reply[4]) for _, reply in replies if reply[2] == self.version + 1]
        self._ballot = ballot
        if begun:
            await self._propose(self.version + 1, max(begun)[1])

    async def _propose(self, version: int, change: bytes) -> None:
        assert self._ballot is not None
        asked, replies = await self._ask_most("rd_accept", self._ballot, version, change)
        behind = [server for server, reply in replies if reply[0] == -1 and reply[1] < version - 1]
        for server in behind:
            await self.bring_up(server)
        if behind:
            asked, replies = await self._ask_most("rd_accept", self._ballot, version, change)
        accepted = sum(reply[0] == 1 for _, reply in replies)
        if accepted < self._servers.majority:
            self._outbid([reply[1] for _, reply in replies if reply[0] == 0])
            self._ballot = None
            if change in self._proposed and (accepted or len(replies) < asked):
                # Who has not answered may have accepted it all the same, or do so yet.
                self._accepted = version
            self._need_most(len(replies))
            raise Overtaken
        await self._commit(self._servers.up, version, change)
        self._take(version, change)

    def _outbid(self, promised: list[bytes]) -> None:
        for ballot in promised:
            self._round = max(self._round, int(ballot.split(b"-")[0]))

    def _need_most(self, number: int) -> None:
        servers = self._servers
        if number < servers.majority:
            raise NoMajority(
                f"to change queues or accounts, {servers.majority} of the {servers.number} Redis servers must be "
                f"there, and {number} are. {servers.trouble}"
            )

    async def _ask_most(self, function: str, *words: Any) -> tuple[int, list[tuple[Server, Any]]]:
        """How many servers are there, and what they say, once all have, or have had their time."""
        servers = self._servers.up
        asked = [server.ask(function, "rd", self._servers.store, *words) for server in servers]
        replies = await asyncio.gather(*asked, return_exceptions=True)
        found = []
        for server, reply in zip(servers, replies, strict=True):
            if isinstance(reply, BaseException) and not isinstance(reply, StoreError):
                raise reply
            if not isinstance(reply, BaseException):
                found.append((server, reply))
        return len(servers), found

    async def _commit(self, servers: list[Server], version: int, change: bytes) -> None:
        asked = [server.ask("rd_commit", "rd", *self._commit_words(version, change)) for server in servers]
        await asyncio.gather(*asked, return_exceptions=True)

    def _commit_words(self, version: int, change: bytes) -> list[Any]:
        words: list[Any] = [self._servers.store, version, change]
        for kind, field, value in self._puts(change[NONCE_BYTES:]):
            words += (kind, field, value or b"")
        return words

    def _take(self, version: int, change: bytes) -> None:
        if version == self.version + 1:
            self.version = version
            if change in self._proposed:
                self._proposed[change] = version
            self._heard(version, change[NONCE_BYTES:])

    # Reading.

    async def catch_up(self) -> None:
        """Hear of all that was committed before this. Raises `StoreError` if no server is there."""
        servers = self._servers.up
        replies = await asyncio.gather(
            *(server.ask_command("GET", "rd:version") for server in servers), return_exceptions=True
        )
        versions = {
            server: int(reply or 0)
            for server, reply in zip(servers, replies, strict=True)
            if not isinstance(reply, BaseException)
        }
        if not versions:
            raise StoreError(f"no Redis server can be reached. {self._servers.trouble}")
        ahead = [server for server, version in versions.items() if version > self.version]
        await self._read(sorted(ahead, key=lambda server: -versions[server])[:1])

    async def hear(self, server: Server) -> None:
        """A server has committed something."""
        await self._read([server])

    async def _read(self, servers: list[Server]) -> None:
        async with self._reading:
            for server in servers:
                while True:
                    page = await server.ask_command("XRANGE", "rd:changes", f"{self.version + 1}-0", "+", "COUNT", PAGE)
                    if page and int(page[0][0].split(b"-")[0]) > self.version + 1:
                        await self._reload(server)
                        continue
                    for name, fields in page:
                        self._take(int(name.split(b"-")[0]), fields[1])
                    if len(page) < PAGE:
                        break

    async def bring_up(self, server: Server) -> None:
        """Bring a server that has missed changes to where this process is. Raises `StoreError`."""
        version = int(await server.ask_command("GET", "rd:version") or 0)
        source = next((each for each in self._servers.up if each is not server), None)
        while version < self.version and source is not None:
            page = await source.ask_command(
                "XRANGE", "rd:changes", f"{version + 1}-0", f"{self.version}-0", "COUNT", PAGE
            )
            if not page or int(page[0][0].split(b"-")[0]) != version + 1:
                await self._install(source, server)
                return
            for name, fields in page:
                version = int(name.split(b"-")[0])
                await server.ask("rd_commit", "rd", *self._commit_words(version, fields[1]))

    async def _install(self, source: Server, server: Server) -> None:
        """All records anew: of what was changed since it was there, not all is known any more."""
        store = self._servers.store
        for kind in KINDS:
            await server.ask_command("DEL", f"rd:installed:{kind}")
        before = int(await source.ask_command("GET", "rd:version") or 0)
        for kind in KINDS:
            cursor = b"0"
            while True:
                cursor, page = await source.ask_command("HSCAN", f"rd:records:{kind}", cursor, "COUNT", PAGE)
                words: list[Any] = []
                for at in range(0, len(page), 2):
                    words += (kind, page[at], page[at + 1])
                if words:
                    await server.ask("rd_install", "rd", store, "", *words)
                if cursor == b"0":
                    break
        if int(await source.ask_command("GET", "rd:version") or 0) != before:
            raise StoreError("records have changed while they were copied; it is tried again")
        await server.ask("rd_install", "rd", store, before)
