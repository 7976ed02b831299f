"""One receive: visits to physical queues by a policy, dead letters, and waiting for a message."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from rockdove.broker.ask import unavailable
from rockdove.broker.burial import bury, max_receives
from rockdove.broker.context import Context
from rockdove.broker.count import count
from rockdove.broker.queue import Queue
from rockdove.broker.wait import WaitingRequest
from rockdove.core import limits
from rockdove.core.clock import SECOND_US
from rockdove.core.dequeue import DequeuePolicy, Wake
from rockdove.core.errors import Fault, OverLimit, QueueDoesNotExist, StoreError
from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Counts, Physical, Want

# How often a receive that waits looks whether less is in flight.
_CROWDED_US = SECOND_US
# A receive that does not wait answers with nothing after so many moves of dead letters: there may be millions.
_MOST_BURIALS = 10
# Seconds that a receive which would not wait does, while a published batch is on its way into the queue.
LANDING_S = 5


class Delivery(Struct, gc=False):
    """A claimed entry, and where it came from."""

    physical: Physical
    entry: Entry
    claimed_us: int


# Ids and receive counts, by where they came from.
Claims: TypeAlias = list[tuple[Physical, list[tuple[int, int]]]]
Reply: TypeAlias = Callable[[list[Delivery] | Fault], bool]


class Receive(WaitingRequest):
    """A receive in progress. `reply` gets what was found; False from it means that the client has gone."""

    # What most receives never change stands here, so that each begins with little work.
    _next_us: int | None = None
    # When the last try began: what became visible since then may have been missed.
    _tried_us = 0
    _visits: Iterator[tuple[int, bool]] = iter(())
    # So many are in flight that nothing was looked for.
    _crowded = False
    # Bytes that what is still to be found may have; 0 is without a bound.
    _room_bytes = 0
    # Whether a published batch was on its way when it looked last, and whether it may wait no longer.
    _landing = False
    _late = False
    # How often dead ones were moved away, and whether that has failed: then they are given out once more.
    _burials = 0
    _spares_dead = False

    def __init__(
        self,
        context: Context,
        queue: Queue,
        limit: int,
        timeout_us: int,
        wait_s: int,
        attempt: str | None,
        reply: Reply,
        policy: DequeuePolicy = Wake(),  # noqa: B008
    ) -> None:
        super().__init__(context, queue, wait_s)
        self._limit = limit
        self._timeout_us = timeout_us
        self._attempt = attempt
        self._reply = reply
        self._policy = policy
        self._max_in_flight = context.max_in_flight
        self._found: list[Delivery] = []
        if limit > limits.MAX_RECEIVE:
            self._room_bytes = limits.MAX_ANSWER_BYTES

    def start(self) -> None:
        self._queue.take_turn()
        self._try()

    def _look(self) -> None:
        self._crowded = False
        self._max_in_flight = self._context.max_in_flight
        self._try()

    def _count_in_flight(self) -> None:
        """The cheap bound is reached: ask for the exact number before refusing."""

        def counted(counts: Counts | Fault) -> None:
            if not isinstance(counts, Counts) or counts.in_flight < self._context.max_in_flight:
                self._max_in_flight = 0
                self._try()
            elif self._queue.fifo:
                # SQS documents that FIFO queues give no error here.
                self._crowded = True
                self._finish()
            else:
                self._answer(OverLimit("Too many messages in flight."))

        count(self._queue, counted)

    def _try(self) -> None:
        queue = self._queue
        if not queue.alive:
            self._answer(QueueDoesNotExist())
            return
        self._next_us = None
        self._landing = False
        self._tried_us = self._context.clock.now_us()
        self._begin_to_look()
        if len(queue.physical) == 1:
            # Nothing to choose from.
            physical = queue.physical[0]
            physical.claim(self._want(False), partial(self._visited, physical))
        else:
            self._context.store.refresh(queue.physical, self._refreshed)

    def _refreshed(self, outcome: StoreError | None) -> None:
        """Where hints could not be made true, they are what is right in any case."""
        self._visits = self._plan()
        self._visit()

    def _plan(self) -> Iterator[tuple[int, bool]]:
        """Which physical queues to visit, and whether to spare what is there of noisy groups."""
        queue = self._queue
        if self._attempt is not None:
            # What an attempt got before is invisible now: no view of what is visible tells where it is.
            yield from ((index, False) for index in range(queue.size))
            return
        if queue.size > 1 and queue.physical[0].hint().may_be_noisy:
            yield from ((index, True) for index in self._policy.visits(queue))
        yield from ((index, False) for index in self._policy.visits(queue))

    def _visit(self) -> None:
        """Visit the next physical queue, unless there is enough."""
        if len(self._found) < self._limit:
            for index, spare in self._visits:
                if index < len(self._queue.physical):
                    physical = self._queue.physical[index]
                    physical.claim(self._want(spare), partial(self._visited, physical))
                    return
        self._finish()

    def _want(self, spare_noisy: bool) -> Want:
        context, queue = self._context, self._queue
        settings = queue.settings
        return Want(
            limit=self._limit - len(self._found),
            timeout_us=self._timeout_us,
            order_hint=settings.order_hint,
            max_receives=0 if settings.redrive is None or self._spares_dead else max_receives(context, queue),
            sent_after_us=context.clock.now_us() - settings.retention_us,
            attempt=self._attempt,
            delay_us=settings.delay_us,
            spare_noisy=spare_noisy,
            room_bytes=self._room_bytes,
            max_in_flight=self._max_in_flight,
        )

    def _visited(self, physical: Physical, claimed: Claimed | StoreError) -> None:
        if isinstance(claimed, StoreError):
            if self._found:
                self._finish()
            else:
                self._answer(unavailable(claimed))
            return
        if claimed.crowded and not self._found:
            self._count_in_flight()
            return
        if claimed.bytes:
            self._room_bytes -= claimed.bytes
            if self._room_bytes <= 0:
                # The answer is full.
                self._limit = 0
        for entry in claimed.entries:
            self._found.append(Delivery(physical, entry, claimed.claimed_us))
        if claimed.next_us is not None:
            self._next_us = min(claimed.next_us, self._next_us or claimed.next_us)
        self._landing = self._landing or claimed.landing
        if claimed.expired:
            self._queue.events.expired += len(claimed.expired)
            if self._context.watch is not None:
                self._context.watch.expired(self._queue, physical, claimed.expired)
        if claimed.dead:
            bury(self._context, self._queue, physical, claimed.dead, self._buried)
        else:
            self._visit()

    def _buried(self, fault: Fault | None) -> None:
        """What was dead is out of the way; what stood behind it may be visible now."""
        self._burials += 1
        self._spares_dead = fault is not None
        is_tired = self._burials >= _MOST_BURIALS and self._wait_s == 0
        if self._over or is_tired:
            self._finish()
        elif self._found:
            self._visit()
        else:
            self._try()

    def _finish(self) -> None:
        if self._found:
            self._deliver()
        elif self._policy.holds and self._may_wait() and not self._over and self._queue.alive and self._is_permitted():
            fault = self._wait(self._expected_us())
            if fault is not None:
                # Who would not wait is not told that too many do.
                self._answer([] if self._for_landing else fault)
        else:
            self._answer([])

    def _may_wait(self) -> bool:
        if self._late:
            return False
        if self._landing and not self._wait_s:
            # To consumers, all that is published is there: the next of it comes in a moment.
            self._wait_s, self._for_landing = LANDING_S, True
        return self._wait_s > 0 and (self._landing or not self._for_landing)

    def _expected_us(self) -> int | None:
        """When a message becomes visible, as far as is known."""
        if self._crowded:
            # What is visible is none of its business until something has left.
            return self._context.clock.now_us() + _CROWDED_US
        known = [t for t in (self._next_us, self._queue.next_visible_us(self._tried_us)) if t is not None]
        return min(known, default=None)

    def _deliver(self) -> None:
        found, self._found = self._found, []
        queue = self._queue
        if self._over or not self._reply(found):
            give_back(found)
        else:
            queue.events.received += len(found)
        self._end()
        self._pass_on()

    def _answer(self, outcome: list[Delivery] | Fault) -> None:
        if not self._over:
            self._end()
            self._reply(outcome)
            if not outcome:
                self._queue.events.empty += 1
        self._pass_on()

    def give_up(self) -> None:
        self._run_out()

    def _run_out(self) -> None:
        if self._leave():
            self._answer([])
        else:
            # A claim is under way: its outcome decides.
            self._wait_s, self._late = 0, True


def by_physical(deliveries: list[Delivery]) -> list[tuple[Physical, list[Entry]]]:
    """Entries by where they came from."""
    if len(deliveries) == 1:
        return [(deliveries[0].physical, [deliveries[0].entry])]
    parts: dict[int, tuple[Physical, list[Entry]]] = {}
    for delivery in deliveries:
        part = parts.setdefault(delivery.physical.record.number, (delivery.physical, []))
        part[1].append(delivery.entry)
    return list(parts.values())


def claims_of(deliveries: list[Delivery]) -> Claims:
    """Which claims they are, without the messages."""
    return [
        (physical, [(entry.id, entry.receive_count) for entry in entries])
        for physical, entries in by_physical(deliveries)
    ]


def give_back(deliveries: list[Delivery]) -> None:
    """Nobody got these: make them visible again, as if they had not been received."""
    for physical, entries in by_physical(deliveries):
        # If the store fails, they come back by themselves when their visibility timeout is over.
        physical.release(entries, lambda outcome: None)
