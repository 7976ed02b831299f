"""What every request passes first: who may ask, from which page, and how much; and what answers carry."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rockdove.core.limits import MAX_MESSAGE_BYTES

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
# "same-origin", because browsers do not tell the origin of a form with "no-referrer".
_HEADERS: Final = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# The largest message as JSON, where quotes and ends of lines take two bytes each, and what is written around it.
MOST_BYTES: Final = 2 * MAX_MESSAGE_BYTES + 100_000

# Addresses, and the machine itself.
_LOCAL = re.compile(r"(\[[0-9a-f:.]+\]|[0-9]+(\.[0-9]+){3}|([a-z0-9_-]+\.)*localhost)(:[0-9]{1,5})?")
_SAFE = ("GET", "HEAD")

# Whether anybody is let in without signing in.
IsOpen = Callable[[], Awaitable[bool]]


class Guard:
    """ASGI middleware, outermost."""

    def __init__(self, app: ASGIApp, name: str, is_open: IsOpen, encrypted: bool = False) -> None:
        """``name``: what the console listens on, which is a name of its own."""
        self._app = app
        self._name = name.lower()
        self._is_open = is_open
        self._scheme = "https" if encrypted else "http"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = await self._refusal(scope["method"], headers)
        if refusal is None:
            await self._app(scope, _Bounded(receive), _dressed(send, scope["path"]))
        else:
            status, text = refusal
            await JSONResponse({"error": text}, status)(scope, receive, _dressed(send, scope["path"]))

    async def _refusal(self, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "").lower()
        if not await self._is_own(host):
            return 421, "The console does not answer under this name; call it by its address."
        if method not in _SAFE and not self._is_from_here(host, headers):
            return 403, "This did not come from a page of the console. Load the page again, then try once more."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, f"That is too much at once: the console takes up to {MOST_BYTES:,} bytes."
        return None

    async def _is_own(self, host: str) -> bool:
        """Whoever owns another name can let it point here, and his page is then of the same origin (DNS rebinding).

        That matters where nobody has to sign in.
        """
        if _LOCAL.fullmatch(host) or host.rpartition(":")[0] == self._name or host == self._name:
            return True
        return bool(host) and not await self._is_open()

    def _is_from_here(self, host: str, headers: dict[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site") == "same-origin"
        # A proxy in front may speak TLS for us.
        return origin.lower() in (f"{self._scheme}://{host}", f"https://{host}")


class _Bounded:
    """A body that comes in pieces is no longer than one whose length is told."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        # As if the sender had hung up.
        return message if self._bytes <= MOST_BYTES else {"type": "http.disconnect"}


def _dressed(send: Send, path: str) -> Send:
    cache = b"no-cache" if path.startswith("/static/") else b"no-store"

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"cache-control"]
            message = {**message, "headers": [*headers, *_HEADERS, (b"cache-control", cache)]}
        await send(message)

    return dressed
