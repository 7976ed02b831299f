"""``/events``: what changes, to open pages, as server-sent events."""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rockdove.client import Unreachable
from rockdove.console.event import event
from rockdove.console.live import Feed
from rockdove.console.visit import console_of, session_of
from rockdove.console.watcher import Watcher
from rockdove.console.wrong import SignedOut, Wrong, told, words
from rockdove.core.errors import RockdoveError

_TYPE = "text/event-stream"
# Seconds after which a stream says that it is still there; then it also sees that the browser is not.
_STILL_S = 15.0
# Milliseconds after which a browser comes back.
_RETRY = b"retry: 1000\n\n"


async def events(request: Request) -> Response:
    """``page=queues``, or ``page=queue`` with ``account`` and ``name``; any other page is told of the service alone."""
    try:
        session = await session_of(request)
        asked = request.query_params
        if asked.get("page") == "queue" and asked.get("account") != session.account.id:
            raise Wrong("This queue belongs to another account.", status=403)
    except SignedOut:
        # In a stream: browsers report another status as an error of the page.
        return Response(_RETRY + event("ended", {}), media_type=_TYPE)
    except Unreachable as error:
        return Response(_RETRY + event("service", {"up": False, "text": words(error)}), media_type=_TYPE)
    except RockdoveError as error:
        return told(error, request)
    queue = asked.get("name", "") if asked.get("page") != "queues" else None
    feed = console_of(request).hub.feed(session)
    return StreamingResponse(_stream(request, feed, feed.join(session, queue)), media_type=_TYPE)


async def _stream(request: Request, feed: Feed, watcher: Watcher) -> AsyncIterator[bytes]:
    sessions = console_of(request).sessions
    try:
        yield _RETRY
        while True:
            data = await watcher.take(_STILL_S)
            if sessions.stopping:
                return
            if watcher.session.is_over:
                yield event("ended", {})
                return
            yield data or b": still here\n\n"
    finally:
        feed.leave(watcher)


ROUTES = [Route("/events", events)]
