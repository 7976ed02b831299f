"""Brings messages into a queue: each into its physical queue, also if these change meanwhile."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from rockdove.broker.ask import PhysicalQueueUnavailable, ask, unavailable
from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue
from rockdove.broker.route import Parts, route
from rockdove.core.errors import Fault, QueueDoesNotExist, ServiceUnavailable, StoreError
from rockdove.store.base import Appended, Done, Draft, Physical, Records

T = TypeVar("T")

# So often what a physical queue did not take is tried elsewhere: it was purged, or has begun to leave, or a group has
# left it. Each of them happens once.
MOST_TRIES = 5

# Brings the drafts at these places into a physical queue.
Append: TypeAlias = Callable[[Physical, list[int], Done[list[Appended]]], None]
# They are there.
Landed: TypeAlias = Callable[[list[int], list[Appended]], None]


class Placing:
    """``done`` is told when all are there, or what went wrong. Until then ``landed`` is told of some."""

    def __init__(
        self,
        records: Records,
        queue: Queue,
        drafts: Sequence[Draft],
        append: Append,
        landed: Landed,
        done: Callable[[Fault | None], None],
    ) -> None:
        self._records = records
        self._queue = queue
        self._drafts = drafts
        self._append = append
        self._landed = landed
        self._done = done
        self._tries = 0

    def start(self) -> None:
        self._place(list(range(len(self._drafts))))

    def start_again(self) -> None:
        """Nothing of it was taken where it was tried."""
        self._try_again(list(range(len(self._drafts))))

    def _place(self, places: list[int]) -> None:
        if not self._queue.alive:
            self._done(QueueDoesNotExist())
            return
        self._tries += 1
        route(self._queue, [self._drafts[at] for at in places], partial(self._routed, places))

    def _routed(self, places: list[int], parts: Parts | Fault) -> None:
        if isinstance(parts, QueueDoesNotExist) and self._queue.alive and self._tries < MOST_TRIES:
            # A physical queue knows a later record than this process.
            self._try_again(places)
            return
        if isinstance(parts, Fault):
            self._done(parts)
            return
        refused: list[int] = []
        away: list[int] = []
        faults: list[Fault] = []

        def failed(physical: Physical, chosen: list[int], fault: Fault) -> None:
            if isinstance(fault, QueueDoesNotExist):
                refused.extend(chosen)
            elif isinstance(fault, PhysicalQueueUnavailable) and self._queue.goes_round(physical):
                # One that cannot be reached costs no try: there may be many of them.
                away.extend(chosen)
            else:
                faults.append(fault)

        def over(fault: Fault | None) -> None:
            if faults or not (refused or away):
                self._done(faults[0] if faults else None)
            elif not refused:
                self._tries -= 1
                self._place(sorted(away))
            elif self._tries >= MOST_TRIES:
                self._done(ServiceUnavailable())
            else:
                self._try_again(sorted(refused + away))

        gatherer = Gatherer(over)
        for physical, part in parts:
            chosen = [places[at] for at in part]
            told = gatherer.part(partial(self._landed, chosen), partial(failed, physical, chosen))
            self._append(physical, chosen, told)
        gatherer.close()

    def _try_again(self, places: list[int]) -> None:
        """Hear of all that other processes have changed, first."""

        def caught_up(outcome: StoreError | None) -> None:
            if isinstance(outcome, StoreError):
                self._done(unavailable(outcome))
            else:
                self._place(places)

        self._records.catch_up(caught_up)


async def place_all(
    records: Records, queue: Queue, drafts: Sequence[Draft], append: Callable[[Parts], Awaitable[T]]
) -> T:
    """The same for who brings all of them in one step, or none."""
    tries = 0
    while tries < MOST_TRIES:
        parts: Parts = []
        try:
            parts = await ask(partial(route, queue, drafts))
            return await append(parts)
        except QueueDoesNotExist:
            tries += 1
            await ask(records.catch_up)
            if not queue.alive:
                raise
        except PhysicalQueueUnavailable as fault:
            # Those that cannot be reached cost no try: there may be many of them.
            away = [physical for physical, _ in parts if physical.record.number in fault.numbers]
            may_go_on = [queue.goes_round(physical) for physical in away]
            if not may_go_on or not may_go_on[-1]:
                raise
    raise ServiceUnavailable()
