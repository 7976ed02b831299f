"""An elastic queue in model time: production, flow control, a controller, workers that start and go.

Messages are a fluid, in steps of a tenth of a second: a physical queue gets its share of what is produced, and its
worker takes what is there, at most at its rate. When a message is delivered follows from the two curves of what has
come and what has gone.
"""

import heapq
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct

from rockdove.capacity.error import InvalidScenario, require_not_negative, require_positive
from rockdove.capacity.scaling.choice import decide
from rockdove.capacity.scaling.measured import Measured, Member, Rates
from rockdove.capacity.scaling.park import Park, Placing
from rockdove.capacity.scaling.production import Production
from rockdove.capacity.scaling.share import shares
from rockdove.capacity.scaling.step import Act, Decision, State
from rockdove.capacity.scaling.trend import Trend
from rockdove.core.elastic import Elastic

TICK_S = 0.1
# A decision was wrong if the opposite one follows so soon.
WRONG_S = 300.0


class Scenario(Struct, frozen=True, kw_only=True):
    """``startup_s``: of a machine. ``rate``: messages a second that a worker does. ``seed``: of random arrivals;
    without it, they are even."""

    elastic: Elastic
    production: Production
    duration_s: float
    startup_s: float = 96.9
    rate: float = 100.0
    placing: Placing = Placing.ENERGY
    seed: int | None = None

    def __post_init__(self) -> None:
        require_positive(duration_s=self.duration_s, rate=self.rate)
        require_not_negative(startup_s=self.startup_s)
        if not self.elastic.period_s >= TICK_S:
            raise InvalidScenario(f"must be at least {TICK_S:g}, not {self.elastic.period_s:g}", "period_s")


class Sample(Struct, frozen=True):
    """At one round of the controller."""

    t: float
    production: float
    max_load: float
    workers: int
    machines: int


class Outcome(Struct, frozen=True, kw_only=True):
    """A spike is the greatest load above maxLoad; its area is in message-seconds. ``spike_height`` is the highest."""

    spikes: int
    spike_height: float
    spike_area: float
    machine_seconds: float
    machines_max: int
    seconds_above_max: float
    samples: list[Sample]
    produced: float
    mean_s: float
    p99_s: float
    wrong: int
    decisions: list[tuple[float, Decision]]


class _Queue:
    """A physical queue with its worker; curves of what has come and gone, tick by tick."""

    def __init__(self, number: int, ticks: int) -> None:
        self.number = number
        self.load = 0.0
        self.share = 0.0
        self.consumed = 0.0
        self.came = np.zeros(ticks + 1)
        self.went = np.zeros(ticks + 1)


