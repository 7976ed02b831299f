"""One receive: visits to physical queues by a policy, dead letters, and waiting for a message."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.clock import SECOND_US
from rockdove.core.dequeue import Policy, Wake
from rockdove.core.errors import Fault, OverLimit, QueueDoesNotExist, ServiceUnavailable, StoreError, Throttling
from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Counts, Physical, Want

if TYPE_CHECKING:
    from rockdove.broker.broker import Broker


# How often a receive that waits looks whether less is in flight.
_CROWDED_US = SECOND_US


class Delivery(Struct, gc=False):
    """A claimed entry, and where it came from."""

    physical: Physical
    entry: Entry
    claimed_us: int


Reply: TypeAlias = Callable[[list[Delivery] | Fault], bool]


class Receive:
    """A receive in progress. `reply` gets what was found; False from it means that the client has gone."""

    # What most receives never change stands here, so that each begins with little work.
    _next_us: int | None = None
    _timer: asyncio.TimerHandle | None = None
    _done = False
    _woken = False
    # When the last try began: what became visible since then may have been missed.
    _tried_us = 0
    _visits: Iterator[tuple[int, bool]] = iter(())
    # So many are in flight that nothing was looked for.
    _crowded = False
    # Bytes that what is still to be found may have; 0 is without a bound.
    _room_bytes = 0

    def __init__(
        self,
        broker: "Broker",
        queue: Queue,
        limit: int,
        timeout_us: int,
        wait_s: int,
        attempt: str | None,
        reply: Reply,
        policy: Policy = Wake(),  # noqa: B008
    ) -> None:
        self._broker = broker
        self._queue = queue
        self._limit = limit
        self._timeout_us = timeout_us
        self._wait_s = wait_s
        self._attempt = attempt
        self._reply = reply
        self._policy = policy
        self._found: list[Delivery] = []
        if limit > limits.MAX_RECEIVE:
            self._room_bytes = limits.MAX_ANSWER_BYTES

    def start(self) -> None:
        self._queue.take_turn()
        self._begin()

    def _begin(self) -> None:
        if self._queue.in_flight_at_most() >= self._broker.max_in_flight:
            self._count_in_flight()
        else:
            self._try()

    def cancel(self) -> None:
        """The client has gone. What is claimed for it already goes back when the claim has landed."""
        self._queue.waiters.pop(self, None)
        self._end()

    def _end(self) -> None:
        self._done = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._broker.waiting -= 1

    def _count_in_flight(self) -> None:
        """The cheap bound is reached: ask for the exact number before refusing."""

        def counted(counts: Counts | Fault) -> None:
            if not isinstance(counts, Counts) or counts.in_flight < self._broker.max_in_flight:
                self._try()
            elif self._queue.fifo:
                # SQS documents that FIFO queues give no error here.
                self._crowded = True
                self._finish()
            else:
                self._answer(OverLimit("Too many messages in flight."))

        self._broker.count(self._queue, counted)

    def wake(self) -> None:
        self._woken = True
        self._crowded = False
        self._begin()

    def _try(self) -> None:
        if not self._queue.alive:
            self._answer(QueueDoesNotExist())
            return
        self._next_us = None
        self._tried_us = self._broker.clock.now_us()
        if len(self._queue.physical) == 1:
            # Nothing to choose from.
            physical = self._queue.physical[0]
            physical.claim(self._want(False), partial(self._visited, physical))
        else:
            self._visits = self._plan()
            self._visit()

    def _plan(self) -> Iterator[tuple[int, bool]]:
        """Which physical queues to visit, and whether to spare what is there of noisy groups."""
        queue = self._queue
        if self._attempt is not None:
            # What an attempt got before is invisible now: no view of what is visible tells where it is.
            yield from ((index, False) for index in range(queue.size))
            return
        if queue.size > 1 and queue.physical[0].has_noisy():
            yield from ((index, True) for index in self._policy.visits(queue))
        yield from ((index, False) for index in self._policy.visits(queue))

    def _visit(self) -> None:
        """Visit the next physical queue, unless there is enough."""
        if len(self._found) < self._limit:
            for index, spare in self._visits:
                physical = self._queue.physical[index]
                physical.claim(self._want(spare), partial(self._visited, physical))
                return
        self._finish()

    def _want(self, spare: bool) -> Want:
        queue, settings = self._queue, self._queue.settings
        target = self._broker.dead_letter_target(queue)
        return Want(
            limit=self._limit - len(self._found),
            timeout_us=self._timeout_us,
            spread=settings.spread,
            max_receives=settings.redrive.max_receives if target is not None and settings.redrive else 0,
            sent_after_us=self._broker.clock.now_us() - settings.retention_us,
            attempt=self._attempt,
            delay_us=settings.delay_us,
            spare=spare,
            room_bytes=self._room_bytes,
        )

    def _visited(self, physical: Physical, claimed: Claimed | StoreError) -> None:
        if isinstance(claimed, StoreError):
            if self._found:
                self._finish()
            else:
                self._answer(ServiceUnavailable())
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
        if claimed.expired:
            self._queue.expired += len(claimed.expired)
            if self._broker.watch is not None:
                self._broker.watch.expired(self._queue, physical, claimed.expired)
        if claimed.dead:
            self._broker.bury(self._queue, physical, claimed.dead, self._buried)
        else:
            self._visit()

    def _buried(self) -> None:
        """What was dead is out of the way; what stood behind it may be visible now."""
        if self._found:
            self._visit()
        else:
            self._try()

    def _finish(self) -> None:
        if self._found:
            self._deliver()
        elif self._wait_s > 0 and not self._done and self._queue.alive:
            self._wait()
        else:
            self._answer([])

    def _deliver(self) -> None:
        found, self._found = self._found, []
        queue = self._queue
        if queue.waiters:
            queue.expect(min(delivery.entry.visible_us for delivery in found))
        if self._done or not self._reply(found):
            self._broker.give_back(queue, found)
        else:
            queue.received += len(found)
        self._end()
        self._pass_on()

    def _answer(self, outcome: list[Delivery] | Fault) -> None:
        if not self._done:
            self._end()
            self._reply(outcome)
            if not outcome:
                self._queue.empty += 1
        self._pass_on()

    def _pass_on(self) -> None:
        """Who was woken and does not wait again lets the next in line look: one wake-up may stand for many messages."""
        if self._woken:
            self._woken = False
            self._queue.wake(1)

    def _wait(self) -> None:
        queue = self._queue
        if self._timer is None:
            if self._broker.waiting >= self._broker.max_waiting:
                # An empty answer would be taken for an empty queue, and asked for again at once.
                self._answer(Throttling("Too many receives wait for messages. Please try again, or do not wait."))
                return
            self._broker.waiting += 1
            self._timer = asyncio.get_running_loop().call_later(self._wait_s, self.give_up)
        queue.waiters[self] = None
        if self._woken:
            # Woken for nothing: it keeps its place at the front.
            self._woken = False
            queue.waiters.move_to_end(self, last=False)
        if self._crowded:
            # What is visible is none of its business until something has left.
            queue.expect(self._broker.clock.now_us() + _CROWDED_US)
            return
        known = [t for t in (self._next_us, queue.next_visible_us(self._tried_us)) if t is not None]
        if known:
            queue.expect(min(known))

    def give_up(self) -> None:
        """The waiting time is over, or the service stops."""
        if self in self._queue.waiters:
            del self._queue.waiters[self]
            self._answer([])
        else:
            # A claim is under way: its outcome decides.
            self._wait_s = 0
