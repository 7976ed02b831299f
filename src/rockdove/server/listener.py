"""Listening: accepts connections, with TLS or without, and turns away those over the limits."""

import asyncio
import errno
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from functools import partial
from typing import cast

from rockdove.core.errors import Fault, ServiceUnavailable, Throttling
from rockdove.server.board import Board, Seat
from rockdove.server.hello import hello
from rockdove.server.limit import Limits
from rockdove.server.seldom import Seldom
from rockdove.wire import awsjson

# Connections that the kernel keeps for us, and that are taken from it at once.
_BACKLOG = 4096
_AT_ONCE = 64
# What the kernel keeps of answers that it has not sent, for a client that does not read: it would take megabytes, which
# nobody counts. Python has no name for the option.
_TCP_NOTSENT_LOWAT = 25
_UNSENT_BYTES = 256 * 1024
# Of those over the limit, so many at once are told why; the rest is hung up on.
_MOST_TOLD = 64
# Seconds for which somebody turned away may read why.
_TOLD_S = 1.0
# Seconds for which another process may take a connection first.
_YIELD_S = 0.001
# Seconds to rest when the process has no file left for a connection.
_REST_S = 1.0
_SHUTDOWN_S = 5.0
# Seconds that a handshake has at least, once its first message is there.
_LEAST_S = 0.1

log = logging.getLogger("rockdove")

Leave = Callable[[], None]


class Listener:
    """The sockets that the service listens on. `context` is what new connections get: replace it for another one.

    A connection counts from the moment it is accepted, so also while its TLS handshake is under way.
    """

    def __init__(
        self,
        protocol: Callable[[Leave], asyncio.Protocol],
        limits: Limits,
        context: ssl.SSLContext | None,
        seat: Seat | None = None,
    ) -> None:
        """``seat``: of this process, among those that the limits are for together."""
        self.context = context
        self._seat = seat or Board().seat()
        self._protocol = protocol
        self._limits = limits
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._told = 0
        self._seldom = Seldom()

    async def open(self, host: str, port: int) -> None:
        """Raises OSError."""
        self.adopt(await asyncio.to_thread(bind, host, port))

    def adopt(self, sockets: list[socket.socket]) -> None:
        """Listen on sockets that are bound; other processes may do so, too."""
        self._sockets = sockets
        self._seat.listen()
        for listening in sockets:
            listening.listen(_BACKLOG)
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    def close(self) -> None:
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()
        self._sockets.clear()
        for task in self._tasks:
            task.cancel()

    def _accept(self, listening: socket.socket, at_least: int = 0) -> None:
        for number in range(_AT_ONCE):
            if number >= at_least and self._seat.has_more_than_its_share():
                self._yield(listening)
                return
            try:
                client, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(listening, error)
                return
            self._welcome(client, str(address[0]))

    def _yield(self, listening: socket.socket) -> None:
        """Another process should take the next connection; if it does not soon, this one does."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(_YIELD_S, self._take_back, listening)

    def _take_back(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._go_on(listening)
            self._accept(listening, at_least=1)

    def _rest(self, listening: socket.socket, error: OSError) -> None:
        """Who is connected goes on; who is not waits in the kernel's queue."""
        if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
            raise error
        log.error("cannot accept a connection: %s; raise the limit of open files", error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(_REST_S, self._go_on, listening)

    def _go_on(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _welcome(self, client: socket.socket, address: str) -> None:
        fault = self._refusal(address)
        protocol: asyncio.Protocol
        if fault is None:
            leave = _once(partial(self._seat.left, address))
            self._seat.came(address)
            protocol = self._protocol(leave)
        elif self._told < _MOST_TOLD:
            leave = _once(self._was_told)
            self._told += 1
            protocol = _Refusal(fault, leave)
        else:
            client.close()
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.get_running_loop().create_task(self._connect(client, protocol, leave))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refusal(self, address: str) -> Fault | None:
        limits = self._limits
        if self._seat.connections.total() >= limits.max_connections:
            self._seldom.warn("connections-full", "a client is turned away: no connection is left", address=address)
            return ServiceUnavailable("The service has as many connections as it may have. Please try again.")
        if 0 < limits.max_connections_per_address <= self._seat.of_address(address):
            text = "a client is turned away: it has too many connections"
            self._seldom.warn("connections-of-address", text, address=address)
            return Throttling("There are as many connections from this address as there may be.")
        return None

    async def _connect(self, client: socket.socket, protocol: asyncio.Protocol, leave: Leave) -> None:
        context, loop = self.context, asyncio.get_running_loop()
        until_s = loop.time() + self._limits.handshake_timeout_s
        try:
            if context is not None:
                async with asyncio.timeout_at(until_s):
                    await hello(client)
            await loop.connect_accepted_socket(
                lambda: protocol,
                client,
                ssl=context,
                ssl_handshake_timeout=max(until_s - loop.time(), _LEAST_S) if context else None,
                ssl_shutdown_timeout=_SHUTDOWN_S if context else None,
            )
        except OSError:
            # The client left, or its handshake failed or took too long.
            client.close()
            leave()
        except BaseException:
            client.close()
            leave()
            raise

    def _was_told(self) -> None:
        self._told -= 1


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets for all addresses of a name. Nobody can connect before somebody listens. Raises OSError."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    if port == 0:
        # A name may stand for several addresses; each would get a port of its own.
        found = found[:1]
    made: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            made.append(_bound(family, kind, protocol, address))
    except OSError:
        for each in made:
            each.close()
        raise
    return made


def _bound(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            # Connections inherit it.
            made.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setblocking(False)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def _once(leave: Leave) -> Leave:
    """A handshake may fail before the protocol hears of a connection, or after: only one of them counts."""
    left = False

    def wrapped() -> None:
        nonlocal left
        if not left:
            left = True
            leave()

    return wrapped


class _Refusal(asyncio.Protocol):
    """Tells a client why it is turned away. What it sends is not read as a request."""

    def __init__(self, fault: Fault, leave: Leave) -> None:
        self._fault = fault
        self._leave = leave

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        writing = cast(asyncio.Transport, transport)
        _, header, body = awsjson.fault(self._fault)
        throttled = isinstance(self._fault, Throttling)
        status, reason = (429, b"Too Many Requests") if throttled else (503, b"Service Unavailable")
        writing.write(
            b"HTTP/1.1 %d %b\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-query-error: %b\r\n"
            b"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            % (status, reason, header, len(body))
            + body
        )
        if writing.can_write_eof():
            writing.write_eof()
        # To close at once, while the client still sends, would take the answer away from it.
        asyncio.get_running_loop().call_later(_TOLD_S, writing.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
