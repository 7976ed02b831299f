"""Leases of a logical queue: asked for, perhaps with a wait for messages, acknowledged, released, listed."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from rockdove.broker.ask import ask, need, unavailable
from rockdove.broker.burial import bury, comes_back, max_receives
from rockdove.broker.context import Context
from rockdove.broker.queue import Queue
from rockdove.broker.receive import LANDING_S, Delivery
from rockdove.broker.wait import WaitingRequest
from rockdove.core import ids, limits
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import Fault, LeaseEnded, QueueDoesNotExist, ServiceUnavailable, StoreError
from rockdove.core.lease import Holder, Lease, LeaseName
from rockdove.core.message import Entry
from rockdove.store.base import Ended, Leased, Leases, Outcome, Physical, Want


class Given(Struct):
    """A lease as it is answered; ``new`` if it was made for this request; ``deleted`` of its messages are gone."""

    deliveries: list[Delivery]
    made_us: int
    new: bool
    deleted: int


Reply: TypeAlias = Callable[[Given | Fault], None]


class LeaseRequest(WaitingRequest):
    """One request for a lease in progress. What it has made stays made, also if nobody waits for it any more."""

    _sent_away = False
    _burying = 0
    # To move the dead away has failed: they are leased once more.
    _spares_dead = False
    # A lease that would not wait is made without messages only when it is known that none is about to come.
    _even_empty = False
    # When the next message becomes visible, as the last look has found.
    _next_us: int | None = None

    def __init__(
        self, context: Context, leases: Leases, queue: Queue, name: LeaseName, limit: int, wait_s: int, reply: Reply
    ) -> None:
        super().__init__(context, queue, wait_s)
        self._leases = leases
        self._name = name
        self._limit = limit
        self._reply = reply

    def start(self) -> None:
        """However much is in flight: a reader whose step is half leased could neither go on nor back."""
        self._look()

    def give_up(self) -> None:
        """The service stops, or the permission may be gone: nothing is leased any more, let the client ask again."""
        self._sent_away = True
        if self._leave():
            self._wait_on()

    def _run_out(self) -> None:
        """The waiting time is over: with nothing there, the lease is made without messages."""
        self._wait_s = 0
        self._even_empty = True
        if self._leave():
            self._look()

    def _look(self) -> None:
        self._context.lease_turns.take(self._ask, self._queue.key)

    def _ask(self) -> None:
        if self._over:
            # The client has gone before its turn came.
            self._context.lease_turns.give()
            self._pass_on()
            return
        if not self._queue.alive:
            self._context.lease_turns.give()
            self._answer(QueueDoesNotExist())
            return
        self._begin_to_look()
        parts = self._parts()
        self._leases.lease(self._name, parts, self._want(), self._even_empty, self._told)

    def _told(self, leased: Leased | StoreError) -> None:
        try:
            self._tried(leased)
        finally:
            self._context.lease_turns.give()

    def _parts(self) -> list[Physical]:
        """Each shard begins with another physical queue: then those that run in parallel seldom meet."""
        physical = self._queue.visited or self._queue.physical
        first = self._name.shard % len(physical)
        return physical[first:] + physical[:first]

    def _want(self) -> Want:
        context, settings = self._context, self._queue.settings
        return Want(
            limit=self._limit,
            # Only the dead are hidden for so long. If they cannot be moved, they must not be met again at once.
            timeout_us=max(settings.visibility_timeout_us, SECOND_US),
            max_receives=0 if self._spares_dead else max_receives(context, self._queue),
            sent_after_us=context.clock.now_us() - settings.retention_us,
            delay_us=settings.delay_us,
            room_bytes=limits.MAX_ANSWER_BYTES,
        )

    def _tried(self, leased: Leased | StoreError) -> None:
        if isinstance(leased, StoreError):
            self._answer(unavailable(leased))
            return
        found = [(self._queue.by_number(number), claimed) for number, claimed in leased.claims]
        # What was dropped meanwhile, nobody has to see to.
        claims = [(physical, claimed) for physical, claimed in found if physical is not None]
        for physical, claimed in claims:
            if claimed.expired:
                self._queue.events.expired += len(claimed.expired)
                if self._context.watch is not None:
                    self._context.watch.expired(self._queue, physical, claimed.expired)
        self._next_us = min((claimed.next_us for _, claimed in claims if claimed.next_us is not None), default=None)
        graves = [(physical, claimed.dead) for physical, claimed in claims if claimed.dead]
        self._burying = len(graves)
        for physical, dead in graves:
            bury(self._context, self._queue, physical, dead, partial(self._buried, leased))
        if not graves:
            self._go_on(leased, self._wait_on)

    def _buried(self, leased: Leased, fault: Fault | None) -> None:
        """What stood behind the dead may be visible now."""
        self._burying -= 1
        is_away = fault is not None and comes_back(fault)
        self._spares_dead = self._spares_dead or (fault is not None and not is_away)
        if not self._burying:
            self._go_on(leased, self._wait_on if is_away else self._look)

    def _go_on(self, leased: Leased, without: Callable[[], None]) -> None:
        match leased.outcome:
            case Outcome.ENDED:
                self._answer(_ended(self._name))
            case Outcome.NOTHING:
                if self._for_landing and not leased.landing:
                    self._wait_s = 0
                if not self._wait_s:
                    if leased.landing and not self._even_empty:
                        # To consumers, all that is published is there: the next of it comes in a moment.
                        self._wait_s, self._for_landing = LANDING_S, True
                    else:
                        self._even_empty = True
                without()
            case Outcome.MADE | Outcome.AGAIN:
                self._give(leased)

    def _give(self, leased: Leased) -> None:
        queue = self._queue
        new = leased.outcome is Outcome.MADE
        if new:
            queue.events.deliver(leased.entries, leased.made_us)
            queue.events.empty += not leased.entries
        found = [self._delivery(entry, leased.made_us) for entry in leased.entries]
        given = [each for each in found if each is not None]
        self._answer(Given(given, leased.made_us, new, leased.number - len(given)))

    def _delivery(self, entry: Entry, made_us: int) -> Delivery | None:
        physical = self._queue.by_number(ids.physical_of(entry.id))
        return None if physical is None else Delivery(physical, entry, made_us)

    def _answer(self, outcome: Given | Fault) -> None:
        if not self._over:
            self._end()
            self._reply(outcome)
        self._pass_on()

    def _wait_on(self) -> None:
        if self._over:
            self._pass_on()
        elif self._sent_away or not self._is_permitted():
            self._answer(ServiceUnavailable("The wait for messages was broken off. Please ask again."))
        elif self._wait_s == 0:
            # Its time was over while it was looking.
            self._look()
        else:
            fault = self._wait(self._next_us)
            if fault is not None and self._for_landing:
                # Who would not wait is not told that too many do.
                self._run_out()
                self._look()
            elif fault is not None:
                self._answer(fault)


class Leasing:
    """What consumers do with the leases of a queue, and what is told of them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def _leases(self) -> Leases:
        store = self._context.store
        return need(store.leases, "leases", store.name)

    def lease(
        self, queue: Queue, consumer: str, shard: int, sequence: int, limit: int, wait_s: int, reply: Reply
    ) -> LeaseRequest:
        """Begin; the returned object is for cancelling it when the client goes away."""
        name = LeaseName(queue.record.uid, consumer, shard, sequence)
        request = LeaseRequest(self._context, self._leases, queue, name, limit, wait_s, reply)
        request.start()
        return request

    async def ack(self, queue: Queue, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool) -> Ended:
        """Delete what was leased, of a shard or of all, through a sequence or all."""
        ended: Ended = await ask(partial(self._leases.ack, queue.record.uid, consumer, shard, sequence, tell_ids))
        queue.events.deleted += ended.messages
        return ended

    async def release(self, queue: Queue, consumer: str, forget: bool) -> Ended:
        """Give back all that a consumer has leased."""
        return await ask(partial(self._leases.release, queue.record.uid, consumer, forget))

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
