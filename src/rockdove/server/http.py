"""The HTTP/1.1 front: one object for each connection, one request at a time on it, no framework in between."""

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from time import perf_counter
from typing import Protocol

from rockdove.broker.accounts import Accounts
from rockdove.core.errors import Fault, InternalFailure, RequestTooLarge, UnsupportedMediaType
from rockdove.server.address import base_url, decoded, lower, origin_form
from rockdove.server.gate import Gate
from rockdove.server.guard import Guard
from rockdove.server.host import Hosts
from rockdove.server.origin import Origins, preflight
from rockdove.server.page import Page
from rockdove.server.reader import Reader
from rockdove.server.timing import Timing
from rockdove.wire import awsjson, query
from rockdove.wire.operation import Operation
from rockdove.wire.shape import Request, Result

# Seconds for which a refused client may still send before the connection is closed.
LINGER_S = 1.0
# Larger answers are written in pieces: TLS hands on what it is given at once, and what is handed on does not count.
PIECE_BYTES = 256 * 1024
_OK_JSON = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: %b\r\nContent-Length: %d\r\n\r\n"
)
_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    409: b"Conflict",
    413: b"Payload Too Large",
    415: b"Unsupported Media Type",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
}


# Headers that must be looked at before a request is served: those that browsers add to what a page asks for, and those
# that say that the body is not what it seems.
_NOTABLE = frozenset((b"origin", b"sec-fetch-site", b"content-encoding"))
# Names of all other headers, as clients have spelled them: so that no request need be spelled anew. Few and short.
_PLAIN: set[bytes] = set()
_MOST_PLAIN = 1_024
_LONGEST_PLAIN = 64


class Site(Protocol):
    """What the front needs of the service behind it."""

    account: str
    trust_proxy: bool
    guard: Guard
    origins: Origins
    hosts: Hosts
    connections: set[Reader]
    accounts: Accounts
    gate: Gate

    def handle(self, call: "Connection", operation: Operation, request: Request) -> None:
        """Do an operation; the call is answered at once or later. Raises a fault, or anything in case of a defect."""

    # Whether others may have changed records that this process has not heard of yet.
    is_front_end: bool

    def catch_up(self, then: Callable[[], None]) -> None:
        """Hear of all changes that were made before now."""

    # Of all operations, by their names.
    timings: dict[str, Timing]
    access_log: bool

    def page(self, call: "Connection", path: bytes) -> bool:
        """Whether the path is no operation's, such as /health; then a page is shown, at once or later."""

    def accessed(self, call: "Connection", operation: str, status: int, seconds: float) -> None:
        """Log a request; only asked for with ``access_log``."""

    def erred(self, operation: str, status: int) -> None:
        """A request was answered with an error; the operation is empty where it is not known."""

    def next_request_id(self) -> bytes: ...

    def defect(self, error: Exception) -> None:
        """Something went wrong that should not have."""


