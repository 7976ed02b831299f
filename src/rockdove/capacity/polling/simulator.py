"""One run: consumers poll many physical queues, which producers fill.

Events are in a heap. Each policy's plan is a generator that is asked what to do next, as the broker asks it.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from msgspec import Struct

from rockdove.capacity.polling.setup import WARM_UP, Setup
from rockdove.core.dequeue import DequeuePolicy, Plan, Sleep


class Outcome(Struct, frozen=True):
    """What one run gave. A hit is a visit that found messages; rates are NaN if there was none to count."""

    throughput: float
    hit_rate: float
    messages_per_hit: float
    visits: int


class Counted(Struct):
    """What is counted after the warm-up."""

    received: int = 0
    visits: int = 0
    hits: int = 0


class Clock:
    """What happens, and when."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._events: list[tuple[float, int, Callable[..., None], Any]] = []
        self._number = 0

    def after(self, delay_s: float, act: Callable[[Any], None], what: Any) -> None:
        # The number keeps the order of events of one moment, and acts from being compared.
        self._number += 1
        heapq.heappush(self._events, (self.now_s + delay_s, self._number, act, what))

    def run(self, until_s: float) -> None:
        events = self._events
        while events and events[0][0] <= until_s:
            self.now_s, _, act, what = heapq.heappop(events)
            act(what)


# A job of a physical queue: what it costs is decided when it begins, and what comes of it is told at its end.
Begin = Callable[[], tuple[float, int]]
End = Callable[[int], None]


