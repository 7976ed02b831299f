"""What the analytic model answers to the planner's sliders.

It is asked over HTTP for each move of a slider, with one request in flight: the means take a few milliseconds. So the
page shows what `rockdove plan` would, and there is one model. A second one in JavaScript would need Erlang's formula,
Whitt's network, and for percentiles Fourier transforms and the incomplete gamma function, and would have to be kept
the same. Percentiles, which take a tenth of a second, are asked for when the slider rests.

Not imported before it is needed: SciPy takes a second. Functions here run in threads, beside the event loop.
"""

import math
from typing import Any, Final

from msgspec.structs import replace

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.error import InvalidScenario, Unstable
from rockdove.capacity.plan.calibration import Calibration, UnreadableCalibration, decode
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.planner import Figure, Target, describe, least_s
from rockdove.capacity.plan.planner import plan as cheapest
from rockdove.console.question import Goal, Question, wrong
from rockdove.console.wrong import Wrong

# Points of a curve.
_POINTS: Final = 60
# What is slower than so many times the plan is not drawn: the curves go to infinity.
_TALL: Final = 4.0
# Of senders beside workers, where there are to be enough of them: nearly nothing, so that they do not count.
_CHEAP: Final = 1e-3
# Messages that wait no longer, for the limit of an elastic queue.
_SHARE: Final = 0.99

Answer = dict[str, Any]


def load_of(question: Question) -> Load:
    """Raises `Wrong`."""
    question.check()
    return Load(
        arrival=question.arrival,
        sender_rate=1000 / question.send_ms,
        broker_rate=1000 / question.service_ms,
        q=question.reliability / 100,
        link_s=question.link_ms / 1000,
        timeout_s=question.timeout_s,
        sender_scv=question.send_scv,
        broker_scv=question.service_scv,
        arrival_scv=question.arrival_scv,
    )


def senders_of(question: Question, load: Load) -> int:
    """So many that hardly a message waits for one, if nothing else is said. Raises `InvalidScenario`."""
    return question.senders if question.senders is not None else load.ample()[0]


def predict(question: Question) -> Answer:
    """The figures and curves of a plan; if it is not stable, how many threads would be. Raises `Wrong`."""
    load = load_of(question)
    try:
        n1, n2 = senders_of(question, load), question.threads
        fewest = load.fewest()
        try:
            network = load.network(n1, n2)
        except Unstable:
            return {**_unstable(question, load, fewest), **_curves(load, n1, n2, None, fewest)}
        found = {**_figures(network, n1), **_curves(load, n1, n2, network.delivery_s, fewest)}
        return {**found, **_whole(load, n1, n2, network)} if question.whole else found
    except InvalidScenario as error:
        raise wrong(error.text, error.name) from None


def _figures(network: Network, senders: int) -> Answer:
    s = network.scenario
    parts = (
        ("send", "sending, with the wait for a sender", network.sender.mean_sojourn_s),
        ("link", "on the way", network.crossings * s.link_s),
        ("wait", "waiting for a worker", network.broker.mean_wait_s / s.q),
        ("work", "being worked on", 1 / s.broker_rate / s.q),
        ("again", "lost, until the timeout is over", network.losses * network.visibility_wait_s),
    )
    return {
        "stable": True,
        "mean_s": network.delivery_s,
        "waiting": network.broker.mean_waiting,
        "waiting_senders": network.sender.mean_waiting,
        "utilisation": network.broker.utilisation,
        "utilisation_senders": network.sender.utilisation,
        "senders": senders,
        "parts": [{"name": name, "words": words, "seconds": seconds} for name, words, seconds in parts],
    }


def _unstable(question: Question, load: Load, fewest: tuple[int, int]) -> Answer:
    least1, least2 = fewest
    if question.senders is not None and question.senders < least1:
        does = question.senders * load.sender_rate
        problem, fix = "senders", max(least1, load.ample()[0])
        text = f"{_threads(question.senders, 'sender')} {does:,.6g} messages a second, and {load.arrival:,.6g} arrive."
    else:
        does, comes = question.threads * load.broker_rate, load.arrival / load.q
        problem, fix = "threads", _good(load, question.threads, least2)
        again = "" if load.q == 1 else f", with those that come again {comes:,.6g}"
        text = (
            f"{_threads(question.threads, 'worker')} {does:,.6g} messages a second, and {load.arrival:,.6g} "
            f"arrive{again}. The queue grows by {max(comes - does, 0):,.4g} messages a second, without end."
        )
    return {
        "stable": False,
        "text": text,
        "about": problem,
        "least": least2 if problem == "threads" else least1,
        "fix": fix,
    }


def _threads(number: int, what: str) -> str:
    return f"1 {what} does" if number == 1 else f"{number:,} {what}s do"


def _good(load: Load, threads: int, least: int) -> int:
    """Workers that are stable, and not nearly unstable: a tenth of them to spare."""
    return max(least, threads, math.ceil(load.arrival / load.q / load.broker_rate / 0.9))


