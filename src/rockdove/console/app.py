"""The console as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.console import (
    access,
    accounts,
    analysis,
    draft,
    elastic,
    lease,
    papers,
    peek,
    physical,
    plan,
    queue,
    queues,
    receipt,
    redrive,
    signin,
    stream,
    tag,
    topic,
)
from rockdove.console.console import Console, make_console
from rockdove.console.guard import Guard
from rockdove.console.render import STATIC
from rockdove.console.setting import Settings
from rockdove.console.visit import failed, session_of
from rockdove.console.wrong import Wrong, told
from rockdove.core.errors import RockdoveError

# Each page brings its own.
ROUTES: list[BaseRoute] = [
    *signin.ROUTES,
    *stream.ROUTES,
    *queues.ROUTES,
    *elastic.ROUTES,
    *plan.ROUTES,
    *papers.ROUTES,
    *analysis.ROUTES,
    *queue.ROUTES,
    *peek.ROUTES,
    *draft.ROUTES,
    *receipt.ROUTES,
    *physical.ROUTES,
    *lease.ROUTES,
    *redrive.ROUTES,
    *tag.ROUTES,
    *access.ROUTES,
    *topic.ROUTES,
    *accounts.ROUTES,
    Mount("/static", StaticFiles(directory=STATIC)),
]


def make_app(settings: Settings) -> Starlette:
    """Raises ValueError if the endpoint is none."""
    console = make_console(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await console.hub.close()
        await console.recorders.close()
        await console.sessions.close()
        await console.service.close()

    async def is_open() -> bool:
        return await _is_open(console)

    guard = Middleware(Guard, name=settings.host, is_open=is_open, encrypted=settings.is_encrypted)
    app = Starlette(
        routes=ROUTES, middleware=[guard], lifespan=lifespan, exception_handlers={HTTPException: _http_error}
    )
    app.state.console = console
    return app


async def _is_open(console: Console) -> bool:
    try:
        return not await console.service.has_accounts()
    except (Unreachable, UnexpectedAnswer):
        # Not known: then as if there were no accounts.
        return True


async def _http_error(request: Request, error: Exception) -> Response:
    """No such page, for who is signed in and who is not; actions are told in their own form."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = "There is no such page. The bar at the top leads to all there are." if status == 404 else str(error)
    wrong = Wrong(text, status=status)
    if request.url.path.startswith(("/api/", "/static/")):
        return told(wrong, request)
    try:
        session = await session_of(request)
    except RockdoveError:
        session = None
    return failed(request, wrong, session)
