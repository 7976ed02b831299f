"""Rules of others, for comparison; workers share the load by flow control, as with ours, except the last one.

What they count is what waits and what is in flight. In place of their own default targets, all go by maxLoad for each
worker.
"""

import math

from msgspec.structs import replace

from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.round import Round
from rockdove.capacity.scaling.step import State, Step
from rockdove.core.elastic import Elastic

# Kubernetes' autoscaler, which KEDA feeds: seconds between looks; how far off the number must be; how fast it may grow;
# for how long fewer must have been enough.
SYNC_S = 15.0
TOLERANCE = 0.1
MOST_ADDED = 4
DOWN_S = 300.0
# AWS's target tracking: looks a minute apart; so many above the target, or below a part of it, in a row.
MINUTE_S = 60.0
MINUTES_ABOVE = 3
MINUTES_BELOW = 15
BELOW = 0.9


def _held(measured: Measured) -> float:
    return sum(member.load + member.in_flight for member in measured.members)


def _looks(state: State, measured: Measured, every_s: float) -> bool:
    return state.looked_s is None or not 0 <= measured.now_s - state.looked_s < every_s


def keda(elastic: Elastic, state: State, measured: Measured) -> Step:
    """Messages over the target for a worker; down to what was the most of the last five minutes."""
    this = Round(elastic, state, measured)
    if not _looks(state, measured, SYNC_S):
        this.go_on()
        return this.step(state)
    now_s, held = measured.now_s, _held(measured)
    exact = held / elastic.max_load
    is_near = abs(exact / measured.workers - 1) <= TOLERANCE if measured.workers else False
    desired = measured.workers if is_near else math.ceil(exact)
    desired = min(desired, max(2 * measured.workers, measured.workers + MOST_ADDED))
    seen = (*((at, each) for at, each in state.seen if 0 <= now_s - at <= DOWN_S), (now_s, float(desired)))
    least = round(max(each for _, each in seen))
    is_calm = bool(state.seen) and now_s - state.seen[0][0] >= DOWN_S
    reason = f"{held:.0f} messages, {elastic.max_load:g} a worker: {desired}"
    this.towards(desired, least if is_calm else measured.workers, reason)
    return this.step(replace(state, seen=seen, looked_s=now_s))


def aws(elastic: Elastic, state: State, measured: Measured) -> Step:
    """Backlog of a worker against a target: out in proportion after three minutes, in after fifteen."""
    this = Round(elastic, state, measured)
    if not _looks(state, measured, MINUTE_S):
        this.go_on()
        return this.step(state)
    now_s, running = measured.now_s, max(len(measured.members), 1)
    each = _held(measured) / running
    seen = (*state.seen[1 - MINUTES_BELOW :], (now_s, each))
    last = [value for _, value in seen]
    reason = f"{each:.0f} messages a worker, target {elastic.max_load:g}"
    wanted = least = measured.workers
    if len(last) >= MINUTES_ABOVE and all(value > elastic.max_load for value in last[-MINUTES_ABOVE:]):
        wanted = max(math.ceil(running * each / elastic.max_load), measured.workers)
    elif len(last) >= MINUTES_BELOW and all(value < BELOW * elastic.max_load for value in last):
        least = max(math.ceil(running * each / elastic.max_load), 1)
    this.towards(wanted, least, reason)
    return this.step(replace(state, seen=seen, looked_s=now_s))


def least_loaded(elastic: Elastic, state: State, measured: Measured) -> Step:
    """Clustered queues: who connects goes to the least loaded queue, and stays; if all are overloaded, there is one
    more. Clients come and go as production grows and falls. The last queue goes when all are nearly empty."""
    members = measured.members
    numbers = [member.number for member in members if member.is_up] or [member.number for member in members]
    admitted = {number: state.admitted.get(number, 0.0) for number in numbers}
    arrival = measured.rates.arrival or 0.0
    before = sum(admitted.values())
    if members and arrival >= before:
        least = min((member for member in members if member.number in admitted), key=lambda member: member.load)
        admitted[least.number] += arrival - before
    elif before:
        admitted = {number: rate * arrival / before for number, rate in admitted.items()}
    whole = sum(admitted.values())
    parts = [admitted.get(each.number, 0.0) / whole if whole else 1 / len(members) for each in members]
    this = Round(elastic, state, measured, parts)
    loads = [member.load for member in members]
    if loads and min(loads) > elastic.max_load and this.has_settled and not this.is_too_large:
        this.cancel("all are overloaded")
        this.add(1, f"the least load, {min(loads):.0f}, is above maxLoad {elastic.max_load:g}: one more")
    elif loads and max(loads) >= elastic.min_load and not this.is_too_large:
        this.cancel(f"the greatest load, {max(loads):.0f}, is not below minLoad {elastic.min_load:g}")
    elif this.removal is not None:
        this.go_on()
    elif loads and this.may_shrink and this.has_settled:
        this.elect(f"the greatest load, {max(loads):.0f}, is below minLoad {elastic.min_load:g}")
    return this.step(replace(state, admitted=admitted))