class Connection(Reader):
    """A client's connection, and the call that is being served on it (see `rockdove.server.call.Call`)."""

    def __init__(self, site: Site, leave: Callable[[], None]) -> None:
        super().__init__(site, leave)
        self._site = site
        # Whether the request holds no escaped character, and so no control character either.
        self.plain = False
        self._json = True
        self._operation: Operation | None = None
        self._served_headers: dict[bytes, bytes] = {}
        self.began_s = 0.0
        self._head_only = False
        # What the browser has to be told that asks for a page of another origin.
        self._to_browser = b""
        # The method, the target and the body of what is no AWS JSON.
        self.asked = (b"", b"", b"")

    def _serve(
        self,
        method: bytes,
        url: bytes,
        headers: dict[bytes, bytes],
        body: bytes,
        keep_alive: bool,
        again: bool = False,
    ) -> None:
        """``again``: what was looked for in vain at first is looked for once more."""
        self._busy = True
        self._keep_alive = keep_alive
        self._served_headers = headers
        self.began_s = perf_counter()
        self._operation = None
        try:
            if not _PLAIN.issuperset(headers) and self._is_settled(method, headers):
                return
            target = headers.get(b"X-Amz-Target") or lower(headers).get(b"x-amz-target")
            if target is not None and method == b"POST":
                self._json = True
                self.plain = b"\\" not in body
                if self._site.accounts.exist:
                    self.account = self._site.gate.identify(self, method, url, headers, body)
                elif headers.get(b"Host") not in self._site.hosts.known:
                    self._check_host(headers)
                self._operation = operation = awsjson.operation(target)
                request = awsjson.decode(operation, body)
            else:
                self.asked = (method, url, body)
                if self._is_page(method, url):
                    return
                self._json = self.plain = False
                if self._site.accounts.exist:
                    self.account = self._site.gate.identify(self, method, url, headers, body)
                else:
                    self._check_host(headers)
                path, _, parameters = origin_form(url).partition(b"?")
                self._operation, request = query.decode(decoded(path), parameters, body)
            self._site.handle(self, self._operation, request)
        except Fault as fault:
            if fault.missed and not again and self._site.is_front_end:
                later = partial(self._serve, method, url, headers.copy(), body, keep_alive, True)
                self._site.catch_up(lambda: None if self._transport is None else later())
            else:
                self.fail(fault)
        except Exception as error:
            self._site.defect(error)
            self.fail(InternalFailure())

    def _is_settled(self, method: bytes, spelled: dict[bytes, bytes]) -> bool:
        """Whether the request has its answer already. Whoever may not ask, and what cannot be read, is a fault."""
        self._head_only = method == b"HEAD"
        headers = lower(spelled)
        if _NOTABLE.isdisjoint(headers):
            _learn(spelled)
            return False
        self._json = b"x-amz-target" in headers
        self._to_browser = self._site.origins.admit(headers, self.secure)
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise UnsupportedMediaType()
        leave = preflight(headers) if method == b"OPTIONS" and self._to_browser else None
        if leave is not None:
            self._write(200, b"text/plain", b"", leave)
        return leave is not None

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Nobody has to sign here: the name that is called must be ours, or the page's origin one that is let in."""
        if not self._to_browser:
            self._site.hosts.admit(headers.get(b"Host") or lower(headers).get(b"host"), self.peer)

    def _is_page(self, method: bytes, url: bytes) -> bool:
        if method not in (b"GET", b"POST", b"HEAD"):
            self._write(405, b"text/plain", b"Only GET and POST.\n", b"Allow: GET, POST\r\n")
            return True
        self._head_only = method == b"HEAD"
        if self._site.page(self, origin_form(url).partition(b"?")[0]):
            return True
        if method == b"HEAD":
            self._write(405, b"text/plain", b"Only GET and POST.\n", b"Allow: GET, POST\r\n")
            return True
        return False

    def show(self, page: Page) -> None:
        self._write(page.status, page.kind, page.body, page.extra)

    @property
    def headers(self) -> dict[bytes, bytes]:
        """Of the request being served, with their names in lower case."""
        return lower(self._served_headers)

    @property
    def peer(self) -> str:
        """The address that the connection comes from."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return str(name[0]) if name else ""

    @property
    def secure(self) -> bool:
        """Whether the client came over TLS, to here or to the proxy."""
        return self.base_url().startswith("https:")

    def keep_headers(self) -> None:
        """For an operation that asks for the URL only after others have had their turn: the next request may come."""
        self._served_headers = self._served_headers.copy()

    def base_url(self) -> str:
        return base_url(lower(self._served_headers), self._transport, self._site.trust_proxy)

    def answer(self, result: Result | None) -> None:
        assert self._operation is not None
        site, operation = self._site, self._operation
        request_id = site.next_request_id()
        seconds = perf_counter() - self.began_s
        site.timings[operation.name].add(seconds)
        if site.access_log:
            site.accessed(self, operation.name, 200, seconds)
        if not self._json:
            text = query.encode(operation, result, request_id.decode())
            self._write(200, b"text/xml", text, b"x-amzn-RequestId: " + request_id + b"\r\n")
            return
        body = awsjson.encode(result)
        large = len(body) > PIECE_BYTES
        if large or self._transport is None or not self._keep_alive or self._closing or self._to_browser:
            self._write(200, b"application/x-amz-json-1.0", body, b"x-amzn-RequestId: " + request_id + b"\r\n")
            return
        self._transport.write(_OK_JSON % (request_id, len(body)) + body)
        self._busy = False
        self.waiting = None
        if self._ahead:
            self._served()

    def fail(self, fault: Fault) -> None:
        request_id = self._site.next_request_id()
        self._note(fault.status)
        extra = b"x-amzn-RequestId: " + request_id + b"\r\n"
        if self._json:
            status, header, body = awsjson.fault(fault)
            self._write(status, b"application/x-amz-json-1.0", body, extra + b"x-amzn-query-error: " + header + b"\r\n")
        else:
            status, body = query.fault(fault, request_id.decode())
            self._write(status, b"text/xml", body, extra)

    def _note(self, status: int) -> None:
        """Count an error, for those who watch."""
        site, seconds = self._site, perf_counter() - self.began_s
        operation = "" if self._operation is None else self._operation.name
        if operation:
            site.timings[operation].add(seconds)
        site.erred(operation, status)
        if site.access_log:
            site.accessed(self, operation, status, seconds)

    def _write(self, status: int, kind: bytes, body: bytes, extra: bytes = b"") -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            self._busy = False
            return
        last = not self._keep_alive or self._closing
        answer = b"HTTP/1.1 %d %b\r\nContent-Type: %b\r\n%b%bContent-Length: %d\r\n\r\n" % (
            status,
            _REASONS.get(status, b"Error"),
            kind,
            extra + self._to_browser,
            b"Connection: close\r\n" if last else b"",
            len(body),
        ) + (b"" if self._head_only else body)
        for start in range(0, len(answer), PIECE_BYTES):
            transport.write(answer[start : start + PIECE_BYTES])
        self._to_browser, self._head_only = b"", False
        if last:
            self._busy = False
            self._closing = True
            self._since_s = asyncio.get_running_loop().time()
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

    def _too_large(self, headers: dict[bytes, bytes]) -> None:
        if self._busy or self._ahead:
            self._refuse(413, b"The request is too large.")
            return
        self._forget()
        self._json, self._operation = b"x-amz-target" in headers, None
        self._keep_alive, self._head_only = False, self._parser.get_method() == b"HEAD"
        self.fail(RequestTooLarge(f"The request must be at most {self._limits.max_body_bytes} bytes long."))

    def _refuse(self, status: int, text: bytes) -> None:
        self._forget()
        head_only = self._parser.get_method() == b"HEAD"

        def refuse() -> None:
            self._keep_alive, self._head_only = False, head_only
            self._site.erred("", status)
            self._write(status, b"text/plain", text + b"\n")

        if self._busy or self._ahead:
            self._ahead.append((0, refuse))
        else:
            refuse()


def _learn(names: Collection[bytes]) -> None:
    if len(_PLAIN) + len(names) > _MOST_PLAIN:
        _PLAIN.clear()
    if len(names) <= _MOST_PLAIN:
        _PLAIN.update([name for name in names if len(name) <= _LONGEST_PLAIN])
