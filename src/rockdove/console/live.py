"""Live figures: while a page of an account is open, one loop asks for what has changed, for all its tabs."""

import asyncio
import logging

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.console.event import event
from rockdove.console.ledger import Ledger
from rockdove.console.service import Service
from rockdove.console.session import Session, Sessions
from rockdove.console.watcher import Watcher
from rockdove.console.wrong import UNKNOWN_CALLER, words
from rockdove.core.errors import Fault, RockdoveError, UnknownOperation

# Seconds from one look to the next, however much changes.
TICK_S = 1.0
# Seconds that a look may wait for a change, and beyond which the service counts as away.
WAIT_S = 1
_PATIENCE_S = 6.0
# Seconds for which the figures are kept up when the last page is closed: the next page is often about to open.
LINGER_S = 30.0
_AGAIN_S = 1.0

log = logging.getLogger("rockdove")


class Feed:
    """The figures of one account."""

    def __init__(self, service: Service, sessions: Sessions) -> None:
        self._service = service
        self._sessions = sessions
        self._ledger = Ledger()
        self._watchers: set[Watcher] = set()
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._left_s = 0.0
        self._is_known = False
        self._trouble: str | None = None

    def join(self, session: Session, queue: str | None) -> Watcher:
        watcher = Watcher(session, queue)
        self._watchers.add(watcher)
        session.streams.add(watcher.wake)
        self._session = session
        if self._is_known:
            self._begin(watcher)
        elif self._trouble is not None:
            watcher.put(self._service_event())
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return watcher

    def leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        watcher.session.streams.discard(watcher.wake)
        self._sessions.find(watcher.session.id)
        self._left_s = asyncio.get_running_loop().time()

    def _begin(self, watcher: Watcher) -> None:
        """Whether the service is there is told with it: what was to be sent before is dropped."""
        data = b""
        if watcher.queue is None:
            data = self._ledger.snapshot()
        elif watcher.queue:
            data = self._ledger.history(watcher.queue)
        watcher.begin(data + self._service_event())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        since: str | None = None
        while True:
            session = self._look_with()
            if session is None:
                break
            begun_s = loop.time()
            pause_s, since = await self._look(session, since)
            await asyncio.sleep(pause_s - (loop.time() - begun_s))
        # Whoever comes later is told everything anew.
        self._ledger, self._is_known = Ledger(), False

    def _look_with(self) -> Session | None:
        """A session of the account; None when nobody has looked for a while."""
        for watcher in self._watchers:
            if not watcher.session.is_over:
                return watcher.session
        lingers = asyncio.get_running_loop().time() - self._left_s < LINGER_S
        return self._session if lingers and self._session and not self._session.is_over else None

    async def _look(self, session: Session, since: str | None) -> tuple[float, str | None]:
        """Seconds until the next look, and what is known by then."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                answer = await session.client.figures(since, wait_s=WAIT_S)
        except (TimeoutError, RockdoveError) as error:
            if session.is_over:
                # Its connections were closed: that says nothing about the service.
                return 0.0, since
            self._failed(session, error)
            return _AGAIN_S, since
        self._trouble = None
        self._service.found()
        self._ledger.take(answer)
        if answer.more:
            return 0.0, answer.version
        self._publish()
        return TICK_S, answer.version

    def _publish(self) -> None:
        whole = self._ledger.is_whole or not self._is_known
        changes = self._ledger.changes()
        self._is_known = True
        if whole:
            for watcher in self._watchers:
                self._begin(watcher)
            return
        points: dict[str, bytes] = {}
        for watcher in self._watchers:
            if watcher.queue is None:
                watcher.put(changes)
            elif watcher.queue:
                if watcher.queue not in points:
                    points[watcher.queue] = self._ledger.point(watcher.queue)
                watcher.put(points[watcher.queue])
            if watcher.is_behind:
                self._begin(watcher)

    def _failed(self, session: Session, error: Exception) -> None:
        if isinstance(error, Fault) and isinstance(error, UNKNOWN_CALLER):
            if session.id:
                self._sessions.end(session)
            else:
                self._sessions.accounts_appeared()
            return
        told = Unreachable(self._service.endpoint, "it does not answer", "look at its log")
        found = error if isinstance(error, RockdoveError) else told
        if isinstance(found, Unreachable | UnexpectedAnswer):
            self._service.lost(found)
        text = words(found)
        if isinstance(found, UnknownOperation):
            text = "This service is older than the console, and gives no figures. Upgrade it."
        if text != self._trouble:
            log.warning("no figures: %s", text)
            self._trouble = text
            # When it is back, pages are told everything anew.
            self._is_known = False
            for watcher in self._watchers:
                watcher.put(self._service_event())

    def _service_event(self) -> bytes:
        return event("service", {"up": self._trouble is None, "text": self._trouble})

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


class Hub:
    """The feeds of all accounts. For one event loop."""

    def __init__(self, service: Service, sessions: Sessions) -> None:
        self._service = service
        self._sessions = sessions
        self._feeds: dict[str, Feed] = {}

    def feed(self, session: Session) -> Feed:
        """Of the session's account."""
        key = f"{session.account.id} {bool(session.id)}"
        if key not in self._feeds:
            self._feeds[key] = Feed(self._service, self._sessions)
        return self._feeds[key]

    async def close(self) -> None:
        for feed in self._feeds.values():
            await feed.close()