class _Run:
    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._elastic = scenario.elastic
        self._ticks = math.ceil(scenario.duration_s / TICK_S)
        self._rng = None if scenario.seed is None else np.random.default_rng(scenario.seed)
        self._events: list[tuple[float, int, Callable[[int], None]]] = []
        self._park = Park(self._elastic.slots, self._elastic.pool_size, scenario.placing)
        self._queues: list[_Queue] = []
        self._gone: list[_Queue] = []
        self._next = 0
        self._starting = 0
        self._state = State()
        self._trend = Trend()
        self._samples: list[Sample] = []
        self._decisions: list[tuple[float, Decision]] = []
        self._produced_round = 0.0
        self._round_s = 0.0

    def run(self) -> Outcome:
        # What runs at the beginning has had its time to start.
        self._start(self._park.begin(), -math.inf)
        self._add(self._elastic.min_workers, -math.inf)
        self._happen(0.0)
        for queue in self._queues:
            queue.share = 1 / len(self._queues)
        production = np.zeros(self._ticks)
        greatest, machines = np.zeros(self._ticks), np.zeros(self._ticks)
        next_round_s = self._elastic.period_s
        for tick in range(self._ticks):
            now_s = tick * TICK_S
            self._happen(now_s)
            if now_s >= next_round_s - TICK_S / 2:
                self._round(now_s)
                next_round_s += self._elastic.period_s
            rate = max(self._scenario.production(now_s), 0.0)
            came = rate * TICK_S if self._rng is None else float(self._rng.poisson(rate * TICK_S))
            self._pass(tick, came)
            production[tick] = came
            greatest[tick] = max(queue.load for queue in self._queues)
            machines[tick] = len(self._park.machines)
        return self._outcome(production, greatest, machines)

    def _pass(self, tick: int, came: float) -> None:
        most = self._scenario.rate * TICK_S
        for queue in self._queues:
            there = queue.load + came * queue.share
            went = min(there, most)
            queue.load = there - went
            queue.consumed += went
            queue.came[tick + 1] = queue.came[tick] + came * queue.share
            queue.went[tick + 1] = queue.went[tick] + went
        for queue in self._gone:
            queue.came[tick + 1], queue.went[tick + 1] = queue.came[tick], queue.went[tick]
        self._produced_round += came

    def _happen(self, now_s: float) -> None:
        while self._events and self._events[0][0] <= now_s:
            _, what, act = heapq.heappop(self._events)
            act(what)

    # Machines and workers.

    def _start(self, machines: list[int], now_s: float) -> None:
        for machine in machines:
            heapq.heappush(self._events, (now_s + self._scenario.startup_s, machine, self._ready))

    def _ready(self, machine: int) -> None:
        self._park.ready(machine)
        self._place()

    def _add(self, workers: int, now_s: float) -> None:
        for _ in range(workers):
            self._starting += 1
            self._start(self._park.add(self._next), now_s)
            self._next += 1
        self._place()

    def _place(self) -> None:
        for worker, _ in self._park.place():
            self._starting -= 1
            self._queues.append(_Queue(worker, self._ticks))

    def _remove(self, number: int) -> None:
        queue = next(each for each in self._queues if each.number == number)
        self._queues.remove(queue)
        self._gone.append(queue)
        self._park.remove(number)
        self._place()

    # The controller.

    def _round(self, now_s: float) -> None:
        elastic = self._elastic
        self._trend.count(self._round_s, now_s, self._produced_round)
        self._round_s, self._produced_round = now_s, 0.0
        arrival, growth = self._trend.at(now_s)
        rates = Rates(arrival, growth, 1 / self._scenario.rate, start_s=self._start_s())
        members = tuple(Member(each.number, each.load, 0.0, each.consumed, each.share) for each in self._queues)
        measured = Measured(now_s, elastic.period_s, members, self._starting, rates)
        step = decide(elastic, self._state, measured)
        self._state = step.state
        self._samples.append(
            Sample(
                t=round(now_s, 3),
                production=self._scenario.production(now_s) if self._rng is None else arrival or 0.0,
                max_load=max(each.load for each in self._queues),
                workers=len(self._queues),
                machines=len(self._park.machines),
            )
        )
        self._decisions += [(now_s, each) for each in step.decisions]
        self._add(step.added, now_s)
        parts = step.shares
        if len(self._queues) > len(members):
            # Those that could start at once take part at once, as in the paper's algorithm.
            new = [Member(each.number, each.load) for each in self._queues[len(members) :]]
            parts = tuple(shares([*members, *new]))
        for queue, share in zip(self._queues, parts, strict=True):
            queue.share, queue.consumed = share, 0.0
        for number in step.removed:
            self._remove(number)

    def _start_s(self) -> float:
        """How long one more worker would take: nothing, if a slot or a machine of the pool is free."""
        return 0.0 if self._park.has_room else self._scenario.startup_s

    # What came of it.

    def _outcome(
        self, production: "np.ndarray[Any, Any]", greatest: "np.ndarray[Any, Any]", machines: "np.ndarray[Any, Any]"
    ) -> Outcome:
        above = np.maximum(greatest - self._elastic.max_load, 0.0)
        is_above = above > 0
        begins = int(is_above[0]) + int(np.count_nonzero(is_above[1:] & ~is_above[:-1]))
        mean_s, p99_s = _delivery([*self._queues, *self._gone], self._scenario.rate)
        return Outcome(
            spikes=begins,
            spike_height=float(above.max()),
            spike_area=float(above.sum() * TICK_S),
            machine_seconds=float(machines.sum() * TICK_S),
            machines_max=int(machines.max()),
            seconds_above_max=float(np.count_nonzero(is_above) * TICK_S),
            samples=self._samples,
            produced=float(production.sum()),
            mean_s=mean_s,
            p99_s=p99_s,
            wrong=_wrong(self._decisions),
            decisions=self._decisions,
        )


def _delivery(queues: list[_Queue], rate: float) -> tuple[float, float]:
    """From sending to the end of the work, of what has been delivered: the mean, and 99 of 100."""
    waits: list[Any] = []
    weights: list[Any] = []
    for queue in queues:
        times = np.arange(queue.came.size) * TICK_S
        came = np.diff(queue.came)
        done = (came > 0) & (queue.came[1:] <= queue.went[-1] + 1e-9)
        if not done.any():
            continue
        # The middle of what came within a tick goes when the other curve has reached it.
        middle = (queue.came[1:] + queue.came[:-1])[done] / 2
        rises = np.concatenate(([True], np.diff(queue.went) > 0))
        goes = np.interp(middle, queue.went[rises], times[rises])
        waits.append(np.maximum(goes - (times[:-1][done] + TICK_S / 2), 0.0) + 1 / rate)
        weights.append(came[done])
    if not waits:
        return math.nan, math.nan
    wait, weight = np.concatenate(waits), np.concatenate(weights)
    order = np.argsort(wait)
    whole = np.cumsum(weight[order])
    at = int(np.searchsorted(whole, 0.99 * whole[-1]))
    return float((wait * weight).sum() / weight.sum()), float(wait[order][min(at, wait.size - 1)])


def _wrong(decisions: list[tuple[float, Decision]]) -> int:
    """Workers that were added, or removed, shortly before the opposite was done."""
    acts = [(at_s, each.act) for at_s, each in decisions if each.act in (Act.ADD, Act.REMOVE)]
    return sum(after is not before and later_s - at_s <= WRONG_S for (at_s, before), (later_s, after) in pairwise(acts))


def simulate(scenario: Scenario) -> Outcome:
    """One run. The same scenario gives the same outcome."""
    return _Run(scenario).run()
