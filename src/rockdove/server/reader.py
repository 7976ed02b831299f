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
from rockdove.server.guard import Guard

# Bytes that a client may send ahead of the request being served; past that, reading pauses.
MAX_AHEAD_BYTES = 256 * 1024
# What a header takes of the memory besides its own bytes.
HEADER_BYTES = 160


# Headers that offer another protocol.
_OFFERS = (b"upgrade", b"connection", b"http2-settings")


class Site(Protocol):
    """What reading needs of the service."""

    account: str
    guard: Guard
    connections: set["Reader"]


class Reader(asyncio.Protocol):
    """A client's connection, and the requests that are read from it; `rockdove.server.http` serves them."""

    def __init__(self, site: Site, leave: Callable[[], None]) -> None:
        """``leave`` is called when the connection has ended."""
        self._leave = leave
        self.account = site.account
        self._connections = site.connections
        self._guard = site.guard
        self._limits = limits = site.guard.limits
        # What comes in larger pieces is cut, so that no request of more than a piece is complete before it is measured.
        self._piece_bytes = min(limits.max_header_bytes, limits.max_body_bytes)
        # Since when the loop's clock has been running for what the client has to do now.
        self._since_s = 0.0
        self._used = False
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
        # The headers before the first chunk of a body.
        self._leading: dict[bytes, bytes] = {}
        self._parser = httptools.HttpRequestParser(self)
        # The request being served, and those read ahead.
        self._busy = False
        self._ahead: deque[tuple[int, Callable[[], None]]] = deque()
        self._ahead_bytes = 0
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
        self._since_s = asyncio.get_running_loop().time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._forget()
        # It holds this object, which so would stay, with all that it has, until somebody looks for garbage.
        del self._parser
        self._leave()
        self._transport = None
        self._ahead.clear()
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None

    def pause_writing(self) -> None:
        """The client does not read its answers: it gets no more of them until it does."""
        self._congested = True
        self._begin_to_wait()
        self._hold()

    def resume_writing(self) -> None:
        self._congested = False
        self._hold()
        self._serve_next()

    def eof_received(self) -> bool:
        """The client sends no more. If it may still read, it gets its answer; who waits for a message has gone."""
        if self._ahead and self.waiting is None:
            self._ahead.append((0, self._end))
            return True
        self._keep_alive = False
        return self._busy and self.waiting is None

    def _end(self) -> None:
        """All that was sent before the client stopped sending has its answer."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self._closing or self._deaf:
            return
        if len(data) > self._piece_bytes:
            for start in range(0, len(data), self._piece_bytes):
                self.data_received(data[start : start + self._piece_bytes])
            return
        self._complete = False
        while True:
            try:
                self._parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as offer:
                if self._parser.get_method() == b"CONNECT":
                    self._refuse(400, b"This service is no proxy.")
                    return
                data = self._decline() + data[offer.args[0] :]
            except httptools.HttpParserError:
                self._refuse(400, b"That is not an HTTP request.")
                return
        if not self._complete:
            self._check_unfinished(len(data))

    def _decline(self) -> bytes:
        """A client offers to go on in another protocol: its request's head without the offer, to be read again.

        HTTP has such a request served as if nothing had been offered. But the parser leaves the body to the other
        protocol, and gives up on the connection.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (method, b"".join(self._url), version)]
        lines += [b"%b: %b" % pair for pair in self._headers.items() if pair[0].lower() not in _OFFERS]
        if b"close" in lower(self._headers).get(b"connection", b"").lower():
            lines.append(b"Connection: close")
        self._parser = httptools.HttpRequestParser(self)
        self._headers_to_come.append(True)
        for read in (self._url, self._body, self._headers):
            read.clear()
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _check_unfinished(self, number: int) -> None:
        """More of the request is to come: do not let it grow without bound, and ask for the body if it waits."""
        if not self._unfinished_bytes:
            self._begin_to_wait()
        self._unfinished_bytes += number
        if self._headers_to_come:
            if self._unfinished_bytes >= self._limits.max_header_bytes:
                self._refuse_head()
                return
        elif self._head_bytes() > self._limits.max_header_bytes:
            self._refuse_head()
            return
        else:
            headers = lower(self._headers)
            length = headers.get(b"content-length", b"")
            announced = int(length) if length.isdigit() and len(length) < 20 else 0
            if max(announced, self._unfinished_bytes - self._limits.max_header_bytes) > self._limits.max_body_bytes:
                self._too_large(headers)
                return
            self._give_leave(headers)
        self._hold()
        if self._busy or self._congested or self._ahead:
            self._pause()

    def _head_bytes(self) -> int:
        """Of the request being read: its URL, and its headers as they were sent."""
        headers = self._headers
        return sum(map(len, self._url)) + sum(map(len, headers)) + sum(map(len, headers.values())) + 4 * len(headers)

    def _refuse_head(self) -> None:
        self._refuse(431, b"The request's headers are too large: at most %d bytes." % self._limits.max_header_bytes)

    def _give_leave(self, headers: dict[bytes, bytes]) -> None:
        """A client may have sent all headers, and the body only when it is told to go on."""
        if self._body or self._continued or headers.get(b"expect", b"").lower() != b"100-continue":
            return
        self._continued = True
        if self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def is_gone(self) -> bool:
        """Also true if the client's farewell has arrived but was not read yet."""
        if self._transport is None or self._transport.is_closing():
            return True
        if self.waiting is None:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        gone = bool(poll.poll(0))
        if gone:
            # Nothing else would end what it had sent ahead before it left.
            self._transport.close()
        return gone

    def shut(self) -> None:
        """The service is stopping: finish what is being served, hold nobody, and take nothing new."""
        self._closing = True
        if self.waiting is not None:
            self.waiting.give_up()
        if not self._busy and self._transport is not None:
            self._transport.close()

    # What is held, and for how long.

    def _begin_to_wait(self) -> None:
        """For the rest of a request, or for answers to be read: the last in the line of those who hold something."""
        self._since_s = asyncio.get_running_loop().time()
        self._guard.free(self)

    def _hold(self) -> None:
        unread = self._transport.get_write_buffer_size() if self._congested and self._transport is not None else 0
        self._guard.hold(self, self._unfinished_bytes + self._ahead_bytes + unread)

    def is_settled(self) -> bool:
        return not (self._busy or self._unfinished_bytes or self._congested or self._ahead_bytes)

    def let_go(self) -> bool:
        if self._congested:
            self._cut_off()
            return True
        if self._deaf or not (self._unfinished_bytes or self._ahead_bytes):
            return False
        self._ahead.clear()
        self._ahead_bytes = 0
        self._refuse(503, b"The service has no memory left for requests that wait so long. Please try again.")
        return True

    def check_time(self, now_s: float) -> None:
        transport, limits = self._transport, self._limits
        if transport is None:
            return
        if self.is_settled():
            self._guard.free(self)
        closing = transport.is_closing()
        if self._complete or (self._busy and not (self._congested or closing)):
            # It has sent a whole request since the last look, or it is our turn.
            self._complete, self._used, self._since_s = False, True, now_s
            return
        waited_s = now_s - self._since_s
        if self._congested or closing:
            if waited_s > limits.write_timeout_s:
                self._cut_off()
        elif self._deaf:
            return
        elif self._unfinished_bytes or self._url or not self._headers_to_come:
            most_s = limits.header_timeout_s if self._headers_to_come else limits.body_timeout_s
            if waited_s > most_s:
                self._refuse(408, b"The request did not arrive within %d seconds." % most_s)
        elif waited_s > (limits.idle_timeout_s if self._used else limits.header_timeout_s):
            transport.close()

    def _forget(self) -> None:
        """What was read of a request is of no use any more, and nothing more is read."""
        self._deaf = True
        self._unfinished_bytes = 0
        for read in (self._url, self._body, self._headers):
            read.clear()
        self._guard.free(self)

    def _cut_off(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Parser.

    def on_chunk_header(self) -> None:
        """Of encodings, only chunks are undone; whatever else the header names is not."""
        if not self._body:
            self._leading = self._headers.copy()
            if lower(self._leading).get(b"transfer-encoding", b"").lower() != b"chunked":
                raise ValueError("a transfer encoding that is not known here")

    def on_chunk_complete(self) -> None:
        """What follows the last chunk must not replace a header that somebody before us has looked at."""
        if self._headers != self._leading:
            self._headers.clear()
            self._headers.update(self._leading)

    def on_message_complete(self) -> None:
        if self._parser.should_upgrade():
            return
        self._complete = True
        self._headers_to_come.append(True)
        self._continued = False
        if self._closing or self._deaf:
            self._unfinished_bytes = 0
            return
        if self._unfinished_bytes:
            # It came in pieces, of which only the first ones were measured.
            self._unfinished_bytes = 0
            if self._head_bytes() > self._limits.max_header_bytes:
                self._refuse_head()
                return
            if sum(map(len, self._body)) > self._limits.max_body_bytes:
                # Of chunks no header tells how much they bring.
                self._too_large(lower(self._headers))
                return
        parts, urls, headers = self._body, self._url, self._headers
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        url = urls[0] if len(urls) == 1 else b"".join(urls)
        method, keep_alive = self._parser.get_method(), self._parser.should_keep_alive()
        if (
            b"Host" not in headers
            and b"host" not in headers
            and b"host" not in lower(headers)
            and self._parser.get_http_version() != "1.0"
        ):
            self._refuse(400, b"The request has no header Host, which HTTP/1.1 demands.")
            return
        if keep_alive and self._parser.get_http_version() == "1.0":
            # Such a client would have to be told; to hang up is what it can surely understand.
            keep_alive = False
        if not (self._busy or self._congested or self._ahead):
            self._serve(method, url, headers, body, keep_alive)
        else:
            self._put_aside(method, url, headers.copy(), body, keep_alive)
        urls.clear()
        parts.clear()
        headers.clear()

    def _put_aside(self, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool) -> None:
        number = len(url) + len(body) + _held_bytes(headers)
        self._ahead.append((number, lambda: self._serve(method, url, headers, body, keep_alive)))
        self._ahead_bytes += number
        self._hold()
        self._pause()

    def _pause(self) -> None:
        """Read no further if the client has sent enough ahead."""
        number = self._ahead_bytes + self._unfinished_bytes
        if self._transport is None or self._paused:
            return
        if len(self._ahead) >= self._limits.max_pipelined or number > MAX_AHEAD_BYTES:
            self._paused = True
            self._transport.pause_reading()
            # Comes after all that was read: half a request would not be served, and so reading not go on.
            self._ahead.append((0, self._read_on))

    def _read_on(self) -> None:
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        self._serve_next()

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
        number, serve = self._ahead.popleft()
        self._ahead_bytes -= number
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


def _held_bytes(headers: dict[bytes, bytes]) -> int:
    """About what they take of the memory."""
    return sum(map(len, headers)) + sum(map(len, headers.values())) + HEADER_BYTES * len(headers)
