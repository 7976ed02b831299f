"""Listens for clients that speak CoAP, in datagrams or over TLS."""

import asyncio
import logging
import ssl
from typing import Any

from aiocoap.protocol import Context
from aiocoap.transports.tcp import TcpConnection
from aiocoap.transports.tls import TLSServer

from rockdove.gateway.coap.datagrams import Datagrams
from rockdove.gateway.coap.datagrams import bind as bind_datagrams
from rockdove.gateway.coap.resource import Queues
from rockdove.server.listener import bind

# Seconds for answers, at the end.
_CLOSE_S = 5.0
_HANDSHAKE_S = 20.0
_LOG = "rockdove-coap"


class Server:
    """``most``: connections at a time, over TLS."""

    def __init__(self, queues: Queues, most: int, tls: ssl.SSLContext | None = None) -> None:
        self._queues = queues
        self._most = most
        self._tls = tls
        self._context: Context | None = None
        self._port = 0

    async def open(self, host: str, port: int) -> None:
        """Raises OSError."""
        # What clients do wrong they are told, and nobody else.
        logging.getLogger(_LOG).setLevel(logging.CRITICAL)
        loop = asyncio.get_running_loop()
        self._context = Context(loop=loop, serversite=self._queues, loggername=_LOG)
        if self._tls is not None:
            await self._open_tls(self._context, host, port, self._tls)
            return
        bound = bind_datagrams(host, port)
        self._port = int(bound.getsockname()[1])
        context = self._context
        await context._append_tokenmanaged_messagemanaged_transport(
            lambda manager: Datagrams.listen(manager, context.log, loop, bound)
        )

    async def _open_tls(self, context: Any, host: str, port: int, tls: ssl.SSLContext) -> None:
        sockets = await asyncio.to_thread(bind, host, port)
        self._port = int(sockets[0].getsockname()[1])
        for each in sockets:
            await context._append_tokenmanaged_transport(
                lambda manager, each=each: _Tls.listen(manager, context.log, each, tls, self._most)
            )

    @property
    def port(self) -> int:
        return self._port

    async def close(self) -> None:
        """Answers what is there, and listens no more."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + _CLOSE_S
        while self._queues.waiting and loop.time() < end_s:
            await asyncio.sleep(0.02)
        if self._context is not None:
            await self._context.shutdown()


class _Tls(TLSServer):  # type: ignore[misc]
    """The library's own one chooses the port itself, and takes any number of connections."""

    @classmethod
    async def listen(cls, manager: Any, log: logging.Logger, bound: Any, tls: ssl.SSLContext, most: int) -> "_Tls":
        self = cls()
        self._tokenmanager = manager
        self.log = log
        loop = asyncio.get_running_loop()

        def connected() -> TcpConnection:
            connection = _Connection(self, log, loop, is_server=True)
            connection.is_welcome = len(self._pool) < most
            self._pool.add(connection)
            return connection

        self.server = await loop.create_server(connected, sock=bound, ssl=tls, ssl_handshake_timeout=_HANDSHAKE_S)
        return self


class _Connection(TcpConnection):  # type: ignore[misc]
    is_welcome = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if not self.is_welcome:
            self.abort("The gateway has as many connections as it may have.")

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except Exception:
            # Such as an option that is no text where it should be.
            self.abort("A message cannot be read.")
