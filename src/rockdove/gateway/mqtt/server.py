"""Listens for clients that speak MQTT."""

import asyncio
import contextlib
import socket
import ssl
import sys

from ohmqtt.mqtt_spec import MQTTReasonCode as Reason

from rockdove.gateway.mqtt.connection import Connection
from rockdove.gateway.mqtt.gateway import Gateway
from rockdove.gateway.mqtt.stream import Stream
from rockdove.server.listener import bind

# Clients that connect while the event loop is busy.
_BACKLOG = 4_096
_HANDSHAKE_S = 20.0
# Seconds that clients have to go, at the end.
_CLOSE_S = 5.0
# Seconds without a word until the kernel asks whether the other end is there, and between such questions.
_IDLE_S = 120
_PROBE_S = 30
# Of those over the limit, so many at once are told why; the rest is hung up on.
_MOST_TOLD = 64
# What a connection may have read and not yet looked at.
_AHEAD_BYTES = 65_536


class Server:
    """``most``: connections at a time."""

    def __init__(self, gateway: Gateway, most: int, tls: ssl.SSLContext | None = None) -> None:
        self._gateway = gateway
        self._most = most
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._connections: dict[Connection, asyncio.Task[None]] = {}
        self._told = 0

    async def open(self, host: str, port: int) -> None:
        """Raises OSError."""
        for bound in await asyncio.to_thread(bind, host, port):
            self._servers.append(
                await asyncio.start_server(
                    self._welcome,
                    sock=bound,
                    backlog=_BACKLOG,
                    limit=_AHEAD_BYTES,
                    ssl=self._tls,
                    ssl_handshake_timeout=_HANDSHAKE_S if self._tls else None,
                )
            )

    @property
    def port(self) -> int:
        return int(self._servers[0].sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Tells all clients, and waits until they have gone, but not for long."""
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.end(Reason.ServerShuttingDown, "the gateway ends")
        if self._connections:
            _, slow = await asyncio.wait(self._connections.values(), timeout=_CLOSE_S)
            for task in slow:
                task.cancel()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peername = writer.get_extra_info("peername")
        with contextlib.suppress(OSError):
            _keep_alive(writer.get_extra_info("socket"))
        # One that has left already has no name.
        peer = str(peername[0]) if peername else ""
        connection = Connection(Stream(reader, writer, self._gateway.large), self._gateway, peer)
        if len(self._connections) >= self._most:
            await self._turn_away(connection, writer)
            return
        task = asyncio.current_task()
        assert task is not None
        self._connections[connection] = task
        try:
            await connection.run()
        finally:
            del self._connections[connection]

    async def _turn_away(self, connection: Connection, writer: asyncio.StreamWriter) -> None:
        if self._told >= _MOST_TOLD:
            writer.transport.abort()
            return
        self._told += 1
        try:
            await connection.refuse(Reason.ServerBusy, "the gateway has as many connections as it may have")
        finally:
            self._told -= 1


def _keep_alive(connection: socket.socket) -> None:
    """A client whose machine has gone says nothing, and need not have promised to say something."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_S)