class PhysicalQueue:
    """One server, first come, first served."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: deque[tuple[Begin, End]] = deque()
        self.messages = 0

    def ask(self, begin: Begin, end: End) -> None:
        self._jobs.append((begin, end))
        if len(self._jobs) == 1:
            self._begin()

    def _begin(self) -> None:
        seconds, outcome = self._jobs[0][0]()
        self._clock.after(seconds, self._end, outcome)

    def _end(self, outcome: int) -> None:
        _, end = self._jobs.popleft()
        if self._jobs:
            self._begin()
        end(outcome)


class Enqueuer:
    """An E-Ctrl: round-robin over the queues, one enqueue at a time."""

    def __init__(self, setup: Setup, queues: list[PhysicalQueue], first: int, on_enqueued: Callable[[], None]) -> None:
        self._queues = queues
        self._next = first
        self._cost = (setup.enqueue_s, 0)
        self._on_enqueued = on_enqueued
        self._waiting = 0
        self._busy = False

    def send(self) -> None:
        self._waiting += 1
        if not self._busy:
            self._enqueue()

    def _enqueue(self) -> None:
        self._busy, self._waiting = True, self._waiting - 1
        queue = self._queues[self._next]
        self._next = (self._next + 1) % len(self._queues)

        def landed(_: int) -> None:
            queue.messages += 1
            self._busy = False
            if self._waiting:
                self._enqueue()
            self._on_enqueued()

        queue.ask(self._begin, landed)

    def _begin(self) -> tuple[float, int]:
        return self._cost


class Request(Struct, eq=False):
    """A dequeue request being worked on."""

    plan: Plan
    wanted: int


class Controller:
    """A D-Ctrl with its consumer, and what the policy sees of the queues (`rockdove.core.dequeue.View`)."""

    def __init__(
        self,
        setup: Setup,
        clock: Clock,
        queues: list[PhysicalQueue],
        policy: DequeuePolicy,
        rng: Random,
        counted: Counted,
        sleepers: "deque[tuple[Controller, Request]]",
    ) -> None:
        self._setup = setup
        self._clock = clock
        self._queues = queues
        self._policy = policy
        self._rng = rng
        self._counted = counted
        # Those of all controllers that an enqueue wakes, the longest asleep first.
        self._sleepers = sleepers
        self._next = rng.randrange(len(queues))
        self._seen = [0] * len(queues)
        self._open = 0
        self._waiting = 0
        self._request_later()
        if policy.monitor_s is not None:
            clock.after(rng.random() * policy.monitor_s, self._look, None)

    # The view.

    @property
    def size(self) -> int:
        return len(self._queues)

    def next_index(self) -> int:
        index, self._next = self._next, (self._next + 1) % len(self._queues)
        return index

    def may_have_visible(self, index: int) -> bool:
        return self._queues[index].messages > 0

    def waiting(self, index: int) -> int:
        return self._seen[index]

    def _look(self, _: None) -> None:
        for index, queue in enumerate(self._queues):
            queue.ask(self._begin_look, lambda _, index=index, queue=queue: self._see(index, queue.messages))  # type: ignore[misc]
        assert self._policy.monitor_s is not None
        self._clock.after(self._policy.monitor_s, self._look, None)

    def _begin_look(self) -> tuple[float, int]:
        return self._setup.look_s, 0

    def _see(self, index: int, messages: int) -> None:
        self._seen[index] = messages

    # Requests.

    def _request_later(self) -> None:
        self._clock.after(self._rng.expovariate(self._setup.rate), self._request, None)

    def _request(self, _: None) -> None:
        self._request_later()
        self._waiting += 1
        self._work()

    def _work(self) -> None:
        if self._waiting and self._open < self._setup.open_requests:
            self._waiting -= 1
            self._open += 1
            request = Request(self._policy.visits(self), self._setup.most)
            self._go_on(request, None)

    def _go_on(self, request: Request, found: int | None) -> None:
        """``found`` is None for the first step, as a generator wants it."""
        try:
            step = request.plan.send(found)  # type: ignore[arg-type]
        except StopIteration:
            self._reply()
            return
        if not isinstance(step, Sleep):
            self._visit(request, self._queues[step])
        elif step.wakes:
            self._sleepers.append((self, request))
        else:
            self._clock.after(step.seconds, self.wake, request)

    def wake(self, request: Request) -> None:
        self._go_on(request, 0)

    def _visit(self, request: Request, queue: PhysicalQueue) -> None:
        setup = self._setup

        def begin() -> tuple[float, int]:
            taken = min(queue.messages, request.wanted)
            queue.messages -= taken
            return setup.visit_s + taken * setup.message_s, taken

        def end(taken: int) -> None:
            counted = self._counted
            counted.visits += 1
            counted.hits += taken > 0
            counted.received += taken
            request.wanted -= taken
            if request.wanted:
                self._go_on(request, taken)
            else:
                self._reply()

        queue.ask(begin, end)

    def _reply(self) -> None:
        self._open -= 1
        self._work()


def simulate(setup: Setup, seed: int | str) -> Outcome:
    rng, clock, counted = Random(seed), Clock(), Counted()
    queues = [PhysicalQueue(clock) for _ in range(setup.queues)]
    sleepers: deque[tuple[Controller, Request]] = deque()
    policy = setup.make_policy(rng)

    def enqueued() -> None:
        if sleepers:
            controller, request = sleepers.popleft()
            controller.wake(request)

    enqueuers = [Enqueuer(setup, queues, rng.randrange(setup.queues), enqueued) for _ in range(setup.enqueuers)]
    for _ in range(setup.consumers):
        Controller(setup, clock, queues, policy, rng, counted, sleepers)

    def produce(_: None) -> None:
        clock.after(1 / setup.messages, produce, None)
        rng.choice(enqueuers).send()

    produce(None)
    warm_s = WARM_UP * setup.duration_s
    clock.run(warm_s)
    counted.received = counted.visits = counted.hits = 0
    clock.run(setup.duration_s)
    return Outcome(
        counted.received / (setup.duration_s - warm_s),
        counted.hits / counted.visits if counted.visits else math.nan,
        counted.received / counted.hits if counted.hits else math.nan,
        counted.visits,
    )
