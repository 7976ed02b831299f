"""Connections for asynchronous calls: kept open between requests, one request at a time on each."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import cast

import httptools

from rockdove.client.endpoint import Endpoint
from rockdove.client.envelope import Reply
from rockdove.client.error import Lost, UnexpectedAnswer, Unreachable
from rockdove.client.pool import is_stale

_CLOSED = "the connection was closed without an answer"


class Channel(asyncio.Protocol):
    """One connection; whoever calls `exchange` waits for the answer before calling it again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._query_error: str | None = None
        self._body: list[bytes] = []
        self._reply: asyncio.Future[Reply] | None = None
        self._keep_alive = True
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def exchange(self, data: bytes) -> Reply:
        """Raises `Lost` and `UnexpectedAnswer`."""
        if self._transport is None:
            raise Lost(_CLOSED, arrived=False)
        self._reply = asyncio.get_running_loop().create_future()
        self._query_error, self._body = None, []
        self._transport.write(data)
        return await self._reply

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def is_usable(self) -> bool:
        if not self._keep_alive or self._transport is None or self._transport.is_closing():
            return False
        # A farewell that the event loop has not seen yet counts, too.
        return not is_stale(self._transport.get_extra_info("socket").fileno())

    # Connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(Lost(_CLOSED if exc is None else str(exc), arrived=True))
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._reply is None or self._reply.done():
            # An answer that nobody asked for: out of step.
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(UnexpectedAnswer(self._url, "with something else than HTTP"))
            self.abort()

    def _fail(self, error: Lost | UnexpectedAnswer) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)

    # Parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-amzn-query-error":
            self._query_error = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        self._keep_alive = self._parser.should_keep_alive()
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(Reply(self._parser.get_status_code(), self._query_error, b"".join(self._body)))


class Channels:
    """The open connections of one client. For one event loop."""

    def __init__(self, endpoint: Endpoint, connect_timeout_s: float, tls: ssl.SSLContext | None) -> None:
        self._endpoint = endpoint
        self._connect_timeout_s = connect_timeout_s
        self._tls = (tls or ssl.create_default_context()) if endpoint.tls else None
        self._idle: list[Channel] = []
        self._open: set[Channel] = set()
        self.closed = False

    async def post(self, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        """Raises `Lost`, `UnexpectedAnswer` and, once closed, `Unreachable`.

        Cancelled, it closes the connection, so that the service knows.
        """
        channel = self._take() or await self._connect()
        try:
            async with asyncio.timeout(timeout_s):
                reply = await channel.exchange(self._head(headers, body) + body)
        except TimeoutError as error:
            channel.abort()
            raise Lost(f"no answer within {timeout_s:g} s", arrived=True) from error
        except BaseException:
            channel.abort()
            raise
        if channel.is_usable():
            self._idle.append(channel)
        else:
            channel.abort()
        return reply

    def _head(self, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {self._endpoint.path} HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode("latin-1")

    def _take(self) -> Channel | None:
        while self._idle:
            channel = self._idle.pop()
            if channel.is_usable():
                return channel
            channel.abort()
        return None

    async def _connect(self) -> Channel:
        loop = asyncio.get_running_loop()
        endpoint = self._endpoint
        self._check_open()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, channel = await loop.create_connection(
                    lambda: Channel(endpoint.url), endpoint.host, endpoint.port, ssl=self._tls
                )
        except TimeoutError as error:
            raise Lost(f"no connection within {self._connect_timeout_s:g} s", arrived=False) from error
        except OSError as error:
            raise Lost(_reason(error), arrived=False) from error
        self._open.add(channel)
        channel.closed.add_done_callback(lambda _: self._open.discard(channel))
        if self.closed:
            # While it was being made.
            channel.abort()
            self._check_open()
        return channel

    def _check_open(self) -> None:
        if self.closed:
            raise Unreachable(self._endpoint.url, "this client is closed", "make a new one")

    async def close(self) -> None:
        """Close all connections, also those in use, and make no new ones."""
        self.closed = True
        self._idle.clear()
        channels = list(self._open)
        for channel in channels:
            channel.abort()
        for channel in channels:
            await channel.closed


def _reason(error: OSError) -> str:
    # asyncio's texts name the address as well, which the caller knows.
    if isinstance(error, ConnectionRefusedError):
        return "Connection refused"
    return error.strerror or str(error) or type(error).__name__
