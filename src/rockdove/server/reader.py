"""The reading half of a connection: from bytes to requests, one after the other and within bounds."""

import asyncio
import select
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from rockdove.server.address import lower
from rockdove.server.call import Waiting

# A request body of this size holds the largest batch in its most wasteful encoding.
MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
# Requests that a client may send ahead on one connection; past that, reading pauses.
MAX_AHEAD = 16


class Site(Protocol):
    """What reading needs of the service."""

    account: str
    connections: set["Reader"]


class Reader(asyncio.Protocol):
    """A client's connection, and the requests that are read from it; `rockdove.server.http` serves them."""

    def __init__(self, site: Site) -> None:
        self.account = site.account
        self._connections = site.connections
        self.waiting: Waiting | None = None
        self._transport: asyncio.Transport | None = None
        # The request being read. The parser calls these methods of a list and a dictionary directly, which costs a
        # fraction of what callbacks of ours would.
        self._url: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self.on_url = self._url.append
        self.on_header = self._headers.__setitem__
        self.on_body = self._body.append
        self._unfinished_bytes = 0
        # Emptied when the headers are complete.
        self._headers_to_come = [True]
        self.on_headers_complete = self._headers_to_come.clear
        self._continued = False
        self._complete = False
        self._parser = httptools.HttpRequestParser(self)
        # The request being served, and those read ahead.
        self._busy = False
        self._ahead: deque[Callable[[], None]] = deque()
        self._paused = False
        self._congested = False
        self._closing = False
        # What still comes in is not read any more.
        self._deaf = False
        self._keep_alive = True

    # Connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._transport = None
        self._ahead.clear()
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None

    def pause_writing(self) -> None:
        """The client does not read its answers: it gets no more of them until it does."""
        self._congested = True

    def resume_writing(self) -> None:
        self._congested = False
        self._serve_next()

    def eof_received(self) -> bool:
        """The client sends no more. If it may still read, it gets its answer; who waits for a message has gone."""
        self._keep_alive = False
        return self._busy and self.waiting is None

    def data_received(self, data: bytes) -> None:
        if self._closing or self._deaf:
            return
        self._complete = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, b"This service does not speak another protocol on the same connection.")
            return
        except httptools.HttpParserError:
            self._refuse(400, b"That is not an HTTP request.")
            return
        if not self._complete:
            self._check_unfinished(len(data))

    def _check_unfinished(self, number: int) -> None:
        """More of the request is to come: do not let it grow without bound, and ask for the body if it waits."""
        self._unfinished_bytes += number
        headers = lower(self._headers)
        length = headers.get(b"content-length", b"")
        announced = int(length) if length.isdigit() and len(length) < 20 else 0
        if not self._body and self._unfinished_bytes > MAX_HEADER_BYTES and not announced:
            self._refuse(431, b"The request's headers are too large.")
        elif max(announced, self._unfinished_bytes - MAX_HEADER_BYTES) > MAX_BODY_BYTES:
            self._too_large(headers)
        elif not (self._body or self._continued) and self._waits_for_leave(headers) and self._transport is not None:
            self._continued = True
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _waits_for_leave(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the client has sent all headers, and the body only when it is told to go on."""
        return not self._headers_to_come and headers.get(b"expect", b"").lower() == b"100-continue"

    def is_gone(self) -> bool:
        """Also true if the client's farewell has arrived but was not read yet."""
        if self._transport is None or self._transport.is_closing():
            return True
        if self.waiting is None:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        return bool(poll.poll(0))

    def shut(self) -> None:
        """The service is stopping: finish what is being served, hold nobody, and take nothing new."""
        self._closing = True
        if self.waiting is not None:
            self.waiting.give_up()
        if not self._busy and self._transport is not None:
            self._transport.close()

    # Parser.

    def on_message_complete(self) -> None:
        self._complete = True
        self._headers_to_come.append(True)
        self._continued = False
        self._unfinished_bytes = 0
        if self._closing:
            return
        parts, urls, headers = self._body, self._url, self._headers
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        url = urls[0] if len(urls) == 1 else b"".join(urls)
        method, keep_alive = self._parser.get_method(), self._parser.should_keep_alive()
        if keep_alive and self._parser.get_http_version() == "1.0":
            # Such a client would have to be told; to hang up is what it can surely understand.
            keep_alive = False
        if not (self._busy or self._congested):
            self._serve(method, url, headers, body, keep_alive)
        else:
            self._put_aside(method, url, headers.copy(), body, keep_alive)
        urls.clear()
        parts.clear()
        headers.clear()

    def _put_aside(self, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool) -> None:
        self._ahead.append(lambda: self._serve(method, url, headers, body, keep_alive))
        if len(self._ahead) >= MAX_AHEAD and self._transport is not None and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    # In their turn.

    def _served(self) -> None:
        self._busy = False
        self.waiting = None
        if self._ahead:
            # Not at once: the client that sends ahead without end must not keep the others waiting.
            asyncio.get_running_loop().call_soon(self._serve_next)

    def _serve_next(self) -> None:
        if self._busy or self._congested or not self._ahead:
            return
        serve = self._ahead.popleft()
        if self._paused and self._transport is not None and len(self._ahead) < MAX_AHEAD // 2:
            self._paused = False
            self._transport.resume_reading()
        serve()

    # What serving has to do.

    @abstractmethod
    def _serve(self, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool) -> None:
        """Serve a request; `_served` follows, at once or later."""

    @abstractmethod
    def _too_large(self, headers: dict[bytes, bytes]) -> None:
        """Refuse a request whose body is too large."""

    @abstractmethod
    def _refuse(self, status: int, text: bytes) -> None:
        """Answer what cannot be understood, after what came before it, and hang up."""
