"""One receive: visits to physical queues by a policy, dead letters, and waiting for a message."""

import math
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from rockdove.broker.ask import unavailable
from rockdove.broker.burial import bury, comes_back, max_receives
from rockdove.broker.context import Context
from rockdove.broker.count import count
from rockdove.broker.queue import Queue
from rockdove.broker.wait import WaitingRequest
from rockdove.core.clock import SECOND_US
from rockdove.core.dequeue import DequeuePolicy, Plan, Sleep
from rockdove.core.errors import Fault, OverLimit, QueueDoesNotExist, StoreError
from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Counts, Physical, Want

# How often a receive that waits looks whether less is in flight.
_CROWDED_US = SECOND_US
# A receive that does not wait answers with nothing after so many moves of dead letters: there may be millions.
_MOST_BURIALS = 10
# Seconds after which a receive that waits looks again for a store that has failed.
_AWAY_S = 0.1
# Seconds until dead letters are tried again whose queue is away, if nothing else hides them for so long.
_KEPT_S = 0.5
# Seconds that a receive which would not wait does, while a published batch is on its way into the queue.
LANDING_S = 5


class Delivery(Struct, gc=False):
    """A claimed entry, and where it came from."""

    physical: Physical
    entry: Entry
    claimed_us: int


# Ids and receive counts, by where they came from.
ClaimIds: TypeAlias = list[tuple[Physical, list[tuple[int, int]]]]
Reply: TypeAlias = Callable[[list[Delivery] | Fault], bool]


