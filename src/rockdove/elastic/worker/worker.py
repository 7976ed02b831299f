"""Receives messages, has them handled, deletes those that succeed, and lets those that fail come back later."""

import asyncio
import contextlib
import inspect
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, TypeVar

from msgspec import Struct

from rockdove.client import AsyncClient, Message, UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault, QueueDoesNotExist, ReceiptHandleIsInvalid
from rockdove.core.limits import MAX_RECEIVE, MAX_VISIBILITY_TIMEOUT_S, MAX_WAIT_S
from rockdove.elastic.worker.handler import Handler, Later

T = TypeVar("T")
log = logging.getLogger("rockdove")

# Seconds between two looks for a service that has gone.
AGAIN_S = 0.5
# The time for which a message is hidden is renewed so many times within it.
BEATS = 3


class Manners(Struct, frozen=True, kw_only=True):
    """How a worker works: messages at a time, seconds for which a message is hidden, what it waits at most after a
    failure, and how long it may finish what it has begun when it is to end."""

    concurrency: int = 1
    visibility_s: int = 30
    first_backoff_s: float = 1.0
    most_backoff_s: float = 300.0
    grace_s: float = 30.0


class Tally(Struct):
    """What was done."""

    done: int = 0
    failed: int = 0
    busy_s: float = 0.0


class _Hidden(Struct):
    """Until when a message is hidden from others, as far as the worker knows."""

    until_s: float


