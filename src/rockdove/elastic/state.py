"""What a controller publishes: for the one after it, and for those who look at it."""

import msgspec
from msgspec import Struct

from rockdove.capacity.scaling.step import Act, State
from rockdove.core.limits import MAX_ELASTIC_STATE_BYTES

# Decisions that are published.
MOST_DECISIONS = 50


class ShownWorker(Struct, frozen=True, kw_only=True, rename="camel"):
    """A physical queue and its worker. ``state``: up, starting, draining, away or silent."""

    number: int
    state: str
    load: int
    in_flight: int
    share: float
    machine: str | None = None
    done: int | None = None
    failed: int = 0


class Decided(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """``at``: seconds since 1970."""

    at: float
    act: Act
    reason: str
    workers: int = 0
    number: int | None = None


class Published(Struct, frozen=True, kw_only=True, rename="camel"):
    """``arrival``: messages a second. ``service_s``: of a worker for a message, if known. ``watched``: whether a watch
    told them. ``rule``: what the rule remembers."""

    at: float
    policy: str
    target: int
    machines: int
    arrival: float | None
    growth: float
    service_s: float | None
    failure: float
    workers: list[ShownWorker]
    decisions: list[Decided]
    rule: State
    watched: bool = False


def write(published: Published) -> str:
    """With fewer decisions, if there is no room for all, and in the end without workers."""
    while True:
        text = msgspec.json.encode(published).decode()
        if len(text) <= MAX_ELASTIC_STATE_BYTES:
            return text
        if published.decisions:
            decisions = published.decisions[(len(published.decisions) + 1) // 2 :]
            published = msgspec.structs.replace(published, decisions=decisions)
        elif published.workers:
            published = msgspec.structs.replace(published, workers=[])
        else:
            published = msgspec.structs.replace(published, rule=State(removal=published.rule.removal))


def read(text: str | None) -> Published | None:
    """None: nobody has published anything, or nothing that can be read."""
    try:
        return None if text is None else msgspec.json.decode(text, type=Published)
    except msgspec.MsgspecError:
        return None
