"""Front-ends tell each other what has changed, by datagrams: a held receive wakes wherever it is held.

A datagram may be lost, so nothing depends on it but how soon something is noticed. Each has a sum under the store's
secret: nobody else can wake anybody.
"""

import asyncio
import hashlib
import hmac
import logging
import socket
from collections.abc import Callable
from typing import Any

import msgspec

from rockdove.core.errors import StoreError
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.address import Address
from rockdove.store.cassandra.session import Session
from rockdove.store.common.tasks import Tasks

# Seconds between two signs of life, and after how many a front-end counts as gone.
BEAT_S = 2.0
GONE_S = 10
# In place of a journal: somebody is new.
HELLO = "hello"
# A datagram is sent when it has so many bytes: it fits into one packet, unless the last change in it is long.
ENOUGH_BYTES = 900
_SUM_BYTES = 12

log = logging.getLogger("rockdove")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[str, int]]).decode


class Peers(asyncio.DatagramProtocol):
    """``heard`` is called with the name of a journal, and the version it has."""

    def __init__(
        self,
        session: Session,
        address: Address,
        tasks: Tasks,
        loop: asyncio.AbstractEventLoop,
        heard: Callable[[str, int], None],
    ) -> None:
        self._session = session
        self._address = address
        self._tasks = tasks
        self._loop = loop
        self._heard = heard
        self._secret = b""
        self._transport: asyncio.DatagramTransport | None = None
        self._own = ("", 0)
        # Where the others are, by their names.
        self.others: dict[str, tuple[str, int]] = {}
        self._changed: dict[str, int] = {}

    async def open(self, secret: bytes) -> None:
        """Raises `StoreError`."""
        self._secret = secret
        transport, _ = await self._loop.create_datagram_endpoint(
            lambda: self, local_addr=(_local_address(self._address), 0)
        )
        self._transport = transport
        self._own = transport.get_extra_info("sockname")[:2]
        await self._beat()
        # The others look who is there.
        self.tell(HELLO, 0)
        self._tasks.run(self._live())

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            try:
                await self._beat()
            except StoreError:
                # It is tried again.
                continue

    async def _beat(self) -> None:
        name = self._session.front_end
        # More than half of the nodes are needed: so trouble is noticed though nobody asks for anything.
        await self._session.ask_agreed(schema.BEAT, self._session.space, name, *self._own, GONE_S)
        rows = await self._session.ask(schema.READ_PEERS, self._session.space)
        self.others = {each: (address, port) for each, address, port in rows if each != name}

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # Telling.

    def tell(self, journal: str, version: int) -> None:
        """This front-end has changed something."""
        if self.others:
            if not self._changed:
                self._loop.call_soon(self._send)
            self._changed[journal] = version

    def _send(self) -> None:
        changed, self._changed = list(self._changed.items()), {}
        if self._transport is None:
            return
        some: list[tuple[str, int]] = []
        size = 0
        for at, (journal, version) in enumerate(changed, 1):
            some.append((journal, version))
            size += len(journal) + 10
            if size >= ENOUGH_BYTES or at == len(changed):
                text = _encode(some)
                datagram = self._sum(text) + text
                for where in self.others.values():
                    self._transport.sendto(datagram, where)
                some, size = [], 0

    # Hearing.

    def datagram_received(self, data: bytes, addr: Any) -> None:
        found, text = data[:_SUM_BYTES], data[_SUM_BYTES:]
        if not hmac.compare_digest(found, self._sum(text)):
            return
        for journal, version in _decode(text):
            if journal == HELLO:
                self._tasks.run(self._beat())
            else:
                self._heard(journal, version)

    def error_received(self, exc: Exception) -> None:
        """One that is gone does not hear it."""

    def _sum(self, text: bytes) -> bytes:
        return hmac.digest(self._secret, text, hashlib.sha256)[:_SUM_BYTES]


def _local_address(address: Address) -> str:
    """Of this machine, as the nodes of Cassandra reach it; so do other front-ends."""
    with socket.socket(socket.AF_INET6 if ":" in address.hosts[0] else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address.hosts[0], address.port))
        return str(probe.getsockname()[0])
