"""Our rule: as many workers as the model says that the work needs."""

import math

from msgspec.structs import replace

from rockdove.capacity.analytic.mmn import MMn
from rockdove.capacity.error import smallest_stable
from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.paper import paper
from rockdove.capacity.scaling.round import Round
from rockdove.capacity.scaling.step import State, Step
from rockdove.core.elastic import Elastic

# Workers are not to be busier than this.
BUSY = 0.9
# This share of messages is to wait no longer than the last one of maxLoad messages.
SHARE = 0.99
# Rates and times below this are none.
LEAST = 1e-9
# So many safety intervals, and starts of a worker, fewer workers must have been enough before one goes.
CALM = 4


def needed(elastic: Elastic, measured: Measured) -> tuple[int, str] | None:
    """Workers for what comes while one starts, and for what waits; None if the work is not known.

    What waits is to be gone within the safety interval, and the time in which a worker does maxLoad messages.
    """
    rates = measured.rates
    if rates.arrival is None or rates.service_s is None:
        return None
    if not LEAST < rates.service_s < 1 / LEAST or not 0 <= rates.failure < 1:
        return None
    # What fails is done again.
    rate = (1 - rates.failure) / rates.service_s
    drain_s = elastic.max_load / rate
    ahead = max(rates.growth, 0.0) * (rates.start_s + measured.period_s)
    arrival = rates.arrival + ahead
    # What fewer messages wait than workers may have as a matter of course is no backlog.
    backlog = max(measured.backlog - elastic.min_load * len(measured.members), 0.0)
    workers = max(math.ceil((arrival + backlog / (elastic.safety_s + drain_s)) / (BUSY * rate)), 1)
    if arrival > LEAST and workers < elastic.max_workers:
        workers = max(workers, smallest_stable(arrival, rate))
        while workers < elastic.max_workers and MMn(arrival, rate, workers).wait_percentile_s(SHARE) > drain_s:
            workers += 1
    said = f"{rates.arrival:.1f} messages/s arrive"
    if ahead:
        said += f", {ahead:.1f} more until a worker has started"
    if backlog:
        said += f", {backlog:.0f} too many wait"
    return workers, f"{said}, and a worker does {rate:.1f}: {workers}"


def model(elastic: Elastic, state: State, measured: Measured) -> Step:
    """One round: more at once, fewer slowly. As long as the work is not known, as the paper does."""
    found = needed(elastic, measured)
    if found is None:
        return paper(elastic, state, measured)
    workers, reason = found
    calm_s = CALM * max(elastic.safety_s, elastic.period_s) + measured.rates.start_s
    now_s = measured.now_s
    seen = (*((at, each) for at, each in state.seen if 0 <= now_s - at <= calm_s), (now_s, float(workers)))
    is_calm = now_s - state.seen[0][0] >= calm_s if state.seen else False
    least = round(max(each for _, each in seen)) if is_calm else measured.workers
    this = Round(elastic, state, measured)
    this.towards(workers, least, reason)
    return this.step(replace(state, seen=seen))
