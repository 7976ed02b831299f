"""The experiments of figures 4 to 8 of the BDQS paper on Cassandra, scaled to one machine."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

from msgspec import Struct

from rockdove.workload.cluster import Killer, LocalCluster
from rockdove.workload.interrupt import Interrupt
from rockdove.workload.local import ServiceProcess
from rockdove.workload.measure import MeasuredRow
from rockdove.workload.run import Plan, Watcher, contest
from rockdove.workload.workload import Faults, Workload

FIGURES = ("fig4", "fig5", "fig6", "fig7", "fig8")

# Three front-ends, as many as receivers of a queue: each receiver has another one.
FRONT_ENDS = 3
QUORUM, ONE = "quorum", "one"
# The paper kills servers for 10 s.
MTTR_S = 10.0


class Setting(Struct, frozen=True, kw_only=True):
    """One run. ``series`` is the line in the figure that it belongs to, and ``x`` its place there."""

    figure: str
    series: str
    x: float
    workload: Workload
    attributes: dict[str, str] = {}
    front_ends: int = FRONT_ENDS
    consistency: str = QUORUM
    # Of each server; None: nobody is killed.
    mttf_s: float | None = None

    def goes_on(self, before: "Setting") -> bool:
        """Whether the services of another run will do."""
        if self.mttf_s is not None or before.mttf_s is not None:
            return False
        return (self.front_ends, self.consistency) == (before.front_ends, before.consistency)

    def __str__(self) -> str:
        return f"{self.figure}, {self.series}, {self.x:g}"


class SettingResult(Struct, frozen=True):
    """``trace`` is the folder of what its clients saw."""

    setting: Setting
    row: MeasuredRow
    killed: int
    trace: str


def settings(figure: str, scale: float) -> list[Setting]:
    """``scale``: how many messages each sender sends, as a multiple of what is usual here."""
    return list(_FIGURES[figure](lambda number: max(round(number * scale), 1)))


Scaled = Callable[[int], int]


def _fig4(scaled: Scaled) -> Iterator[Setting]:
    for front_ends, queues in product((1, 2, 3), (1, 2, 5, 10)):
        load = Workload(queues=queues, messages=scaled(60), visibility_s=60, patience_s=60)
        series = f"{front_ends} front-end{'s' * (front_ends > 1)}"
        yield Setting(figure="fig4", series=series, x=queues, workload=load, front_ends=front_ends)


# Seconds for which a sender sends at least, and messages of each at most.
_FIG5_S, _FIG5_MOST = 12.0, 150


def _fig5(scaled: Scaled) -> Iterator[Setting]:
    for queues, delay_s in product((2, 5), (1.0, 0.5, 0.2, 0.1, 0.05, 0.0)):
        # Receivers begin when there is something for each of them: they do not wait for messages.
        load = Workload(
            queues=queues,
            messages=scaled(min(round(_FIG5_S / delay_s), _FIG5_MOST) if delay_s else _FIG5_MOST),
            send_delay_s=delay_s,
            receive_delay_s=delay_s,
            visibility_s=60,
            patience_s=60,
        )
        yield Setting(figure="fig5", series=f"{queues} queues", x=delay_s, workload=load)


def _fig6(scaled: Scaled) -> Iterator[Setting]:
    for name, attributes in _CLAIMS.items():
        for hint, receivers in product(("1", "2", "3", "none"), (1, 3, 6)):
            load = Workload(
                queues=4,
                senders=1,
                receivers=receivers,
                messages=scaled(150),
                size_bytes=256,
                visibility_s=60,
                order_hint=hint,
                patience_s=60,
            )
            yield Setting(
                figure="fig6", series=f"{name}, K = {hint}", x=receivers, workload=load, attributes=attributes
            )


# What the paper does, what this store does, and the agreed way.
_CLAIMS = {
    "literal": {"RockdoveClaim": "fast", "RockdoveDraw": "literal"},
    "fast": {"RockdoveClaim": "fast"},
    "strict": {"RockdoveClaim": "strict"},
}


def _fig7(scaled: Scaled) -> Iterator[Setting]:
    for hint, probability in product(("1", "3", "none"), (0.0001, 0.001, 0.01, 0.1)):
        load = Workload(
            queues=2,
            senders=1,
            receivers=2,
            messages=scaled(100),
            size_bytes=256,
            visibility_s=5,
            wait_s=1,
            order_hint=hint,
            faults=Faults(drop_requests=probability, drop_responses=probability, crash=probability),
            patience_s=60,
        )
        yield Setting(figure="fig7", series=f"K = {hint}", x=probability, workload=load)


def _fig8(scaled: Scaled) -> Iterator[Setting]:
    for consistency, mttf_s in product((QUORUM, ONE), (60.0, 200.0, 600.0)):
        load = Workload(
            queues=2,
            senders=1,
            receivers=2,
            messages=scaled(150),
            size_bytes=256,
            at_once=True,
            send_delay_s=0.2,
            visibility_s=10,
            order_hint="1",
            patience_s=180,
        )
        yield Setting(
            figure="fig8", series=consistency, x=mttf_s, workload=load, consistency=consistency, mttf_s=mttf_s
        )


_FIGURES: dict[str, Callable[[Scaled], Iterator[Setting]]] = {
    "fig4": _fig4,
    "fig5": _fig5,
    "fig6": _fig6,
    "fig7": _fig7,
    "fig8": _fig8,
}


# Java is slow until it has compiled what it does again and again.
_WARM_UP = Setting(figure="fig", series="", x=0, workload=Workload(queues=4, messages=100, visibility_s=60))


def run(
    wanted: Sequence[Setting],
    folder: Path,
    jars: Path,
    nodes: int,
    seed: int,
    watcher: Watcher,
    interrupt: Interrupt,
    say: Callable[[str], None],
) -> list[SettingResult]:
    """One after another; those up to an interrupt. Raises `WorkloadFailed`."""
    found: list[SettingResult] = []
    with LocalCluster(folder, jars, nodes) as cluster, ExitStack() as stack:
        before: Setting | None = None
        fronts: list[ServiceProcess] = []
        if wanted:
            say("the nodes warm up")
            with cluster.serving(FRONT_ENDS, QUORUM) as first:
                run_setting(_WARM_UP, cluster, first, folder / "trace", random.Random(seed), watcher, interrupt)
        for number, setting in enumerate(wanted):
            if interrupt.heard:
                break
            say(f"{number + 1} of {len(wanted)}: {setting}")
            if before is None or not setting.goes_on(before):
                stack.close()
                fronts = stack.enter_context(cluster.serving(setting.front_ends, setting.consistency))
            before = setting
            trace = folder / f"trace-{number}"
            rng = random.Random(seed + number)
            found.append(run_setting(setting, cluster, fronts, trace, rng, watcher, interrupt))
    return found


class UntilDrain:
    """A watcher that has nobody killed any more while queues are drained: what is lost then is lost for good."""

    def __init__(self, watcher: Watcher, killer: Killer) -> None:
        self.say, self.begin, self.look, self.end = watcher.say, watcher.begin, watcher.look, watcher.end
        self._watcher = watcher
        self._killer = killer

    def drain(self, missing: int) -> None:
        self._killer.end()
        self._watcher.drain(missing)


def run_setting(
    setting: Setting,
    cluster: LocalCluster,
    fronts: Sequence[ServiceProcess],
    trace: Path,
    rng: random.Random,
    watcher: Watcher,
    interrupt: Interrupt,
) -> SettingResult:
    """On services that run. Raises `WorkloadFailed`."""
    plan = Plan(
        workload=setting.workload,
        endpoints=[",".join(front.endpoint for front in fronts)],
        attributes=setting.attributes,
        prefix=setting.figure,
        trace=str(trace),
    )
    killer: Killer | None = None
    if setting.mttf_s is not None:
        killer = Killer([*cluster.nodes, *fronts], setting.mttf_s, MTTR_S, rng)
        watcher = UntilDrain(watcher, killer)
        killer.start()
    try:
        (row,) = contest(plan, watcher, interrupt).rows
    finally:
        if killer is not None:
            killer.end()
    return SettingResult(setting, row, 0 if killer is None else killer.killed, str(trace))
