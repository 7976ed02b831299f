"""One keep-alive HTTP connection that sends ready-made requests: little work on the client's side of two cores."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import httptools
import msgspec

from bench.call import CONTENT_TYPE, SIGNED
from bench.error import BenchError

BODY = ("The quick brown fox jumps over the lazy dog 0123456789 - " * 19)[:1024]


class Refused(BenchError):
    """A reply that the benchmark did not expect."""


class Reply(NamedTuple):
    status: int
    body: bytes


def request(endpoint: str, operation: str, **payload: object) -> bytes:
    """The bytes of one request."""
    body = msgspec.json.encode(payload)
    headers = {
        "Host": urlsplit(endpoint).netloc,
        "Content-Type": CONTENT_TYPE,
        "X-Amz-Target": f"AmazonSQS.{operation}",
        **SIGNED,
        "Content-Length": str(len(body)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST / HTTP/1.1\r\n{lines}\r\n".encode() + body


class Connection(asyncio.Protocol):
    """A connection to one server; one request at a time, opened again when the server closed it."""

    def __init__(self, endpoint: str) -> None:
        address = urlsplit(endpoint)
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 80
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Reply] | None = None
        self._chunks: list[bytes] = []

    async def open(self) -> None:
        await asyncio.get_running_loop().create_connection(lambda: self, self._host, self._port)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def ask(self, raw: bytes) -> bytes:
        """Sends a request, returns the body of its reply; anything but 200 is an error of the run."""
        reply = await self.send(raw)
        if reply.status != 200:
            raise Refused(f"status {reply.status}: {reply.body[:300]!r}")
        return reply.body

    async def send(self, raw: bytes) -> Reply:
        if self._transport is None or self._transport.is_closing():
            await self.open()
        assert self._transport is not None
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(raw)
        return await self._waiter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, chunk: bytes) -> None:
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        reply = Reply(self._parser.get_status_code(), b"".join(self._chunks))
        self._chunks.clear()
        if not self._parser.should_keep_alive():
            self.close()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionResetError("the server closed the connection before it answered"))
