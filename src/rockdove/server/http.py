"""The HTTP/1.1 front: one object for each connection, one request at a time on it, no framework in between."""

import asyncio
import select
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast
from urllib.parse import unquote

import httptools

from rockdove.core.errors import AccessDenied, Fault, InternalFailure, RequestTooLarge
from rockdove.server.call import Waiting
from rockdove.wire import awsjson, query
from rockdove.wire.operation import Operation
from rockdove.wire.shape import Request, Result

# A request body of this size holds the largest batch in its most wasteful encoding.
MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
# Seconds for which a refused client may still send before the connection is closed.
LINGER_S = 1.0
# Requests that a client may send ahead on one connection; past that, reading pauses.
MAX_AHEAD = 16

_OK_JSON = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: %b\r\nContent-Length: %d\r\n\r\n"
)
_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    413: b"Payload Too Large",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
}


# Headers that browsers add to what a page asks for, as they spell them on the wire.
_FROM_PAGES = frozenset((b"Origin", b"origin", b"Sec-Fetch-Site", b"sec-fetch-site"))


class Site(Protocol):
    """What the front needs of the service behind it."""

    account: str
    trust_proxy: bool
    connections: set["Connection"]

    def handle(self, call: "Connection", operation: Operation, request: Request) -> None:
        """Do an operation; the call is answered at once or later. Raises a fault, or anything in case of a defect."""

    def page(self, path: bytes) -> tuple[int, bytes] | None:
        """What to answer on a path that is no operation's, such as /health."""

    def next_request_id(self) -> bytes: ...

    def defect(self, error: Exception) -> None:
        """Something went wrong that should not have."""


