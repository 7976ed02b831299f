"""The request being served on a connection: what is asked, by whom, and its answer."""

from collections.abc import Callable, Collection
from functools import partial
from time import perf_counter
from typing import Any, Protocol

from rockdove.broker.accounts import Accounts
from rockdove.core.errors import Fault, InternalFailure, RequestTooLarge, UnknownOperation, UnsupportedMediaType
from rockdove.server.address import base_url, decoded, lower, origin_form
from rockdove.server.call import Waiting
from rockdove.server.gate import Gate
from rockdove.server.guard import Guard
from rockdove.server.host import Hosts
from rockdove.server.origin import Origins, check_get, check_page, preflight
from rockdove.server.outlet import CLOSING, IDLE, LAST, PIECE_BYTES, SERVING, STOPPING, Outlet
from rockdove.server.page import Page
from rockdove.server.pipeline import Pipeline
from rockdove.server.timing import Timing
from rockdove.wire import awsjson, query, queryjson, rest
from rockdove.wire.operation import OPERATIONS, Operation
from rockdove.wire.shape import Request, Result

_OK_JSON = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: %b\r\nContent-Length: %d\r\n\r\n"
)
# Headers that must be looked at before a request is served: those that browsers add to what a page asks for, those that
# say that the body is not what it seems, and one that goes with the messages.
_TRACE_ID = b"x-amzn-trace-id"
_NOTABLE = frozenset((b"origin", b"sec-fetch-site", b"content-encoding", _TRACE_ID))
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
    # Those that are open.
    connections: set[Any]
    accounts: Accounts
    gate: Gate

    def handle(self, call: "Exchange", operation: Operation, request: Request) -> None:
        """Do an operation; the call is answered at once or later. Raises a fault, or anything in case of a defect."""

    # Whether others may have changed records that this process has not heard of yet.
    may_miss: bool

    def catch_up(self, then: Callable[[Fault | None], None]) -> None:
        """Hear of all changes that were made before now; ``then`` gets the fault if the store cannot be asked."""

    # Of all operations, by their names.
    timings: dict[str, Timing]
    access_log: bool

    def page(self, call: "Exchange", path: bytes) -> bool:
        """Whether the path is no operation's, such as /health; then a page is shown, at once or later."""

    def accessed(self, call: "Exchange", operation: str, status: int, seconds: float) -> None:
        """Log a request; only asked for with ``access_log``."""

    def erred(self, operation: str, status: int) -> None:
        """A request was answered with an error; the operation is empty where it is not known."""

    def next_request_id(self) -> bytes: ...

    def defect(self, error: Exception) -> None:
        """Something went wrong that should not have."""


_SIGN_IN = OPERATIONS["SignIn"].target.encode()
# What was asked, when nothing is.
_NOTHING = (b"", b"", b"")
_NO_HEADERS: dict[bytes, bytes] = {}


