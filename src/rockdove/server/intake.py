"""The reading side of a connection: from bytes to requests, one after the other and within bounds."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

import httptools

from rockdove.server.address import lower
from rockdove.server.exchange import Exchange
from rockdove.server.limit import Limits
from rockdove.server.outlet import IDLE, Outlet
from rockdove.server.pipeline import HEADER_BYTES, Pipeline, held_bytes

# Headers that offer another protocol.
_OFFERS = (b"upgrade", b"connection", b"http2-settings")
# Headers of a request at most: small ones take many times their bytes.
MOST_HEADERS = 256
# Of what comes at once, so much is read before it is looked at how many headers or requests there are, and after so
# many requests others have a turn: to read them costs time.
HEAD_PIECE_BYTES = 8 * 1024
TURN = 16
# Requests of such a size are served in turns. Up to so many headers are not counted.
LARGE_BYTES = 8 * 1024
FEW_HEADERS = 32
# Pieces of a URL or a body are put together when there are so many: each takes this besides its bytes.
MOST_PIECES = 256
PIECE_OVERHEAD_BYTES = 48
# A head that ends so early in what has come at once is small: up to so much, all of it is read at once.
SMALL_HEAD_BYTES = 2 * 1024
READ_BYTES = 16 * 1024
HEAD_END = b"\r\n\r\n"
# So many requests as make a turn have more bytes.
_MANY_BYTES = 17 * TURN
# After every so many chunks of a body it is looked at whether they have so many bytes each, on average: to take chunks
# apart costs time, however small they are. What stands between and after them, such as trailers, may be as long as
# they are, and so many bytes longer.
CHUNKS = 64
SMALL_CHUNK_BYTES = 256
FRAMING_BYTES = 8 * 1024


class Holder(Protocol):
    """Who answers for the memory that unfinished requests take."""

    def hold(self, anew: bool = False) -> None:
        """What is held has changed. ``anew``: from now on, as the last in the line of those who hold something."""

    def let_go_of_some(self) -> None:
        """Less is held than before."""

    def may_read(self, number: int, later: Callable[[], None]) -> bool:
        """Whether a request that begins with so many bytes is read at once; else ``later`` is called in its turn."""


class Intake:
    """What is read of a request. It is handed on as soon as it is complete, and refused where it breaks a bound."""

    def __init__(self, holder: Holder, limits: Limits, outlet: Outlet, pipeline: Pipeline, call: Exchange) -> None:
        self._holder = holder
        self._limits = limits
        self._outlet = outlet
        self._pipeline = pipeline
        self._call = call
        # What comes in larger pieces is cut, so that no request of more than a piece is complete before it is measured.
        self._piece_bytes = min(limits.max_header_bytes, limits.max_body_bytes)
        self._head_piece_bytes = min(HEAD_PIECE_BYTES, self._piece_bytes)
        # How many requests were complete, and since when the client has to send, by the loop's clock.
        self.number = 0
        self.since_s = 0.0
        # The request being read. The parser calls these methods of a list and a dictionary directly, which costs a
        # fraction of what callbacks of ours would.
        self._url: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self.on_url = self._url.append
        self.on_header = self._headers.__setitem__
        self.on_body = self._body.append
        self.unfinished_bytes = 0
        # What has come and was not looked at, because enough was sent ahead.
        self._later = b""
        # Emptied when the headers are complete.
        self._headers_to_come = [True]
        self.on_headers_complete = self._headers_to_come.clear
        # Whether the client was told to send the body.
        self._continued = False
        # The headers before the first chunk of a body.
        self._leading: dict[bytes, bytes] = {}
        self._chunks = 0
        # What a client is told whose request cannot be read.
        self._complaint = b"That is not an HTTP request."
        self._parser = httptools.HttpRequestParser(self)
        pipeline.on_room = self.read_on

    # Bytes.

    def receive(self, data: bytes) -> None:
        outlet = self._outlet
        # Almost always the first is false, and spares a call.
        if (outlet.state is not IDLE or outlet.deaf) and not outlet.is_heard():
            return
        if self._later:
            self._later += data
        elif len(data) > _MANY_BYTES and data.count(HEAD_END) > TURN:
            self._receive_large(data)
        elif len(data) > self._head_piece_bytes and not self._is_quick(data):
            is_costly = self._headers_to_come or self._leading
            if is_costly and not self._holder.may_read(len(data), self._pipeline.serve_next):
                self._later = data
                self._pipeline.wait()
                self._holder.hold()
            else:
                self._receive_large(data)
        else:
            self._read(data)

    def _is_quick(self, data: bytes) -> bool:
        """Whether it is a request of usual size, as a batch of ten is, of which nothing has come before."""
        if len(data) > READ_BYTES or self._piece_bytes < READ_BYTES or self.unfinished_bytes:
            return False
        return data.find(HEAD_END, 0, SMALL_HEAD_BYTES) > 0

    def _receive_large(self, data: bytes) -> None:
        pipeline, start, number = self._pipeline, 0, self.number
        while start < len(data) and self._outlet.is_heard():
            size = self._head_piece_bytes if self._headers_to_come or self._leading else self._piece_bytes
            end = _end_of_turn(data, start, start + size)
            self._read(data[start:end])
            start = end
            if start < len(data) and (pipeline.is_paused or self.number - number >= TURN):
                self._later = data[start:]
                pipeline.rest()
                self._holder.hold()
                return

    def read_on(self) -> None:
        """There is room again for what was sent ahead."""
        later, self._later = self._later, b""
        self._receive_large(later)

    def _read(self, data: bytes) -> None:
        number = self.number
        while True:
            try:
                self._parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as offer:
                if self._parser.get_method() == b"CONNECT":
                    self.refuse(400, b"This service is no proxy.")
                    return
                data = self._decline() + data[offer.args[0] :]
            except httptools.HttpParserError:
                self.refuse(400, self._complaint)
                return
        if self.number == number:
            self._check_unfinished(len(data))
        elif self._headers or self._url:
            # The next one has begun in the piece that completed this one.
            self._check_unfinished(self._head_bytes(self._headers) + sum(map(len, self._body)))

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
        self._clear()
        return b"\r\n".join(lines) + b"\r\n\r\n"

    # A request of which more is to come.

    def _check_unfinished(self, number: int) -> None:
        """Do not let it grow without bound, and ask for the body if it waits."""
        first = not self.unfinished_bytes
        if first:
            self.since_s = asyncio.get_running_loop().time()
        self.unfinished_bytes += number
        if not self._is_within_bounds():
            return
        _join(self._url)
        _join(self._body)
        self._holder.hold(anew=first)
        if not self._pipeline.is_free():
            self._pipeline.pause(self.unfinished_bytes)

    @property
    def is_unfinished(self) -> bool:
        """Whether something has come that was not handed on."""
        return bool(self.unfinished_bytes or self._later)

    @property
    def held_bytes(self) -> int:
        """About what the request being read takes of the memory."""
        pieces = len(self._url) + len(self._body)
        objects = HEADER_BYTES * len(self._headers) + PIECE_OVERHEAD_BYTES * pieces
        return len(self._later) + self.unfinished_bytes + objects

    def _is_within_bounds(self) -> bool:
        """If not, it is refused."""
        limits = self._limits
        if len(self._headers) > MOST_HEADERS:
            self._refuse_number()
            return False
        if self._headers_to_come:
            if self.unfinished_bytes < limits.max_header_bytes:
                return True
            self._refuse_head()
            return False
        if self._head_bytes(self._headers) > limits.max_header_bytes:
            self._refuse_head()
            return False
        headers = lower(self._headers)
        length = headers.get(b"content-length", b"")
        announced = int(length) if length.isdigit() and len(length) < 20 else 0
        if max(announced, self.unfinished_bytes - limits.max_header_bytes) > limits.max_body_bytes:
            self._too_large(headers)
            return False
        if self._leading and self._framing_bytes() > FRAMING_BYTES:
            self.refuse(400, b"There is too much between the chunks, or after them.")
            return False
        self._give_leave(headers)
        return True

    def _framing_bytes(self) -> int:
        """By how much what stands between and after the chunks is longer than they are."""
        return self.unfinished_bytes - self._head_bytes(self._leading) - 2 * sum(map(len, self._body))

    def _head_bytes(self, headers: dict[bytes, bytes]) -> int:
        """Of the request being read: its URL, and its headers as they were sent."""
        return sum(map(len, self._url)) + sum(map(len, headers)) + sum(map(len, headers.values())) + 4 * len(headers)

    def _give_leave(self, headers: dict[bytes, bytes]) -> None:
        """A client may have sent all headers, and the body only when it is told to go on."""
        if self._body or self._continued or headers.get(b"expect", b"").lower() != b"100-continue":
            return
        self._continued = True
        self._outlet.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def wait_s(self) -> float | None:
        """For how many seconds the rest of the request may be awaited; None: none has begun."""
        if self._headers_to_come:
            return self._limits.header_timeout_s if self.unfinished_bytes or self._url else None
        return self._limits.body_timeout_s

    # A request that is refused.

    def refuse(self, status: int, text: bytes) -> None:
        """Answer what cannot be understood, after what came before it, and hang up."""
        self._forget()
        self._pipeline.in_turn(partial(self._call.refuse, status, text, self._is_head()))

    def _refuse_head(self) -> None:
        self.refuse(431, b"The request's headers are too large: at most %d bytes." % self._limits.max_header_bytes)

    def _refuse_number(self) -> None:
        self.refuse(431, b"The request has too many headers: at most %d." % MOST_HEADERS)

    def _too_large(self, headers: dict[bytes, bytes]) -> None:
        if self._outlet.state is not IDLE or self._pipeline.ahead:
            self.refuse(413, b"The request is too large.")
            return
        url = b"".join(self._url)
        self._forget()
        self._call.refuse_body(url, b"x-amz-target" in headers, self._limits.max_body_bytes, self._is_head())

    def _is_head(self) -> bool:
        return self._parser.get_method() == b"HEAD"

    def _forget(self) -> None:
        """What was read of a request is of no use any more, and nothing more is read."""
        self._outlet.deaf = True
        self.unfinished_bytes = 0
        self._later = b""
        self._clear()
        # Answers to what came before may still be held.
        self._holder.let_go_of_some()

    def _clear(self) -> None:
        self._url.clear()
        self._body.clear()
        self._headers.clear()

    def end(self) -> None:
        """The connection has ended."""
        self._forget()
        # They hold this object, which so would stay, with all that it has, until somebody looks for garbage.
        del self._parser, self._holder
        self._pipeline.on_room = None

    # Parser.

    def on_chunk_header(self) -> None:
        """Of encodings, only chunks are undone; whatever else the header names is not."""
        if not self._body:
            self._leading = self._headers.copy()
            if lower(self._leading).get(b"transfer-encoding", b"").lower() != b"chunked":
                raise ValueError("a transfer encoding that is not known here")
            self._chunks = 0
        if self._chunks and not self._chunks % CHUNKS and sum(map(len, self._body)) < SMALL_CHUNK_BYTES * self._chunks:
            self._complaint = b"The chunks are too small: send at least %d bytes in each." % SMALL_CHUNK_BYTES
            raise ValueError("chunks that are too small")
        self._chunks += 1

    def on_chunk_complete(self) -> None:
        """What follows the last chunk must not replace a header that somebody before us has looked at."""
        if self._headers != self._leading:
            self._headers.clear()
            self._headers.update(self._leading)

    def on_message_complete(self) -> None:
        parser, outlet = self._parser, self._outlet
        if parser.should_upgrade():
            return
        self.number += 1
        self._headers_to_come.append(True)
        self._continued = False
        if self._leading:
            self._leading = {}
        if (outlet.state is not IDLE or outlet.deaf) and not outlet.is_heard():
            self.unfinished_bytes = 0
            return
        if self.unfinished_bytes and not self._is_bounded():
            return
        parts, urls, headers = self._body, self._url, self._headers
        if len(headers) > MOST_HEADERS:
            self._refuse_number()
            return
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        url = urls[0] if len(urls) == 1 else b"".join(urls)
        # To clients of HTTP/1.0 one would have to say that the connection stays; to hang up is what they surely
        # understand.
        modern = parser.get_http_version() != "1.0"
        if b"Host" not in headers and b"host" not in headers and b"host" not in lower(headers) and modern:
            self.refuse(400, b"The request has no header Host, which HTTP/1.1 demands.")
            return
        keep_alive = modern and parser.should_keep_alive()
        if outlet.state is IDLE and not outlet.congested and not self._pipeline.ahead:
            size = len(body) if len(headers) <= FEW_HEADERS else self._size(body)
            if size < LARGE_BYTES:
                self._call.serve(parser.get_method(), url, headers, body, keep_alive)
            else:
                self._serve_large(size, parser.get_method(), url, headers.copy(), body, keep_alive)
        else:
            self._put_aside(parser.get_method(), url, headers.copy(), body, keep_alive)
        urls.clear()
        parts.clear()
        headers.clear()

    def _is_bounded(self) -> bool:
        """A request that came in pieces, of which only the first ones were measured. If it is not, it is refused."""
        self.unfinished_bytes = 0
        if self._head_bytes(self._headers) > self._limits.max_header_bytes:
            self._refuse_head()
            return False
        if sum(map(len, self._body)) > self._limits.max_body_bytes:
            # Of chunks no header tells how much they bring.
            self._too_large(lower(self._headers))
            return False
        return True

    def _size(self, body: bytes) -> int:
        """Of a request that is complete; of few headers it costs nothing to know that they are not large."""
        return len(body) if len(self._headers) <= FEW_HEADERS else len(body) + self._head_bytes(self._headers)

    def _serve_large(
        self, size: int, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool
    ) -> None:
        """When it has a turn: until then it is one of those that wait, and that may have to go."""
        if self._call.begin_large(size):
            self._call.serve(method, url, headers, body, keep_alive)
        else:
            later = partial(self._serve_large, size, method, url, headers, body, keep_alive)
            self._pipeline.put_first(held_bytes(url, headers, body), later)
            self._holder.hold()

    def _put_aside(self, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool) -> None:
        size = self._size(body)
        serve = self._call.serve if size < LARGE_BYTES else partial(self._serve_large, size)
        self._pipeline.put(held_bytes(url, headers, body), partial(serve, method, url, headers, body, keep_alive))
        self._holder.hold()
        self._pipeline.pause(self.unfinished_bytes)


def _join(pieces: list[bytes]) -> None:
    if len(pieces) > MOST_PIECES:
        pieces[:] = [b"".join(pieces)]


def _end_of_turn(data: bytes, start: int, end: int) -> int:
    """Where to cut a piece, so that it ends no more than `TURN` requests without a body."""
    at = start
    for _ in range(TURN):
        at = data.find(HEAD_END, at, end)
        if at < 0:
            return end
        at += len(HEAD_END)
    return at
