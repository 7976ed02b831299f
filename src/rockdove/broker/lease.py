"""Leases of a logical queue: asked for, perhaps with a wait for messages, acknowledged, released, listed."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from rockdove.broker.ask import ask, unavailable
from rockdove.broker.queue import Queue
from rockdove.broker.receive import Delivery
from rockdove.core import ids, limits
from rockdove.core.errors import (
    Fault,
    LeaseEnded,
    QueueDoesNotExist,
    ServiceUnavailable,
    StoreError,
    Throttling,
)
from rockdove.core.lease import Holder, Lease, LeaseName
from rockdove.core.message import Entry
from rockdove.store.base import Physical, Want
from rockdove.store.leasing import Ended, Leased, Outcome

if TYPE_CHECKING:
    from rockdove.broker.broker import Broker


class Given(Struct):
    """A lease as it is answered; ``new`` if it was made for this request; ``deleted`` of its messages are gone."""

    deliveries: list[Delivery]
    made_us: int
    new: bool
    deleted: int


Reply: TypeAlias = Callable[[Given | Fault], None]


class LeaseRequest:
    """One request for a lease in progress. What it has made stays made, also if nobody waits for it any more."""

    def __init__(self, broker: "Broker", queue: Queue, name: LeaseName, limit: int, wait_s: int, reply: Reply) -> None:
        self._broker = broker
        self._queue = queue
        self._name = name
        self._limit = limit
        self._wait_s = wait_s
        self._reply = reply
        self._timer: asyncio.TimerHandle | None = None
        self._done = False
        self._woken = False
        self._sent_away = False
        self._burying = 0
        # When the next message becomes visible, as the last look has found.
        self._next_us: int | None = None

    def start(self) -> None:
        """However much is in flight: a reader whose step is half leased could neither go on nor back."""
        self._try()

    def cancel(self) -> None:
        """The client has gone."""
        self._queue.waiters.pop(self, None)
        self._end()

    def wake(self) -> None:
        self._woken = True
        self._try()

    def give_up(self) -> None:
        """The service stops, or the permission may be gone: nothing is leased any more, let the client ask again."""
        self._sent_away = True
        if self in self._queue.waiters:
            del self._queue.waiters[self]
            self._wait()

    def _run_out(self) -> None:
        """The waiting time is over: with nothing there, the lease is made without messages."""
        self._wait_s = 0
        if self in self._queue.waiters:
            del self._queue.waiters[self]
            self._try()

    def _try(self) -> None:
        self._broker.lease_turns.take(self._look)

    def _look(self) -> None:
        if not self._queue.alive:
            self._broker.lease_turns.give()
            self._answer(QueueDoesNotExist())
            return
        parts = self._parts()
        # A client that has gone waits for nothing.
        even_empty = self._wait_s == 0 and not self._done
        self._broker.store.leases.lease(self._name, parts, self._want(), even_empty, self._looked)

    def _looked(self, leased: Leased | StoreError) -> None:
        try:
            self._tried(leased)
        finally:
            self._broker.lease_turns.give()

    def _parts(self) -> list[Physical]:
        """Each shard begins with another physical queue: then those that run in parallel seldom meet."""
        physical = self._queue.physical
        first = self._name.shard % len(physical)
        return physical[first:] + physical[:first]

    def _want(self) -> Want:
        queue, settings = self._queue, self._queue.settings
        target = self._broker.dead_letter_target(queue)
        return Want(
            limit=self._limit,
            timeout_us=settings.visibility_timeout_us,
            max_receives=settings.redrive.max_receives if target is not None and settings.redrive else 0,
            sent_after_us=self._broker.clock.now_us() - settings.retention_us,
            delay_us=settings.delay_us,
            room_bytes=limits.MAX_ANSWER_BYTES,
        )

    def _tried(self, leased: Leased | StoreError) -> None:
        if isinstance(leased, StoreError):
            self._answer(unavailable(leased))
            return
        for physical, claimed in leased.claims:
            if claimed.expired:
                self._queue.expired += len(claimed.expired)
                if self._broker.watch is not None:
                    self._broker.watch.expired(self._queue, physical, claimed.expired)
        self._next_us = min(
            (claimed.next_us for _, claimed in leased.claims if claimed.next_us is not None), default=None
        )
        graves = [(physical, claimed.dead) for physical, claimed in leased.claims if claimed.dead]
        self._burying = len(graves)
        for physical, dead in graves:
            self._broker.bury(self._queue, physical, dead, partial(self._buried, leased))
        if not graves:
            self._go_on(leased, self._wait)

    def _buried(self, leased: Leased) -> None:
        """What stood behind the dead may be visible now."""
        self._burying -= 1
        if not self._burying:
            self._go_on(leased, self._try)

    def _go_on(self, leased: Leased, without: Callable[[], None]) -> None:
        match leased.outcome:
            case Outcome.ENDED:
                self._answer(_ended(self._name))
            case Outcome.NOTHING:
                without()
            case Outcome.MADE | Outcome.AGAIN:
                self._give(leased)

    def _give(self, leased: Leased) -> None:
        queue = self._queue
        new = leased.outcome is Outcome.MADE
        if new:
            queue.received += len(leased.entries)
            queue.empty += not leased.entries
        found = [self._delivery(entry, leased.made_us) for entry in leased.entries]
        given = [each for each in found if each is not None]
        self._answer(Given(given, leased.made_us, new, leased.number - len(given)))

    def _delivery(self, entry: Entry, made_us: int) -> Delivery | None:
        physical = self._queue.by_number(ids.physical_of(entry.id))
        return None if physical is None else Delivery(physical, entry, made_us)

    def _answer(self, outcome: Given | Fault) -> None:
        if not self._done:
            self._end()
            self._reply(outcome)
        self._pass_on()

    def _pass_on(self) -> None:
        """Who was woken and does not wait again lets the next in line look: one wake-up may stand for many messages."""
        if self._woken:
            self._woken = False
            self._queue.wake(1)

    def _end(self) -> None:
        self._done = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._broker.waiting -= 1

    def _wait(self) -> None:
        if self._done:
            self._pass_on()
            return
        if self._sent_away:
            self._answer(ServiceUnavailable("The wait for messages was broken off. Please ask again."))
            return
        if self._wait_s == 0:
            # Its time was over while it was looking.
            self._try()
            return
        if self._timer is None:
            if self._broker.waiting >= self._broker.max_waiting:
                self._answer(Throttling("Too many receives wait for messages. Please try again, or do not wait."))
                return
            self._broker.waiting += 1
            self._timer = asyncio.get_running_loop().call_later(self._wait_s, self._run_out)
        queue = self._queue
        queue.waiters[self] = None
        if self._woken:
            self._woken = False
            queue.waiters.move_to_end(self, last=False)
        if self._next_us is not None:
            queue.expect(self._next_us)


class Leasing:
    """What consumers do with the leases of a queue, and what is told of them."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._leases = broker.store.leases

    def lease(
        self, queue: Queue, consumer: str, shard: int, sequence: int, limit: int, wait_s: int, reply: Reply
    ) -> LeaseRequest:
        """Begin; the returned object is for cancelling it when the client goes away."""
        name = LeaseName(queue.record.uid, consumer, shard, sequence)
        request = LeaseRequest(self._broker, queue, name, limit, wait_s, reply)
        request.start()
        return request

    async def ack(self, queue: Queue, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool) -> Ended:
        """Delete what was leased, of a shard or of all, through a sequence or all."""
        ended: Ended = await ask(partial(self._leases.ack, queue.record.uid, consumer, shard, sequence, tell_ids))
        queue.deleted += ended.messages
        if queue.fifo:
            # Groups may be free now.
            queue.wake(ended.messages)
        return ended

    async def release(self, queue: Queue, consumer: str, forget: bool) -> Ended:
        """Give back all that a consumer has leased."""
        ended: Ended = await ask(partial(self._leases.release, queue.record.uid, consumer, forget))
        queue.wake(ended.messages)
        return ended

    async def page(
        self, queue: Queue, consumer: str | None, after: tuple[str, int, int] | None, limit: int
    ) -> list[Lease]:
        return await ask(partial(self._leases.page, queue.record.uid, consumer, after, limit))

    async def holders(self, queue: Queue, consumer: str | None) -> list[Holder]:
        return await ask(partial(self._leases.holders, queue.record.uid, consumer, limits.MAX_LISTED_LEASES))


def _ended(name: LeaseName) -> LeaseEnded:
    return LeaseEnded(
        f"Sequence {name.sequence} of shard {name.shard} of consumer {name.consumer} was acknowledged or released: its "
        "messages are deleted, or others have them by now. Go on with a later sequence, or under another name."
    )