class Exchange:
    """The call that is being served (see `rockdove.server.call.Call`). One for each connection, used over and over."""

    def __init__(self, site: Site, outlet: Outlet, pipeline: Pipeline) -> None:
        self._site = site
        self._outlet = outlet
        self._pipeline = pipeline
        self.account = site.account
        self.waiting: Waiting | None = None
        # Of the request that has a turn of the large ones, and whether one waits for it.
        self._large_bytes = 0
        self._in_line = False
        # Whether the request holds no escaped character, and so no control character either.
        self.plain = False
        self.trace_id: str | None = None
        self._json = True
        # Of a Query request.
        self._accepts_json = False
        # Whether it is neither protocol's: a message over plain HTTP.
        self._is_rest = False
        self._operation: Operation | None = None
        self._served_headers = _NO_HEADERS
        self.began_s = 0.0
        self._head_only = False
        # What the browser has to be told that asks for a page of another origin.
        self._to_browser = b""
        # The method, the target and the body of what is no AWS JSON.
        self.asked = _NOTHING

    def serve(
        self,
        method: bytes,
        url: bytes,
        headers: dict[bytes, bytes],
        body: bytes,
        keep_alive: bool,
        again: bool = False,
    ) -> None:
        """``again``: what was looked for in vain at first is looked for once more."""
        if not again:
            self._outlet.state = SERVING if keep_alive else LAST
        self._served_headers = headers
        self.began_s = perf_counter()
        self._operation = self.trace_id = None
        self._accepts_json = self._is_rest = False
        try:
            if not _PLAIN.issuperset(headers) and self._is_settled(method, url, headers):
                return
            target = headers.get(b"X-Amz-Target") or lower(headers).get(b"x-amz-target")
            if target is not None and method == b"POST":
                self._json = True
                self.plain = b"\\" not in body
                if self._site.accounts.exist:
                    # Who signs in has nothing yet to sign with.
                    self.account = (
                        self._site.account
                        if target == _SIGN_IN
                        else self._site.gate.identify(self, method, url, headers, body, again)
                    )
                elif headers.get(b"Host") not in self._site.hosts.known:
                    self._check_host(headers)
                self._operation = operation = awsjson.operation(target)
                request = awsjson.decode(operation, body)
            else:
                self.asked = (method, url, body)
                path, _, parameters = origin_form(url).partition(b"?")
                self._is_rest = _is_rest(path)
                if not self._is_rest and self._is_page(method, url):
                    return
                self._json = self.plain = False
                self._accepts_json = queryjson.is_wanted(self.headers.get(b"accept", b""))
                if self._site.accounts.exist:
                    self.account = self._site.gate.identify(self, method, url, headers, body, again)
                else:
                    self._check_host(headers)
                if self._is_rest:
                    self._operation, request = rest.read(method, path, parameters, body)
                else:
                    self._operation, found = query.operation(decoded(path), parameters, body)
                    request = query.decode(self._operation, found)
                if method == b"GET" and not (self._operation.reads or self._to_browser or self._site.accounts.exist):
                    (check_page if self._is_rest else check_get)(self.headers)
            self._site.handle(self, self._operation, request)
            if self.waiting is not None:
                self._lighten()
        except Fault as fault:
            if fault.missed and not again and self._site.may_miss:
                later = partial(self.serve, method, url, headers.copy(), body, keep_alive, True)
                self._site.catch_up(partial(self._caught_up, later))
            else:
                self.fail(fault)
        except Exception as error:
            self._site.defect(error)
            self.fail(InternalFailure())

    def _caught_up(self, again: Callable[[], None], fault: Fault | None) -> None:
        if not self._outlet.is_open():
            return
        if fault is None:
            again()
        else:
            self.fail(fault)

    def _lighten(self) -> None:
        """The request may wait for long: keep nothing of it that is large. Its answer needs none of that."""
        self._let_go()
        if self._large_bytes:
            self._end_large()

    def _let_go(self) -> None:
        self._served_headers, self.trace_id, self.asked = _NO_HEADERS, None, _NOTHING

    def _is_settled(self, method: bytes, url: bytes, spelled: dict[bytes, bytes]) -> bool:
        """Whether the request has its answer already. Whoever may not ask, and what cannot be read, is a fault."""
        self._head_only = method == b"HEAD"
        headers = lower(spelled)
        if _NOTABLE.isdisjoint(headers):
            _learn(spelled)
            return False
        if _TRACE_ID in headers:
            self.trace_id = headers[_TRACE_ID].decode("latin-1")
        self._json = b"x-amz-target" in headers
        self._is_rest = not self._json and _is_rest(url)
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
        return self._outlet.peer()

    @property
    def secure(self) -> bool:
        """Whether the client came over TLS, to here or to the proxy."""
        return self.base_url().startswith("https:")

    def keep_headers(self) -> None:
        """For an operation that asks for the URL only after others have had their turn: the next request may come."""
        self._served_headers = self._served_headers.copy()

    def base_url(self) -> str:
        return base_url(lower(self._served_headers), self._outlet.transport, self._site.trust_proxy)

    def answer(self, result: Result | None) -> None:
        assert self._operation is not None
        site, operation = self._site, self._operation
        request_id = site.next_request_id()
        seconds = perf_counter() - self.began_s
        site.timings[operation.name].add(seconds)
        if site.access_log:
            site.accessed(self, operation.name, 200, seconds)
        if self._is_rest:
            self._write_rest(rest.answer(operation, result), request_id)
            return
        if not self._json:
            encode = queryjson.encode if self._accepts_json else query.encode
            text = encode(operation, result, request_id.decode())
            self._write(200, self._query_kind(), text, b"x-amzn-RequestId: " + request_id + b"\r\n")
            return
        body, outlet = awsjson.encode(result), self._outlet
        if outlet.state is not SERVING or self._to_browser or len(body) > PIECE_BYTES:
            self._write(200, b"application/x-amz-json-1.0", body, b"x-amzn-RequestId: " + request_id + b"\r\n")
            return
        # The answer to almost every request, and so without the calls that `_write` would cost.
        outlet.send(_OK_JSON % (request_id, len(body)) + body)
        if outlet.state is SERVING:
            outlet.state = IDLE
        self.waiting = self.trace_id = None
        # The connection may be idle for long.
        self._served_headers = _NO_HEADERS
        if self._large_bytes:
            self._end_large()
        if self._pipeline.ahead:
            self._pipeline.go_on()

    def when_taken(self, then: Callable[[], None]) -> None:
        if self._outlet.congested:
            self._outlet.untaken.append(then)
        else:
            then()

    def fail(self, fault: Fault) -> None:
        request_id = self._site.next_request_id()
        self._note(fault.status)
        extra = b"x-amzn-RequestId: " + request_id + b"\r\n"
        if self._is_rest:
            self._write_rest(rest.fault(fault), request_id)
        elif self._json:
            status, header, body = awsjson.fault(fault)
            self._write(status, b"application/x-amz-json-1.0", body, extra + b"x-amzn-query-error: " + header + b"\r\n")
        else:
            # What is no operation is told in XML, whatever the client accepts.
            self._accepts_json = self._accepts_json and not isinstance(fault, UnknownOperation)
            tell = queryjson.fault if self._accepts_json else query.fault
            status, body = tell(fault, request_id.decode(), self._operation)
            self._write(status, self._query_kind(), body, extra)

    def _write_rest(self, answer: rest.Answer, request_id: bytes) -> None:
        extra = b"x-amzn-RequestId: " + request_id + b"\r\n" + answer.extra
        self._write(answer.status, rest.KIND, answer.body, extra)

    def _query_kind(self) -> bytes:
        return queryjson.KIND if self._accepts_json else b"text/xml"

    def _note(self, status: int) -> None:
        """Count an error, for those who watch."""
        site, seconds = self._site, perf_counter() - self.began_s
        operation = "" if self._operation is None else self._operation.name
        if operation:
            site.timings[operation].add(seconds)
        site.erred(operation, status)
        if site.access_log:
            site.accessed(self, operation, status, seconds)

    def _write(self, status: int, kind: bytes, body: bytes | memoryview, extra: bytes = b"") -> None:
        self._outlet.reply(status, kind, body, extra + self._to_browser, self._head_only)
        self._to_browser, self._head_only = b"", False
        self.waiting = None
        # The connection may be idle for long.
        self._let_go()
        if self._large_bytes:
            self._end_large()
        if self._pipeline.ahead:
            self._pipeline.go_on()

    # Large requests, see `rockdove.server.guard.Guard.begin`.

    def begin_large(self, number: int) -> bool:
        """Whether the next request, which is so large, has its turn; if not, it is served when it has."""
        if not self._large_bytes and not self._in_line:
            if self._site.guard.begin(number, self._granted):
                self._large_bytes = number
            else:
                self._in_line = True
        return self._large_bytes > 0

    def _granted(self, number: int) -> None:
        self._in_line, self._large_bytes = False, number
        self._pipeline.serve_next()
        if self._large_bytes and not SERVING <= self._outlet.state <= STOPPING:
            # The client has gone, or has to read first.
            self._end_large()

    def _end_large(self) -> None:
        number, self._large_bytes = self._large_bytes, 0
        self._site.guard.end(number)

    # What is not served.

    def refuse(self, status: int, text: bytes, head_only: bool) -> None:
        """What was sent is no request that could be served: the client is told, and hung up on."""
        self._outlet.state, self._head_only = LAST, head_only
        self._site.erred("", status)
        self._write(status, b"text/plain", text + b"\n")

    def refuse_body(self, url: bytes, json: bool, most: int, head_only: bool) -> None:
        """A request's body is larger than ``most`` bytes: its client gets a fault, and is hung up on."""
        self._outlet.state, self._head_only = LAST, head_only
        self._json, self._operation, self._accepts_json, self._is_rest = json, None, False, _is_rest(url)
        self.fail(RequestTooLarge(f"The request must be at most {most} bytes long."))

    @property
    def is_xml(self) -> bool:
        return not (self._json or self._accepts_json or self._is_rest)

    # Who asks no more.

    def is_gone(self) -> bool:
        """For a request that has waited, also true if the client's farewell has arrived but was not read yet."""
        if self.waiting is None or not self.waiting.has_waited:
            return self._outlet.state >= CLOSING
        return not self._outlet.is_open() or self._outlet.has_farewell()

    def leave(self) -> None:
        """The client has gone, and waits for nothing."""
        if self._large_bytes:
            self._end_large()
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None


def _learn(names: Collection[bytes]) -> None:
    if len(_PLAIN) + len(names) > _MOST_PLAIN:
        _PLAIN.clear()
    if len(names) <= _MOST_PLAIN:
        _PLAIN.update([name for name in names if len(name) <= _LONGEST_PLAIN])


def _is_rest(url: bytes) -> bool:
    """Whether a request that names no operation is a message over plain HTTP."""
    return origin_form(url).startswith(rest.PREFIX)
