"""What a handler is given, and how one is made of a function: a page, a reading or an action."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.console.console import Console
from rockdove.console.session import COOKIE, Session
from rockdove.console.wrong import UNKNOWN_CALLER, SignedOut, Wrong, status_of, told, words
from rockdove.core.errors import Fault, RockdoveError

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Visit(Struct, frozen=True):
    """A request of somebody who may come in."""

    request: Request
    console: Console
    session: Session

    @property
    def client(self) -> AsyncClient:
        """The service, as this account."""
        return self.session.client

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        return self.console.renderer.response(self.request, self.console, self.session, template, status, values)


def console_of(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


async def session_of(request: Request) -> Session:
    """Raises `SignedOut`, and what `Service.has_accounts` raises."""
    console = console_of(request)
    session = console.sessions.find(request.cookies.get(COOKIE))
    if session is not None:
        return session
    if await console.service.has_accounts():
        console.sessions.accounts_appeared()
        raise SignedOut
    if console.settings.exposed:
        raise Wrong("The service has no accounts any more, so it is shown to nobody: others can reach this address.")
    return console.sessions.everybody()


async def _visit(request: Request, admin: bool) -> Visit:
    session = await session_of(request)
    if admin and not session.account.admin:
        raise Wrong("This is for administrators.", status=403)
    return Visit(request, console_of(request), session)


async def body_of(request: Request) -> bytes:
    """Raises `Wrong` if it is cut off: because it is too long, or because the browser has gone."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise Wrong("That is too much at once.", status=413) from None


async def order_of(request: Request, decode: Callable[[bytes], T]) -> T:
    """What a page asks for, as JSON. Raises `Wrong`."""
    body = await body_of(request)
    try:
        return decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Wrong(f"The console did not understand the page: {error}. Load the page again.") from None


def page(show: Callable[[Visit], Awaitable[Response]], *, admin: bool = False) -> Handler:
    """A page; who is not signed in is sent to sign in. What goes wrong is a page, too."""

    async def handle(request: Request) -> Response:
        visit: Visit | None = None
        try:
            visit = await _visit(request, admin)
            return await show(visit)
        except SignedOut:
            return _to_sign_in(request)
        except RockdoveError as error:
            if visit is not None and _is_over(visit, error):
                return _to_sign_in(request)
            session = visit.session if visit else None
            return failed(request, error, session)

    return handle


def failed(request: Request, error: RockdoveError, session: Session | None) -> Response:
    """A page that says what went wrong."""
    console = console_of(request)
    away = isinstance(error, Unreachable | UnexpectedAnswer)
    values = {"text": words(error), "is_away": away}
    return console.renderer.response(request, console, session, "error.html", status_of(error), values)


def _to_sign_in(request: Request) -> Response:
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse("/login" if wanted == "/" else f"/login?next={quote(wanted)}", 303)


def reading(read: Callable[[Visit], Awaitable[object]], *, admin: bool = False) -> Handler:
    """GET that answers with JSON."""

    async def handle(request: Request) -> Response:
        return await _answer(request, admin, read)

    return handle


def action(kind: type[T], act: Callable[[Visit, T], Awaitable[object]], *, admin: bool = False) -> Handler:
    """POST of a JSON object of that type; what the function gives (an object, or None) is in the answer."""
    decode = msgspec.json.Decoder(kind).decode

    async def do(visit: Visit) -> object:
        return await act(visit, await order_of(visit.request, decode))

    @functools.wraps(act)
    async def handle(request: Request) -> Response:
        return await _answer(request, admin, do)

    return handle


async def _answer(request: Request, admin: bool, do: Callable[[Visit], Awaitable[object]]) -> Response:
    visit: Visit | None = None
    try:
        visit = await _visit(request, admin)
        value = await do(visit)
    except RockdoveError as error:
        return told(SignedOut() if visit is not None and _is_over(visit, error) else error, request)
    members = {} if value is None else msgspec.to_builtins(value)
    return Response(msgspec.json.encode({"ok": True, **members}), media_type="application/json")


def _is_over(visit: Visit, error: RockdoveError) -> bool:
    """Whether the service knows this session no more; then the console knows it no more, too."""
    if visit.session.is_over:
        # It ended meanwhile, and its connections were closed.
        return True
    if isinstance(error, Unreachable):
        visit.console.service.lost(error)
    if not (isinstance(error, Fault) and isinstance(error, UNKNOWN_CALLER)):
        return False
    if visit.session.id:
        visit.console.sessions.end(visit.session)
    else:
        visit.console.sessions.accounts_appeared()
    return True