class Connection(asyncio.Protocol):
    """A client's connection, and the call that is being served on it (see `rockdove.server.call.Call`)."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.account = site.account
        self.waiting: Waiting | None = None
        # Whether the request holds no escaped character, and so no control character either.
        self.plain = False
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
        self._json = True
        self._operation: Operation | None = None
        self._served_headers: dict[bytes, bytes] = {}
        self._keep_alive = True

    # Connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._site.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._site.connections.discard(self)
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
        headers = _lower(self._headers)
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

    # Serve.

    def _serve(self, method: bytes, url: bytes, headers: dict[bytes, bytes], body: bytes, keep_alive: bool) -> None:
        self._busy = True
        self._keep_alive = keep_alive
        self._served_headers = headers
        try:
            if not _FROM_PAGES.isdisjoint(headers):
                self._check_origin(_lower(headers))
            target = headers.get(b"X-Amz-Target") or _lower(headers).get(b"x-amz-target")
            if target is not None and method == b"POST":
                self._json = True
                self.plain = b"\\" not in body
                self._operation = operation = awsjson.operation(target)
                request = awsjson.decode(operation, body)
            else:
                if self._is_page(method, url):
                    return
                self._json = self.plain = False
                path, _, parameters = _origin_form(url).partition(b"?")
                self._operation, request = query.decode(_path(path), parameters, body)
            self._site.handle(self, self._operation, request)
        except Fault as fault:
            self.fail(fault)
        except Exception as error:
            self._site.defect(error)
            self.fail(InternalFailure())

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """A page that a browser got from elsewhere must not command a service on its user's machine."""
        origin, host = headers.get(b"origin"), headers.get(b"host", b"")
        foreign = origin is not None and origin.partition(b"://")[2].lower() != host.lower()
        if foreign or headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            self._json = b"x-amz-target" in headers
            raise AccessDenied("Requests from web pages of another origin are refused.")

    def _is_page(self, method: bytes, url: bytes) -> bool:
        if method not in (b"GET", b"POST", b"HEAD"):
            self._write(405, b"text/plain", b"Only GET and POST.\n", b"Allow: GET, POST\r\n")
            return True
        page = self._site.page(_origin_form(url).partition(b"?")[0])
        if page is not None:
            self._write(page[0], b"text/plain; charset=utf-8", b"" if method == b"HEAD" else page[1])
        elif method == b"HEAD":
            self._write(405, b"text/plain", b"", b"Allow: GET, POST\r\n")
        return page is not None or method == b"HEAD"

    def keep_headers(self) -> None:
        """For an operation that asks for the URL only after others have had their turn: the next request may come."""
        self._served_headers = self._served_headers.copy()

    def base_url(self) -> str:
        headers = _lower(self._served_headers)
        transport = self._transport
        scheme = b"http" if transport is None or transport.get_extra_info("sslcontext") is None else b"https"
        host = headers.get(b"host")
        if self._site.trust_proxy:
            scheme = _first(headers.get(b"x-forwarded-proto")) or scheme
            host = _first(headers.get(b"x-forwarded-host")) or host
            port = _first(headers.get(b"x-forwarded-port"))
            if port is not None and host is not None and b":" not in host.rpartition(b"]")[2]:
                host = host if port in (b"80", b"443") else host + b":" + port
        if not host:
            name = ("127.0.0.1", 0) if transport is None else transport.get_extra_info("sockname")
            host = f"{name[0]}:{name[1]}".encode()
        return (scheme + b"://" + host).decode("latin-1")

    def answer(self, result: Result | None) -> None:
        request_id = self._site.next_request_id()
        if not self._json:
            assert self._operation is not None
            text = query.encode(self._operation, result, request_id.decode())
            self._write(200, b"text/xml", text, b"x-amzn-RequestId: " + request_id + b"\r\n")
            return
        body = awsjson.encode(result)
        if self._transport is None or not self._keep_alive or self._closing:
            self._write(200, b"application/x-amz-json-1.0", body, b"x-amzn-RequestId: " + request_id + b"\r\n")
            return
        self._transport.write(_OK_JSON % (request_id, len(body)) + body)
        self._busy = False
        self.waiting = None
        if self._ahead:
            self._served()

    def fail(self, fault: Fault) -> None:
        request_id = self._site.next_request_id()
        extra = b"x-amzn-RequestId: " + request_id + b"\r\n"
        if self._json:
            status, header, body = awsjson.fault(fault)
            self._write(status, b"application/x-amz-json-1.0", body, extra + b"x-amzn-query-error: " + header + b"\r\n")
        else:
            status, body = query.fault(fault, request_id.decode())
            self._write(status, b"text/xml", body, extra)

    def _write(self, status: int, kind: bytes, body: bytes, extra: bytes = b"") -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            self._busy = False
            return
        last = not self._keep_alive or self._closing
        transport.write(
            b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n%b%bContent-Length: %d\r\n\r\n"
            % (
                status,
                _REASONS.get(status, b"Error"),
                kind,
                extra,
                b"Connection: close\r\n" if last else b"",
                len(body),
            )
            + body
        )
        if last:
            self._busy = False
            self._closing = True
            if self._deaf:
                self._hang_up_gently(transport)
            else:
                transport.close()
        else:
            self._served()

    def _hang_up_gently(self, transport: asyncio.Transport) -> None:
        """To close while the client still sends would reset the connection, and take the answer away from it."""
        if transport.can_write_eof():
            transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, transport.close)

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

    def _too_large(self, headers: dict[bytes, bytes]) -> None:
        if self._busy:
            self._refuse(413, b"The request is too large.")
            return
        self._deaf = True
        self._json = b"x-amz-target" in headers
        self._keep_alive = False
        self.fail(RequestTooLarge(f"The request must be at most {MAX_BODY_BYTES} bytes long."))

    def _refuse(self, status: int, text: bytes) -> None:
        """Answer what cannot be understood, after what came before it, and hang up."""
        self._deaf = True

        def refuse() -> None:
            self._keep_alive = False
            self._write(status, b"text/plain", text + b"\n")

        if self._busy:
            self._ahead.append(refuse)
        else:
            refuse()


def _lower(headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {name.lower(): value for name, value in headers.items()}


def _origin_form(url: bytes) -> bytes:
    """A request's target without the scheme and host that clients of proxies put before it."""
    if url.startswith(b"/"):
        return url
    _, _, rest = url.partition(b"://")
    slash, query = rest.find(b"/"), rest.find(b"?")
    return b"/" + rest[query:] if query != -1 and not -1 < slash < query else rest[slash:] if slash != -1 else b"/"


def _path(path: bytes) -> str:
    return unquote(path.decode("latin-1"), encoding="utf-8", errors="replace")


def _first(value: bytes | None) -> bytes | None:
    """The first of several values that proxies have added: the one nearest to the client."""
    return value.split(b",")[0].strip() or None if value is not None else None
