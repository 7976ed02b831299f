"""Figures 4 to 8 of the paper on elastic queues, what else is shown beside them, and the rules compared.

The paper says: production rises to 750 messages a second, a worker does 100, minLoad 50, maxLoad 200, a machine takes
96.9 s to start; at the steep ramp, 100 messages a second more each 25 s, which is eight times the other. It does not
say, and here is chosen: production stays at the top for 500 s, falls as it rose, and nothing comes for 300 s; a round
of the controller each 5 s, a safety interval of 20 s, and at most 20 workers.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rockdove.capacity.scaling.production import Production, Ramp, Shape, bursts, day
from rockdove.capacity.scaling.simulator import Sample, Scenario, simulate
from rockdove.core.elastic import Elastic, ScalingPolicy, Sla

# Messages a second squared.
SLOW: Final = 0.5
STEEP: Final = 8 * SLOW
STARTUP_S: Final = 96.9
RATE: Final = 100.0
PAPER: Final = Elastic(period_s=5.0, safety_s=20.0, min_load=50.0, max_load=200.0, max_workers=20)


class ElasticFigure(StrEnum):
    """Those of the paper, and the rules on four shapes of production."""

    ELASTIC4 = "elastic4"
    ELASTIC5 = "elastic5"
    ELASTIC6 = "elastic6"
    ELASTIC7 = "elastic7"
    ELASTIC8 = "elastic8"
    POLICIES = "elastic-policies"


class Point(Struct, frozen=True):
    """A system of a figure. ``ramp`` is the slope of production, if it is a ramp."""

    shape: Shape
    elastic: Elastic
    startup_s: float = STARTUP_S
    ramp: float | None = None
    # Of random arrivals; without it, they are even.
    seed: int | None = None

    def scenario(self) -> Scenario:
        production, duration_s = _production(self)
        return Scenario(
            elastic=self.elastic,
            production=production,
            duration_s=duration_s,
            startup_s=self.startup_s,
            rate=RATE,
            seed=self.seed,
        )


class ElasticRun(Struct, frozen=True, kw_only=True):
    """What came of a system. A spike is max_load above maxLoad, its area in message-seconds, its height the greatest.

    ``npp``: machines that are kept ready. Delivery is from sending to the end of the work. ``wrong``: decisions whose
    opposite followed within five minutes.
    """

    policy: str
    slots: int
    pool: int
    ramp: float | None
    npp: int
    spikes: int
    spike_height: float
    spike_area: float
    machine_seconds: float
    machines_max: int
    seconds_above_max: float
    samples: list[Sample]
    production: str
    startup_s: float
    mean_s: float
    p99_s: float
    wrong: int


class ElasticDrawn(Struct, frozen=True):
    """A figure with all its runs, of which the first is the paper's own."""

    figure: ElasticFigure
    runs: list[ElasticRun]


_NPP: Final = Sla(delta=STEEP, startup_s=STARTUP_S, capacity=2 * RATE)
_OWN: Final = {
    ElasticFigure.ELASTIC4: (SLOW, replace(PAPER, slots=1, pool=0)),
    ElasticFigure.ELASTIC5: (SLOW, replace(PAPER, slots=2, pool=0)),
    ElasticFigure.ELASTIC6: (SLOW, replace(PAPER, slots=2, pool=1)),
    ElasticFigure.ELASTIC7: (STEEP, replace(PAPER, slots=2, pool=1)),
    ElasticFigure.ELASTIC8: (STEEP, replace(PAPER, slots=2, sla=_NPP)),
}
_SLOPES: Final = (SLOW, 2 * SLOW, 4 * SLOW, STEEP)
_STARTUPS_S: Final = (STARTUP_S, 0.0, 30.0, 60.0, 180.0)
_SLOTS: Final = (1, 2, 4)
_POOLS: Final = (0, 1, 2, 3)
_COMPARED: Final = (Shape.SLOW, Shape.STEEP, Shape.BURSTS, Shape.DAY)


def points(figure: ElasticFigure, seed: int = 1) -> list[Point]:
    """The paper's own configuration first, then others that differ from it in one thing."""
    if figure is ElasticFigure.POLICIES:
        return [_compared(shape, policy, seed) for shape in _COMPARED for policy in ScalingPolicy]
    slope, elastic = _OWN[figure]
    own = Point(_shape(slope), elastic, ramp=slope)
    return list(dict.fromkeys([own, *_others(own)]))


def _others(own: Point) -> Iterator[Point]:
    elastic = own.elastic
    for policy in ScalingPolicy:
        yield replace(own, elastic=replace(elastic, policy=policy))
    for slope in _SLOPES:
        yield replace(own, shape=_shape(slope), ramp=slope)
    for startup_s in _STARTUPS_S:
        yield replace(own, startup_s=startup_s)
    for slots in _SLOTS:
        if slots != elastic.slots:
            yield replace(own, elastic=replace(elastic, slots=slots))
    for pool in _POOLS:
        if pool != elastic.pool_size:
            yield replace(own, elastic=replace(elastic, pool=pool, sla=None))


def _compared(shape: Shape, policy: ScalingPolicy, seed: int) -> Point:
    """All rules with the same machines: two slots each, one kept ready."""
    slope = {Shape.SLOW: SLOW, Shape.STEEP: STEEP}.get(shape)
    return Point(shape, replace(PAPER, slots=2, pool=1, policy=policy), ramp=slope, seed=seed)


def _shape(slope: float) -> Shape:
    return {SLOW: Shape.SLOW, STEEP: Shape.STEEP}.get(slope, Shape.RAMP)


def _production(point: Point) -> tuple[Production, float]:
    if point.ramp is not None:
        ramp = Ramp(point.ramp)
        return ramp, ramp.duration_s
    return (bursts, 3_600.0) if point.shape is Shape.BURSTS else (day, 7_200.0)


def run(point: Point) -> ElasticRun:
    """One run of a system."""
    outcome, elastic = simulate(point.scenario()), point.elastic
    return ElasticRun(
        policy=elastic.policy.value,
        slots=elastic.slots,
        pool=elastic.pool_size,
        ramp=point.ramp,
        npp=elastic.pool_size,
        spikes=outcome.spikes,
        spike_height=outcome.spike_height,
        spike_area=outcome.spike_area,
        machine_seconds=outcome.machine_seconds,
        machines_max=outcome.machines_max,
        seconds_above_max=outcome.seconds_above_max,
        samples=outcome.samples,
        production=point.shape.value,
        startup_s=point.startup_s,
        mean_s=outcome.mean_s,
        p99_s=outcome.p99_s,
        wrong=outcome.wrong,
    )


def is_on_front(run: ElasticRun, others: Sequence[ElasticRun]) -> bool:
    """None of them delivers as soon with fewer machine-seconds, or sooner with as many."""
    return not any(
        other.mean_s <= run.mean_s
        and other.machine_seconds <= run.machine_seconds
        and (other.mean_s, other.machine_seconds) != (run.mean_s, run.machine_seconds)
        for other in others
    )


def findings(drawn: ElasticDrawn) -> list[str]:
    """What came out, in words."""
    if drawn.figure is not ElasticFigure.POLICIES:
        return []
    said = []
    for shape in _COMPARED:
        runs = [run for run in drawn.runs if run.production == shape]
        front = [run.policy for run in runs if is_on_front(run, runs)]
        said.append(f"{shape.value}: nobody delivers sooner with fewer machine-seconds than {', '.join(front)}")
    return said
