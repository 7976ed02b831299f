"""Listens for clients that speak MQTT."""

import asyncio
import socket
import ssl

from ohmqtt.mqtt_spec import MQTTReasonCode as Reason

from rockdove.gateway.mqtt.connection import Connection
from rockdove.gateway.mqtt.gateway import Gateway
from rockdove.gateway.mqtt.stream import Stream
from rockdove.server.listener import bind

# Clients that connect while the event loop is busy.
_BACKLOG = 4_096
_HANDSHAKE_S = 20.0
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
        """Tells all clients, and waits until they have gone."""
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.end(Reason.ServerShuttingDown, "the gateway ends")
        if self._connections:
            await asyncio.wait(self._connections.values())

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str(writer.get_extra_info("peername")[0])
        # One whose machine has gone says nothing, and a client need not promise to say something.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
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
