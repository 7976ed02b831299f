"""What `RockdoveElastic` says: how many workers an elastic queue may have, and by which rule."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from rockdove.core import limits

# What minLoad is of maxLoad, if it is not given: as with the paper's 50 and 200.
MIN_OF_MAX = 0.25

# No number is greater; a machine may take an hour to start.
_MOST_LOAD = 1e9


class ScalingPolicy(StrEnum):
    """How a controller decides on the number of workers: the paper's algorithm, our model, and three for comparison."""

    PAPER = "paper"
    MODEL = "model"
    KEDA = "keda"
    AWS = "aws"
    LEAST_LOADED = "least-loaded"


class ElasticError(ValueError):
    """The settings do not say what they must; the message says what may be."""


class Sla(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a pool of machines that are ready must be enough for.

    ``delta``: by how much production may grow in a second, in messages/s. ``startup_s``: how long a machine takes to
    start. ``capacity``: what the workers of one machine do, in messages/s.
    """

    delta: float
    startup_s: float
    capacity: float

    @property
    def pool(self) -> int:
        """NPP: as many machines as production can outgrow while one starts."""
        # A product such as 0.1 * 30 is a little more than it should be.
        return math.ceil(round(self.delta * self.startup_s / self.capacity, 9))


class Elastic(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Loads are messages that wait in one physical queue. ``slots``: workers that share a machine."""

    period_s: float = 5.0
    min_load: float = 50.0
    max_load: float = 200.0
    min_workers: int = 1
    max_workers: int = 10
    slots: int = 1
    pool: int | None = None
    sla: Sla | None = None
    safety_s: float = 15.0
    policy: ScalingPolicy = ScalingPolicy.PAPER

    @property
    def pool_size(self) -> int:
        """Machines that are kept ready."""
        return self.sla.pool if self.sla is not None else self.pool or 0


# What each number may be, both included, by its name in the document.
_RANGES: Mapping[str, tuple[float, float]] = {
    "periodS": (0.1, 3_600),
    "minLoad": (0, _MOST_LOAD),
    "maxLoad": (0.001, _MOST_LOAD),
    "minWorkers": (1, limits.MAX_PHYSICAL_QUEUES),
    "maxWorkers": (1, limits.MAX_PHYSICAL_QUEUES),
    "slots": (1, limits.MAX_PHYSICAL_QUEUES),
    "pool": (0, limits.MAX_PHYSICAL_QUEUES),
    "safetyS": (0, 86_400),
}
_SLA_RANGES: Mapping[str, tuple[float, float]] = {
    "delta": (0, _MOST_LOAD),
    "startupS": (0, 3_600),
    "capacity": (0.001, _MOST_LOAD),
}
_WHOLE = frozenset(("minWorkers", "maxWorkers", "slots", "pool"))


def read(text: str) -> Elastic:
    """Raises `ElasticError`."""
    try:
        document = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise ElasticError('Must be a JSON object, such as {"minLoad": 50, "maxLoad": 200}') from None
    if not isinstance(document, dict):
        raise ElasticError('Must be a JSON object, such as {"minLoad": 50, "maxLoad": 200}')
    _check_names("", document, (*_RANGES, "sla", "policy"))
    _check_numbers("", document, _RANGES)
    policy = document.get("policy", ScalingPolicy.PAPER)
    if policy not in list(ScalingPolicy):
        raise ElasticError(f"policy must be one of {', '.join(ScalingPolicy)}")
    sla = document.get("sla")
    if sla is not None:
        _check_sla(sla)
        if "pool" in document:
            raise ElasticError("pool and sla do not go together: the size of the pool follows from sla")
    if "minLoad" not in document and "maxLoad" in document:
        document["minLoad"] = document["maxLoad"] * MIN_OF_MAX
    elastic = msgspec.convert(document, Elastic)
    if elastic.min_workers > elastic.max_workers:
        raise ElasticError(
            f"minWorkers must be at most maxWorkers, which is {elastic.max_workers}, not {elastic.min_workers}"
        )
    if elastic.min_load >= elastic.max_load:
        raise ElasticError(f"minLoad must be below maxLoad, which is {elastic.max_load:g}, not {elastic.min_load:g}")
    if elastic.pool_size > limits.MAX_PHYSICAL_QUEUES:
        raise ElasticError(
            f"delta * startupS / capacity must be at most {limits.MAX_PHYSICAL_QUEUES} machines, "
            f"not {elastic.pool_size}"
        )
    return elastic


def _check_sla(sla: Any) -> None:
    if not isinstance(sla, dict):
        raise ElasticError("sla must be an object with delta, startupS and capacity")
    _check_names("sla.", sla, tuple(_SLA_RANGES))
    missing = [name for name in _SLA_RANGES if name not in sla]
    if missing:
        raise ElasticError(f"sla must have delta, startupS and capacity; there is no {missing[0]}")
    _check_numbers("sla.", sla, _SLA_RANGES)


def _check_names(prefix: str, document: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in document:
        if name not in known:
            raise ElasticError(f"There is no {prefix}{name}; there are {', '.join(known)}")


def _check_numbers(prefix: str, document: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> None:
    for name, (low, high) in ranges.items():
        if name not in document:
            continue
        value = document[name]
        is_number = isinstance(value, int) if name in _WHOLE else isinstance(value, int | float)
        if isinstance(value, bool) or not is_number or not low <= value <= high:
            kind = "a whole number" if name in _WHOLE else "a number"
            raise ElasticError(f"{prefix}{name} must be {kind} from {low:,g} to {high:,g}, not {_shown(value)}")


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:40]}..."
