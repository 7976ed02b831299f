"""How many front-ends there should be: BDQS's cluster monitor, by mean response time and storage size.

The paper says what is looked at, and that nodes are added when the response time passes a threshold; all else is ours:
the lower bounds, the safety interval, one at a time, what too few requests mean, and what is done about silent ones.
"""

import math

from msgspec import Struct
from msgspec.structs import replace

from rockdove.capacity.scaling.step import Act, Decision

# The mean of fewer requests says nothing.
LEAST_REQUESTS = 20
# A front-end goes when there is so much less to store than justifies it: with one less they are under the bound then.
LOW_SHARE = 0.5


class Bounds(Struct, frozen=True, kw_only=True):
    """``low_s``, ``high_s``: of the mean response time. ``high_bytes``: of what is stored, for each front-end.

    ``safety_s``: for a decision to take effect. ``patience_s``: after so much silence a front-end is given up.
    """

    least: int = 1
    most: int = 4
    low_s: float = 0.05
    high_s: float = 0.2
    high_bytes: float | None = None
    safety_s: float = 30.0
    patience_s: float = 10.0


class FrontEnd(Struct, frozen=True):
    """One that lives and is not drained. ``mean_s``: of what it answered in the last period, if anything.

    If it is not up, it starts. If it does not tell, its figures are not those of the whole period. ``silent_s``: for
    how long it has not answered when it was asked how it is.
    """

    number: int
    is_up: bool = True
    requests: int = 0
    mean_s: float | None = None
    tells: bool = True
    silent_s: float = 0.0


class Load(Struct, frozen=True):
    """At one moment. Front-ends are in the order in which they were added."""

    now_s: float
    front_ends: tuple[FrontEnd, ...]
    storage_bytes: float | None = None

    @property
    def requests(self) -> int:
        return sum(each.requests for each in self.front_ends)

    @property
    def mean_s(self) -> float | None:
        """Of all requests, whoever answered them."""
        known = [each for each in self.front_ends if each.mean_s is not None]
        requests = sum(each.requests for each in known)
        return sum((each.mean_s or 0.0) * each.requests for each in known) / requests if requests else None


class Memory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one round tells the next. ``low_since_s``: since when one less seems enough."""

    wanted: int | None = None
    acted_s: float | None = None
    low_since_s: float | None = None


class Plan(Struct, frozen=True):
    """ADD: as many as it says. DRAIN: it gets nothing more, and ends when it has finished. REMOVE: it is silent."""

    memory: Memory
    decisions: tuple[Decision, ...]
    wanted: int


def decide(bounds: Bounds, memory: Memory, load: Load) -> Plan:
    """One round. Pure."""
    silent = _silent(bounds, load)
    living = [each for each in load.front_ends if each not in silent]
    before = len(load.front_ends) if memory.wanted is None else memory.wanted
    wanted = min(max(before, bounds.least), bounds.most)
    memory = replace(memory, wanted=wanted)
    reason = f"{len(living)} live, and there are to be {wanted}"
    if len(living) == wanted and all(each.is_up for each in living) and not silent:
        memory, reason = _weigh(bounds, memory, load)
    decisions = [
        Decision(Act.REMOVE, f"it has not answered for {each.silent_s:.0f} s", number=each.number) for each in silent
    ]
    wanted = wanted if memory.wanted is None else memory.wanted
    if len(living) < wanted:
        decisions.append(Decision(Act.ADD, reason, workers=wanted - len(living)))
    # The last one that came goes first.
    decisions += [Decision(Act.DRAIN, reason, number=each.number) for each in reversed(living[wanted:])]
    return Plan(memory, tuple(decisions), wanted)


def _silent(bounds: Bounds, load: Load) -> list[FrontEnd]:
    """Those to give up. If none answers, it is not their fault."""
    silent = [each for each in load.front_ends if each.silent_s > bounds.patience_s]
    return silent if len(silent) < len(load.front_ends) else []


def _weigh(bounds: Bounds, memory: Memory, load: Load) -> tuple[Memory, str]:
    """One more, one less, or as many as there are. All live and serve."""
    now_s, wanted = load.now_s, len(load.front_ends)
    above, below = _above(bounds, load), _below(bounds, load)
    if below is None:
        memory = replace(memory, low_since_s=None)
    elif memory.low_since_s is None or memory.low_since_s > now_s:
        memory = replace(memory, low_since_s=now_s)
    if not _passed(memory.acted_s, now_s, bounds.safety_s):
        return memory, ""
    if above is not None and wanted < bounds.most:
        return Memory(wanted=wanted + 1, acted_s=now_s), f"{above}: one more"
    low_since_s = memory.low_since_s
    if (
        below is not None
        and low_since_s is not None
        and now_s - low_since_s >= bounds.safety_s
        and wanted > bounds.least
    ):
        return Memory(wanted=wanted - 1, acted_s=now_s), f"{below} for {now_s - low_since_s:.0f} s: one less"
    return memory, ""


def _above(bounds: Bounds, load: Load) -> str | None:
    """Why one more is needed."""
    mean_s, share = load.mean_s, _share(load)
    if mean_s is not None and mean_s > bounds.high_s and load.requests >= LEAST_REQUESTS:
        return f"mean response time {_ms(mean_s)} is above {_ms(bounds.high_s)}"
    if share is not None and bounds.high_bytes is not None and share > bounds.high_bytes:
        return f"{_mb(share)} are stored for each front-end, more than {_mb(bounds.high_bytes)}"
    return None


def _below(bounds: Bounds, load: Load) -> str | None:
    """Why one less may be enough; None also if one did not tell."""
    mean_s, share = load.mean_s, _share(load)
    if any(each.silent_s > 0 or not each.tells for each in load.front_ends):
        return None
    if bounds.high_bytes is not None and (share is None or share >= LOW_SHARE * bounds.high_bytes):
        return None
    if mean_s is None or load.requests < LEAST_REQUESTS:
        return f"there are {load.requests} requests in a period"
    return f"mean response time {_ms(mean_s)} is below {_ms(bounds.low_s)}" if mean_s < bounds.low_s else None


def _share(load: Load) -> float | None:
    return None if load.storage_bytes is None else load.storage_bytes / max(len(load.front_ends), 1)


def _passed(since_s: float | None, now_s: float, seconds: float) -> bool:
    """A clock that was set back stops nothing for ever."""
    return since_s is None or not 0 <= now_s - since_s < seconds


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _mb(size: float) -> str:
    return f"{math.ceil(size / 1e6):,} MB"
