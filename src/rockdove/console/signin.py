"""Signing in with an account's console password, and out."""

import re
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.console.session import COOKIE, LONGEST_S, Account, Session
from rockdove.console.visit import Visit, body_of, console_of, failed, reading, session_of
from rockdove.console.wrong import SignedOut, Wrong, words
from rockdove.core.errors import AccessDenied, Fault, RequestThrottled, RockdoveError, UnsupportedOperation

# An address of a page of the console, and of nothing else.
_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x1f]*")
_NO = "The name or the password is wrong. An administrator can set a new password: rockdove account password NAME"


async def show(request: Request) -> Response:
    wanted = _local(request.query_params.get("next"))
    try:
        await session_of(request)
    except SignedOut:
        return _form(request, wanted)
    except RockdoveError as error:
        return failed(request, error, None)
    return RedirectResponse(wanted, 303)


async def sign_in(request: Request) -> Response:
    try:
        form = await _typed(request)
    except Wrong as wrong:
        return failed(request, wrong, None)
    name, password, wanted = _first(form, "account"), _first(form, "password"), _local(_first(form, "next"))
    if not name or not password:
        return _form(request, wanted, name, "Give the account's name and its password.")
    console = console_of(request)
    try:
        told = await console.service.nobody.sign_in(name.strip(), password)
    except UnsupportedOperation:
        return RedirectResponse("/", 303)
    except (AccessDenied, RequestThrottled) as fault:
        text = _NO if isinstance(fault, AccessDenied) else words(fault)
        return _form(request, wanted, name, text)
    except (Unreachable, UnexpectedAnswer, Fault) as error:
        return _form(request, wanted, name, words(error))
    earlier = console.sessions.find(request.cookies.get(COOKIE))
    if earlier is not None:
        console.sessions.end(earlier)
    session = console.sessions.begin(Account(told.account_id, told.account_name, told.admin), told.session_token)
    return _with_cookie(RedirectResponse(wanted, 303), session, _is_https(request))


def _form(request: Request, wanted: str, name: str = "", text: str = "") -> Response:
    console = console_of(request)
    values = {"wanted": wanted, "name": name, "text": text}
    return console.renderer.response(request, console, None, "login.html", 200, values)


async def sign_out(request: Request) -> Response:
    """Of this browser; with ``everywhere``, of all browsers of the account."""
    try:
        form = await _typed(request)
    except Wrong as wrong:
        return failed(request, wrong, None)
    sessions = console_of(request).sessions
    session = sessions.find(request.cookies.get(COOKIE))
    if session is not None:
        sessions.end(session)
        if "everywhere" in form:
            sessions.end_account(session.account.id)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=_is_https(request))
    return response


def _with_cookie(response: Response, session: Session, secure: bool) -> Response:
    response.set_cookie(
        COOKIE, session.id, max_age=int(LONGEST_S), path="/", httponly=True, samesite="strict", secure=secure
    )
    return response


def _is_https(request: Request) -> bool:
    """A proxy in front may speak TLS for us: browsers then name the origin so."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def _local(address: str | None) -> str:
    return address if address and _LOCAL.fullmatch(address) and not address.startswith("/login") else "/"


async def _typed(request: Request) -> dict[str, list[str]]:
    """What a form has sent. Raises `Wrong`."""
    return parse_qs((await body_of(request)).decode("utf-8", "replace"))


def _first(form: dict[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0]


async def who(visit: Visit) -> Account:
    return visit.session.account


ROUTES = [
    Route("/api/session", reading(who)),
    Route("/login", show, methods=["GET"]),
    Route("/login", sign_in, methods=["POST"]),
    Route("/logout", sign_out, methods=["POST"]),
]