class Worker:
    """For one event loop. `run` ends when `drain` was called, or the queue is gone."""

    def __init__(
        self, client: AsyncClient, queue: str, handler: Handler, manners: Manners, rng: Random | None = None
    ) -> None:
        self._client = client
        self._queue = queue
        # A receipt handle is the logical queue's: it outlives the place of one physical queue.
        self._whole = queue.partition("~")[0]
        self._handler = handler
        self._manners = manners
        self._rng = rng or Random()
        self.tally = Tally()
        self.is_ready = False
        self._draining = asyncio.Event()
        # Whether what has been begun is given back, too.
        self._gives_back = False
        self._jobs: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(manners.concurrency, "handler") if not handler.is_async else None

    @property
    def is_draining(self) -> bool:
        return self._draining.is_set()

    def drain(self) -> None:
        """Receive nothing more; finish what has been begun. Called again: give that back, too."""
        if self._draining.is_set():
            self._give_back(self._jobs)
        self._draining.set()

    def _give_back(self, jobs: "Iterable[asyncio.Task[None]]") -> None:
        self._gives_back = True
        for job in jobs:
            job.cancel()

    async def run(self) -> None:
        """Raises `QueueDoesNotExist`, and other faults that do not pass."""
        try:
            while not self.is_draining:
                free = self._manners.concurrency - len(self._jobs)
                if not free:
                    await self._either(*self._jobs)
                    continue
                for message in await self._receive(free):
                    job = asyncio.ensure_future(self._work(message))
                    self._jobs.add(job)
                    job.add_done_callback(self._jobs.discard)
        finally:
            await self._finish()

    async def _finish(self) -> None:
        if self._jobs:
            _, late = await asyncio.wait(self._jobs, timeout=self._manners.grace_s)
            self._give_back(late)
            await asyncio.gather(*late, return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _either(self, *tasks: "asyncio.Task[Any]") -> None:
        """Wait for one of them, or until it is time to end."""
        stop = asyncio.ensure_future(self._draining.wait())
        try:
            await asyncio.wait((*tasks, stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()

    async def _receive(self, most: int) -> list[Message]:
        call = asyncio.ensure_future(
            self._patiently(
                lambda: self._client.receive(
                    self._queue,
                    limit=min(most, MAX_RECEIVE),
                    # The first answer says that it is ready: it does not wait for a message.
                    wait_s=MAX_WAIT_S if self.is_ready else 0,
                    visibility_s=self._manners.visibility_s,
                )
            )
        )
        try:
            await self._either(call)
            return (call.result() if call.done() else None) or []
        finally:
            # A call that is cancelled takes no message along.
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await call

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        """The answer, however long the service is away; None if it is time to end and there is none."""
        is_told = False
        while True:
            try:
                answer = await ask()
            except (Unreachable, UnexpectedAnswer, Fault) as error:
                if isinstance(error, Fault) and error.status < 500 and error.sender:
                    raise
                if not is_told:
                    log.warning("the service does not answer (%s): waiting for it to come back", error)
                    is_told = True
                if self.is_draining:
                    return None
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._draining.wait(), AGAIN_S)
                continue
            if is_told:
                log.warning("the service is back")
            self.is_ready = True
            return answer

    # One message.

    async def _work(self, message: Message) -> None:
        begun_s = time.monotonic()
        hidden = _Hidden(begun_s + self._manners.visibility_s)
        beat = asyncio.ensure_future(self._renew(message, hidden))
        again_s: float | None = None
        try:
            await self._handle(message)
        except Later as later:
            again_s = later.seconds
        except asyncio.CancelledError as error:
            # It is to end, and there is no time for it; or something that the handler waits for was cancelled.
            if self._gives_back:
                again_s = 0.0
            else:
                again_s = self._failed(message, error)
                _go_on()
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            again_s = self._failed(message, error)
        finally:
            beat.cancel()
            self.tally.busy_s += time.monotonic() - begun_s
            self._tell_late(message, hidden)
        if again_s is None:
            self.tally.done += 1
            await self._settle(lambda: self._client.delete(self._whole, message.receipt_handle))
        else:
            self.tally.failed += 1
            seconds = min(max(math.ceil(again_s), 0), MAX_VISIBILITY_TIMEOUT_S)
            await self._settle(lambda: self._client.change_visibility(self._whole, message.receipt_handle, seconds))

    def _failed(self, message: Message, error: BaseException) -> float:
        """Say so; seconds after which it comes back."""
        again_s = self._backoff_s(message)
        log.warning(
            "%s failed on message %s (receive %s), which comes back in %.1f s: %s: %s",
            self._handler.name,
            message.message_id,
            message.attributes.get("ApproximateReceiveCount", "?"),
            again_s,
            type(error).__name__,
            error,
        )
        return again_s

    async def _handle(self, message: Message) -> None:
        payload = self._handler.payload(message)
        result: Any
        if self._threads is None:
            result = self._handler(payload)
        else:
            result = await asyncio.get_running_loop().run_in_executor(self._threads, self._handler, payload)
        if inspect.isawaitable(result):
            result = await result
        if inspect.isgenerator(result) or inspect.isasyncgen(result):
            raise TypeError(f"it returned {type(result).__name__.replace('_', ' ')}, of which nothing has run")

    def _tell_late(self, message: Message, hidden: _Hidden) -> None:
        """Nothing renews the time while an async function does not await."""
        late_s = time.monotonic() - hidden.until_s
        if late_s > 0 and self._manners.visibility_s:
            log.warning(
                "message %s was not kept hidden for the last %.1f s of its work, and others may have it as well%s",
                message.message_id,
                late_s,
                f": if {self._handler.name} blocks, make it a plain function, not an async one"
                if self._handler.is_async
                else "",
            )

    async def _renew(self, message: Message, hidden: _Hidden) -> None:
        """Keep the message hidden for as long as it is worked on."""
        visibility_s = self._manners.visibility_s
        while visibility_s:
            await asyncio.sleep(visibility_s / BEATS)
            try:
                asked_s = time.monotonic()
                await self._client.change_visibility(self._whole, message.receipt_handle, visibility_s)
                hidden.until_s = asked_s + visibility_s
            except (Unreachable, UnexpectedAnswer) as error:
                log.warning("message %s could not be kept hidden: %s", message.message_id, error)
            except Fault as error:
                # It was deleted, or the queue is gone.
                log.warning("message %s cannot be kept hidden: %s", message.message_id, error)
                return

    async def _settle(self, ask: Callable[[], Awaitable[None]]) -> None:
        """If the service is away, or says no, the message comes back."""
        try:
            await asyncio.shield(asyncio.ensure_future(self._patiently(ask)))
        except (ReceiptHandleIsInvalid, QueueDoesNotExist) as error:
            log.warning("a message could not be settled: %s", error)
        except Fault as error:
            log.warning("a message could not be settled, and may come again: %s", error)

    def _backoff_s(self, message: Message) -> float:
        """Twice as long with each receive, and never the same for two."""
        try:
            count = int(message.attributes.get("ApproximateReceiveCount", "1"))
        except ValueError:
            count = 1
        longest = min(self._manners.first_backoff_s * 2.0 ** min(count - 1, 30), self._manners.most_backoff_s)
        return longest * (0.5 + self._rng.random() / 2)


def _go_on() -> None:
    """A handler may have cancelled the task in which it runs."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
