"""The process that has the store: it serves front-ends, works in the background, and collects metrics."""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, cast

from rockdove.core.clock import Clock, SystemClock
from rockdove.server.background import Background
from rockdove.server.board import Seat
from rockdove.server.figures import Figures, counted, decode
from rockdove.server.live import Live
from rockdove.server.log import fields
from rockdove.server.metrics import Metrics
from rockdove.server.setting import Settings
from rockdove.server.sharing import FIGURES, LIVE, METRICS, NAME, SharedFailures
from rockdove.server.tracer import Tracer
from rockdove.server.works import build, make_recorder
from rockdove.store.remote.frontend import FrontEnd
from rockdove.store.remote.owner import Owned, Owner

# Seconds between two looks at what front-ends have counted: of one that dies, what it has counted since is lost.
LOOK_S = 5.0
# Seconds that the trace has for its end.
TRACE_S = 0.5

log = logging.getLogger("rockdove")


class OwnerService:
    """Made inside the event loop that drives the store."""

    def __init__(self, settings: Settings, seat: Seat, clock: Clock | None = None) -> None:
        self._settings = settings
        self._seat = seat
        self._clock = clock or SystemClock()
        location = settings.locate()
        # All stores of the registry are in this process.
        self._store = cast(Owned, location.open(self._clock, asyncio.get_running_loop()))
        self._recorder = make_recorder(settings)
        # What each front-end has counted, as far as it has told, and what those had that are no more.
        self._counted: dict[FrontEnd, Figures] = {}
        self._past = Figures()
        self._task: asyncio.Task[None] | None = None
        self.has_accounts = False

    def answer_for(self, process: int) -> None:
        """Another process answers for this one."""
        self._store.held_by(process)

    async def start(self, listening: socket.socket) -> None:
        """Raises `DataFolderError`, `MissingExtra` or `TraceFolderError`."""
        if self._recorder is not None:
            self._recorder.check()
        snapshot = await self._store.open()
        self.has_accounts = bool(snapshot.accounts)
        works = build(self._store, snapshot, self._settings, self._clock, self._seat)
        self._directory = works.directory
        works.feed.start(snapshot, works.directory, works.tasks)
        self._owner = Owner(self._store, self._clock)
        self._failures = SharedFailures(self._owner)
        if self._recorder is not None:
            self._recorder.node += ":owner"
            self._recorder.start()
            tracer = works.context.watch = Tracer(self._recorder.add, works.broker)
            self._owner.told[NAME] = tracer.hear_name
        self.background = Background(works.context, works.feed, works.tasks, self._settings.lease_keep_s)
        self._metrics = Metrics(works.broker, self._settings.metrics_queues, self._seat, self._figures)
        self._live = Live(works.broker, self._seat, self._figures)
        self._owner.calls[METRICS] = self._show_metrics
        self._owner.calls[LIVE] = self._tell_live
        self._owner.on_leave = self._left
        self._owner.start(listening)
        self.background.start()
        self._task = asyncio.get_running_loop().create_task(self._look_now_and_then())
        log.info("the store is open", extra=fields("store-open", store=self._store.name))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.background.close()
        await self._metrics.close()
        await self._live.close()
        self._owner.close()
        self._store.close()
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.close, TRACE_S)

    # Metrics.

    def _show_metrics(self, payload: bytes, done: Callable[[bytes], None]) -> None:
        self._answer_later(self._metrics.text(), done)

    def _tell_live(self, payload: bytes, done: Callable[[bytes], None]) -> None:
        self._answer_later(self._live.answer(payload), done)

    def _answer_later(self, work: Coroutine[Any, Any, bytes], done: Callable[[bytes], None]) -> None:
        task = asyncio.get_running_loop().create_task(work)

        def collected(task: "asyncio.Task[bytes]") -> None:
            if not task.cancelled():
                error = task.exception()
                if error is not None:
                    log.error("the figures could not be collected", exc_info=error, extra=fields("defect"))
                done(b"" if error is not None else task.result())

        task.add_done_callback(collected)

    async def _figures(self) -> Figures:
        """What all processes have counted since this one began."""
        await self._look()
        total = counted(self._directory, {}, Counter(), self._recorder)
        for figures in (self._past, *self._counted.values()):
            total.add(figures)
        return total

    async def _look(self) -> None:
        for front_end, payload in (await self._owner.question(FIGURES)).items():
            if front_end.is_open and payload:
                self._counted[front_end] = decode(payload)

    async def _look_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    def _left(self, front_end: FrontEnd) -> None:
        self._past.add(self._counted.pop(front_end, Figures()))