def _whole(load: Load, n1: int, n2: int, network: Network) -> Answer:
    made = describe(load, n1, n2)
    wait_s = network.broker.wait_percentile_s(_SHARE)
    return {
        "p50_s": made.p50_s,
        "p95_s": made.p95_s,
        "p99_s": made.p99_s,
        "knee_arrival": made.knee_arrival,
        # What a worker does in the wait that 99 of 100 messages stay within: by this, the rule "model" takes as many.
        "max_load": max(1, math.ceil(wait_s * load.broker_rate)),
    }


# Curves: mean delivery time over workers, and over arrivals; None where it is too long to be drawn.


def _curves(load: Load, n1: int, n2: int, mean_s: float | None, fewest: tuple[int, int]) -> Answer:
    if n1 < fewest[0]:
        return {"over_threads": None, "over_arrivals": None}
    return {
        "over_threads": _over_threads(load, n1, n2, mean_s, fewest[1]),
        "over_arrivals": _over_arrivals(load, n1, n2),
    }


def _over_threads(load: Load, n1: int, n2: int, mean_s: float | None, least: int) -> Answer:
    first, last = min(least, n2), max(2 * least, n2 + max(n2 // 4, 4), least + 8)
    step = max(1, math.ceil((last - first) / _POINTS))
    counts = sorted({*range(first, last + 1, step), *([n2] if n2 >= least else [])})
    times = [load.network(n1, count).delivery_s if count >= least else None for count in counts]
    return {"x": counts, "y": _cut(times, mean_s)}


def _over_arrivals(load: Load, n1: int, n2: int) -> Answer:
    most = min(n1 * load.sender_rate, n2 * load.broker_rate * load.q)
    arrivals = [most * place / _POINTS for place in range(1, _POINTS)] + [most * 0.995]
    times = [replace(load, arrival=arrival).network(n1, n2).delivery_s for arrival in arrivals]
    at = load.network(n1, n2).delivery_s if load.arrival < most else None
    return {"x": arrivals, "y": _cut([*times], at), "most": most}


def _cut(times: list[float | None], mean_s: float | None) -> list[float | None]:
    known = [time for time in times if time is not None]
    usual = mean_s if mean_s is not None else min(known, default=0.0)
    tall = _TALL * max(usual, min(known, default=0.0))
    return [time if time is not None and time <= tall else None for time in times]


# The fewest threads for a target.


def fewest(goal: Goal) -> Answer:
    """Raises `Wrong` if no number of workers is enough."""
    load = load_of(goal.question)
    own_senders = goal.question.senders is not None
    try:
        target = Target(Figure(goal.figure), goal.target_s)
        made = cheapest(load, target, 1.0 if own_senders else _CHEAP, 1.0)
    except InvalidScenario as error:
        raise wrong(error.text, error.name) from None
    except ValueError:
        raise Wrong("Choose the mean, or 99 of 100 messages.", "figure") from None
    if not made.feasible:
        of = "for 99 of 100 messages" if target.figure is Figure.P99 else "on average"
        raise Wrong(
            f"No number of workers is so fast: work, links and losses alone take "
            f"{least_s(load, target.figure):.3g} s {of}. "
            "Ask for more time than that, or make the work shorter, deliveries more reliable, or the timeout shorter.",
            "target_s",
        )
    return {"threads": made.n2, "senders": made.n1 if own_senders else None}


# What was found out about a running system.


def calibrated(content: str, name: str) -> Answer:
    """Sliders as a calibration has them. Raises `Wrong`."""
    try:
        found = decode(content, name)
    except UnreadableCalibration as error:
        raise Wrong(f"{error}. Choose a calibration.json, as rockdove calibrate writes it.", "file") from None
    load = found.load()
    try:
        load.scenario(1, 1)
    except InvalidScenario as error:
        raise Wrong(f"{name} has values that no system has: {error}.", "file") from None
    return {
        "arrival": load.arrival,
        "service_ms": 1000 / load.broker_rate,
        "reliability": 100 * load.q,
        "timeout_s": load.timeout_s,
        "send_ms": 1000 / load.sender_rate,
        "link_ms": 1000 * load.link_s,
        "service_scv": load.broker_scv,
        "send_scv": load.sender_scv,
        "arrival_scv": load.arrival_scv,
        "threads": _good(load, 1, load.fewest()[1]),
        "words": _basis(found),
        "notes": found.notes,
    }


def _basis(found: Calibration) -> str:
    if found.basis is None:
        return "Written by hand: it does not say what it stands on."
    b = found.basis
    queues = "1 queue" if b.queues == 1 else f"{b.queues:,} queues"
    return (
        f"{b.arrivals:,} messages and {b.deliveries:,} deliveries, {b.failures:,} of them lost, of {queues}, "
        f"from {b.first[:19].replace('T', ' ')} to {b.last[:19].replace('T', ' ')} UTC."
    )
