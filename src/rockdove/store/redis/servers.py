"""All Redis servers of a store: which is which, and which has what."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from zlib import crc32

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import DataFolderError, StoreError
from rockdove.store.redis.address import MOST_SERVERS, Address, Endpoint
from rockdove.store.redis.server import Ask, Server, ServerAway

# Bits of a physical queue's number that tell its server.
SLOT_BITS = (MOST_SERVERS - 1).bit_length()
# Seconds for all servers to be reached at the start; who is not there by then is left out until he is.
START_S = 2.0
# A front-end's clock may differ from a server's by so many seconds before the operator is told.
CLOCK_S = 1.0

log = logging.getLogger("rockdove")


class _Identity:
    """What a server says of itself."""

    def __init__(self, reply: list[bytes | None]) -> None:
        store, slot, servers, secret, _ = reply
        self.store = (store or b"").decode()
        self.slot = int(slot or -1)
        self.servers = int(servers or 0)
        self.secret = secret or b""


class Servers:
    """For the event loop's thread."""

    def __init__(
        self,
        address: Address,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        pushed: Callable[[Server, bytes, bytes], None],
    ) -> None:
        self._clock = clock
        self._loop = loop
        self.address = address
        self.all = [
            Server(endpoint, address, loop, self._join, self._back, pushed) for endpoint in sorted(address.endpoints)
        ]
        self._by_slot: dict[int, Server] = {}
        # Stands for those that were not reached since the start: nobody knows which of them has which slot.
        self._absent = Server(Endpoint("that was not reached yet", 0), address, loop, self._join, self._back, pushed)
        # Queues, by their uids, with messages that are published and have not landed; as far as is known.
        self.landing: set[str] = set()
        # Those that had nothing when they were looked at.
        self._empty: set[Server] = set()
        # Of the store, once a server has told.
        self.store = ""
        self.secret = b""
        # Called when a server is there (again).
        self.on_join: Callable[[Server, Ask], Awaitable[None]] | None = None
        # The same, when it can be asked.
        self.on_back: Callable[[Server], None] = lambda server: None
        self._warned: set[tuple[Server, str]] = set()

    @property
    def number(self) -> int:
        return len(self.all)

    @property
    def majority(self) -> int:
        return self.number // 2 + 1

    @property
    def up(self) -> list[Server]:
        return [server for server in self.all if server.is_up]

    @property
    def trouble(self) -> str | None:
        """Of all servers that are away, or whose copies are."""
        told = [(server, server.trouble if not server.is_up else server.short) for server in self.all]
        return "; ".join(f"the Redis server {server}: {why}" for server, why in told if why is not None) or None

    def of_physical(self, number: int) -> Server:
        """The server that has a physical queue."""
        return self._by_slot.get(number % (1 << SLOT_BITS), self._absent)

    def home(self, uid: str) -> Server:
        """The server that decides what concerns a logical queue as a whole."""
        return self._by_slot.get(crc32(uid.encode()) % self.number, self._absent)

    def soon(self, done: Callable[[Any], None], outcome: Any) -> None:
        """What is known without asking is told later, too."""
        self._loop.call_soon(done, outcome)

    async def open(self) -> None:
        """Returns when all are there, or when some are and the others have had their time. Raises `DataFolderError`."""
        for server in self.all:
            server.start()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_S
        while len(self.up) < self.number and loop.time() < deadline:
            await asyncio.sleep(0.005)
        if not self.up:
            self.close()
            raise DataFolderError(f"no Redis server can be reached. {self.trouble}")

    def close(self) -> None:
        for server in self.all:
            server.close()

    async def _join(self, server: Server, ask: Ask) -> None:
        """See which server it is. Raises `StoreError`."""
        identity = await self._identify(server, ask)
        if identity.servers != self.number:
            raise StoreError(
                f"its store has {identity.servers} servers, and {self.number} were named; name all, in any order"
            )
        if self.store and identity.store != self.store:
            raise StoreError("it belongs to another store than the others")
        other = self._by_slot.get(identity.slot)
        if other is not None and other is not server:
            raise StoreError(f"it is the same server as {other}, or a copy of it")
        self.store, self.secret = identity.store, identity.secret
        await self._check(server, ask)
        if self.on_join is not None:
            await self.on_join(server, ask)
        server.slot = identity.slot
        self._by_slot[identity.slot] = server

    def _back(self, server: Server) -> None:
        self._note_joined()
        self.on_back(server)

    async def _identify(self, server: Server, ask: Ask) -> _Identity:
        reply = await ask("HMGET", "rd:server", "store", "slot", "servers", "secret", "made_us")
        if reply[0] is not None:
            return _Identity(reply)
        # It is empty. If all are, the first in the order of names founds the store, and the others join it.
        slot = self.all.index(server)
        self._empty.add(server)
        if not self.store and (slot or len(self._empty) < self.number):
            raise ServerAway("it is empty, and waits for the others: to make a store, all of its servers must be there")
        if self.store:
            await self._check_new(slot)
        store, secret = self.store or secrets.token_hex(8), self.secret or secrets.token_bytes(32)
        words = (store, slot, self.number, secret, self._clock.now_us())
        return _Identity(await ask("FCALL", "rd_found", 0, *words))

    async def _check_new(self, slot: int) -> None:
        """Raises `StoreError` if a server with that slot was there before: messages and promises were on it."""
        if not self.up:
            raise ServerAway("it is empty, and waits for another that knows whether it was so before")
        for other in self.up:
            if await other.ask_command("HGET", "rd:server", f"joined:{slot}"):
                raise StoreError("it is empty, though it is a server of this store: start it with its data")

    def _note_joined(self) -> None:
        """Each server knows which others there were: one that comes back empty is told from a new one."""
        flags = [word for slot in self._by_slot for word in (f"joined:{slot}", 1)]
        for server in self.up:
            server.command(lambda reply: None, "HSET", "rd:server", *flags)

    async def _check(self, server: Server, ask: Ask) -> None:
        """Tell the operator what may lose messages."""
        for setting, good, why in (
            ("appendonly", "yes", "messages are lost when it ends; set appendonly to yes"),
            ("appendfsync", "always", "messages of the last second may be lost; set appendfsync to always"),
            ("maxmemory-policy", "noeviction", "it throws messages away when memory is short; set it to noeviction"),
        ):
            try:
                found = _setting(await ask("CONFIG", "GET", setting))
            except StoreError:
                self._warn(server, f"does not tell its {setting}: see to it that it is {good}")
                continue
            if found != good:
                self._warn(server, f"has {setting} {found}: {why}")
        seconds, micros = await ask("TIME")
        ahead_s = (int(seconds) * SECOND_US + int(micros) - self._clock.now_us()) / SECOND_US
        if abs(ahead_s) > CLOCK_S:
            self._warn(server, f"has a clock {ahead_s:+.1f} s from this machine's: set both by NTP")

    def _warn(self, server: Server, text: str) -> None:
        key = (server, text.split(":")[0])
        if key not in self._warned:
            self._warned.add(key)
            log.warning("the Redis server %s %s", server, text)


def _setting(reply: Any) -> str:
    values: Iterable[bytes] = reply.values() if isinstance(reply, dict) else reply[1::2]
    return b" ".join(values).decode()