class Receive(WaitingRequest):
    """A receive in progress. `reply` gets what was found; False from it means that the client has gone."""

    # What most receives never change stands here, so that each begins with little work.
    _next_us: int | None = None
    # When the last try began: what became visible since then may have been missed.
    _tried_us = 0
    # What it does next, and by which policy; None where there is nothing to choose from.
    _plan: Plan | None = None
    _policy: DequeuePolicy | None = None
    # Whether it looks for what its attempt got before, and for nothing else.
    _repeats = False
    # Whether to spare what is there of noisy groups.
    _spares_noisy = False
    # So many are in flight that nothing was looked for.
    _crowded = False
    # Whether a published batch was on its way when it looked last, and whether it may wait no longer.
    _landing = False
    _late = False
    # Whether it has heard, for its own sake, of what other processes have changed.
    _has_caught_up = False
    # Why a physical queue could not be looked at, and which could not: they are left out, unless none is left.
    _failed: StoreError | None = None
    _away: frozenset[int] = frozenset()
    # Whether it visits the one physical queue that it was woken for.
    _is_direct = False
    # Whether visits are sure to find nothing.
    _misses = False
    # How often dead ones were moved away, and whether that has failed: then they are given out once more.
    _burials = 0
    _spares_dead = False
    # Dead letters were met whose queue is away.
    _keeps_dead = False

    def __init__(
        self,
        context: Context,
        queue: Queue,
        limit: int,
        timeout_us: int,
        wait_s: int,
        attempt: str | None,
        reply: Reply,
        room_bytes: int,
    ) -> None:
        super().__init__(context, queue, wait_s)
        self._limit = limit
        self._timeout_us = timeout_us
        self._attempt = attempt
        self._reply = reply
        self._max_in_flight = context.max_in_flight
        self._found: list[Delivery] = []
        # Bytes that what is still to be found may have; 0 is without a bound.
        self._room_bytes = room_bytes

    def start(self) -> None:
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
        self._next_us = self._plan = None
        self._landing = self._spares_noisy = self._is_direct = self._keeps_dead = self._repeats = False
        self._away = frozenset()
        self._tried_us = self._context.clock.now_us()
        self._begin_to_look()
        if queue.wakes and queue.is_plain:
            # Nothing to choose from.
            self._claim(queue.physical[0])
        elif queue.wakes and self._attempt is None and (fresh := queue.fresh_part()) is not None:
            # It was woken for what is there: a look at all of them would cost more.
            self._is_direct = True
            self._claim(fresh)
        elif queue.wakes:
            self._refresh()
        elif queue.dequeue.monitor_s is not None:
            self._context.monitor.look(queue, self._begin)
        else:
            self._begin()

    def _refresh(self) -> None:
        self._context.store.refresh(self._queue.visited, self._refreshed)

    def _refreshed(self, outcome: StoreError | None) -> None:
        """Where hints could not be made true, they are what is right in any case."""
        self._begin()

    def _begin(self) -> None:
        if self._over:
            # The client has gone meanwhile.
            self._pass_on()
            return
        self._plan, self._policy = self._make_plan(), self._queue.dequeue
        self._go_on(None)

    def _make_plan(self) -> Plan:
        """What the policy says, and before it what a policy does not know of."""
        queue = self._queue
        if self._attempt is not None:
            # What an attempt got before is invisible now: no view of what is visible tells where it is.
            if queue.size > 1:
                self._repeats = True
                for index in range(queue.size):
                    yield index
                self._repeats = False
                if self._found:
                    return
            for index in range(queue.size):
                yield index
            yield Sleep(math.inf, wakes=True)
            return
        if queue.wakes and queue.visited and queue.visited[0].hint().may_be_noisy:
            self._spares_noisy = True
            first = queue.next_index()
            for index in (*range(first, queue.size), *range(first)):
                if queue.may_have_visible(index):
                    yield index
            self._spares_noisy = False
        yield from queue.dequeue.visits(queue)

    def _go_on(self, found: int | None) -> None:
        """Do what the plan says next, unless there is enough. ``found`` is the outcome of the last visit, if any."""
        if self._is_direct and not self._found:
            self._is_direct = False
            self._refresh()
            return
        if self._plan is None:
            self._finish()
            return
        while len(self._found) < self._limit:
            try:
                step = self._plan.send(found)  # type: ignore[arg-type]
            except StopIteration:
                self._finish(holds=False)
                return
            if isinstance(step, Sleep):
                self._hold(step)
                return
            if step < len(self._queue.visited) and not self._misses:
                self._claim(self._queue.visited[step])
                return
            # There are fewer than there were, or there is nothing in them.
            found = 0
        self._finish()

    def _hold(self, sleep: Sleep) -> None:
        """Nothing was found so far."""
        if sleep.wakes or self._found or self._landing or not self._may_hold():
            self._finish()
        elif self._is_outdated():
            self._look()
        else:
            self._nap(sleep.seconds, self._slept)

    def _nap(self, seconds: float, then: Callable[[], None]) -> None:
        fault = self._sleep(seconds, then)
        if fault is not None:
            self._answer(fault)

    def _slept(self) -> None:
        queue = self._queue
        if queue.dequeue.monitor_s is not None and not self._is_outdated():
            self._context.monitor.look(queue, self._go_on_after_sleep)
        elif len(queue.sleepers) > queue.size and not self._late:
            # So many visits cost more than a look at all physical queues.
            self._context.naps.ask(queue, self._told)
        else:
            self._go_on_after_sleep()

    def _told(self, may_find: bool) -> None:
        self._misses = not may_find and not self._late
        self._go_on_after_sleep()
        self._misses = False

    def _go_on_after_sleep(self) -> None:
        """With the plan, unless the queue has another policy by now, or is gone."""
        if self._over:
            self._pass_on()
        elif self._is_outdated():
            self._look()
        else:
            self._go_on(0)

    def _is_outdated(self) -> bool:
        return self._plan is None or self._policy is not self._queue.dequeue or not self._queue.alive

    def _claim(self, physical: Physical) -> None:
        self._context.claims.claim(physical, self._want(self._spares_noisy), self)

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
            repeats=self._repeats,
        )

    def claimed(self, physical: Physical, claimed: Claimed | StoreError) -> None:
        if isinstance(claimed, StoreError):
            self._lost(physical, claimed)
            return
        if claimed.crowded and not self._found:
            self._count_in_flight()
            return
        if claimed.gone and not self._found and not self._has_caught_up:
            # Another process has purged or deleted the queue, of which this one has not heard yet.
            self._has_caught_up = True
            self._context.store.records.catch_up(lambda outcome: self._try())
            return
        if claimed.bytes and self._room_bytes:
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
            self._go_on(len(claimed.entries))

    def _lost(self, physical: Physical, error: StoreError) -> None:
        """A physical queue could not be looked at. The others may have messages, and are looked at first."""
        if (self._plan is not None or self._is_direct) and self._queue.size > 1:
            self._failed = error
            self._away |= {physical.record.number}
            self._go_on(0)
        elif self._found:
            self._finish()
        else:
            self._fail(error)

    def _fail(self, error: StoreError) -> None:
        if self._timer is not None and not self._queue.wakes and self._may_hold():
            # It waits, and would not have looked just now if it waited for a wake-up: the store may come back.
            self._nap(_AWAY_S, self._look)
        else:
            self._answer(unavailable(error))

    def _buried(self, fault: Fault | None) -> None:
        """What was dead is out of the way; what stood behind it may be visible now."""
        self._burials += 1
        is_away = fault is not None and comes_back(fault)
        self._spares_dead = fault is not None and not is_away
        self._keeps_dead = self._keeps_dead or is_away
        is_tired = self._burials >= _MOST_BURIALS and self._wait_s == 0
        if self._over or is_tired:
            self._finish()
        elif self._found or is_away:
            self._go_on(len(self._found))
        else:
            self._try()

    def _finish(self, holds: bool = True) -> None:
        """``holds``: wait for messages if there are none. If not, only for those that are about to land."""
        if self._found:
            self._deliver()
        elif self._failed is not None and len(self._away) >= max(self._queue.size, 1):
            self._fail(self._failed)
        elif self._keeps_dead and self._may_keep_on(holds):
            # They are visible again at once. To look at them again and again would be all that it does.
            self._nap(_KEPT_S, self._look)
        elif (holds or self._landing) and self._may_hold():
            fault = self._wait(self._expected_us())
            if fault is not None:
                # Who would not wait is not told that too many do.
                self._answer([] if self._for_landing else fault)
        else:
            # It may have been deleted while a claim was under way.
            self._answer([] if self._queue.alive else QueueDoesNotExist())

    def _may_hold(self) -> bool:
        return self._may_wait() and not self._over and self._queue.alive and self._is_permitted()

    def _may_wait(self) -> bool:
        if self._late:
            return False
        if self._landing and not self._wait_s:
            # To consumers, all that is published is there: the next of it comes in a moment.
            self._wait_s, self._for_landing = LANDING_S, True
        return self._wait_s > 0 and (self._landing or not self._for_landing)

    def _may_keep_on(self, holds: bool) -> bool:
        """A policy that goes by numbers would hold it: what cannot be had counts as nothing."""
        would_hold = holds or self._queue.dequeue.monitor_s is not None
        return would_hold and self._timeout_us < SECOND_US and self._may_hold()

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
            queue.events.deliver((each.entry for each in found), self._context.clock.now_us())
        self._end()
        self._pass_on()

    def _answer(self, outcome: list[Delivery] | Fault) -> None:
        if not self._over:
            self._end()
            self._reply(outcome)
            if not outcome:
                self._queue.events.empty += 1
        self._pass_on()

    def _end(self) -> None:
        super()._end()
        # Its frame holds this receive: such a circle would be left to the garbage collector.
        self._plan = None

    def _run_out(self) -> None:
        if self._rouse():
            # It has not looked for a while: once more, for the last time.
            self._late = True
            self._slept()
        else:
            self.give_up()

    def give_up(self) -> None:
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


def claims_of(deliveries: list[Delivery]) -> ClaimIds:
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
