"""What a round of a controller remembers and decides."""

from enum import StrEnum

from msgspec import Struct


class Act(StrEnum):
    """ADD: workers, each with a physical queue. ELECT: the one that may go. REDUCE: its share. CANCEL: it stays.
    DRAIN: it gets nothing more, and is not empty yet. REMOVE: it goes.
    """

    ADD = "add"
    ELECT = "elect"
    REDUCE = "reduce"
    CANCEL = "cancel"
    DRAIN = "drain"
    REMOVE = "remove"


class Decision(Struct, frozen=True, omit_defaults=True):
    """``workers``: how many are added. ``number``: of the physical queue."""

    act: Act
    reason: str
    workers: int = 0
    number: int | None = None


class Removal(Struct, frozen=True):
    """A physical queue that may go, the share that it had, and how many rounds its share was lowered."""

    number: int
    share: float
    rounds: int = 0


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one round tells the next. Times are of the same clock as `Measured.now_s`.

    ``acted_s``: when workers were last added or removed. ``looked_s``: when a rule that does not look each round has
    looked. ``seen``: what it saw, and when; of the last while only. ``admitted``: clients' rates by physical queue,
    where clients stay with one.
    """

    removal: Removal | None = None
    acted_s: float | None = None
    looked_s: float | None = None
    seen: tuple[tuple[float, float], ...] = ()
    admitted: dict[int, float] = {}


class Step(Struct, frozen=True):
    """``shares`` are of the members, in their order. ``target``: workers that are thought right."""

    state: State
    shares: tuple[float, ...]
    decisions: tuple[Decision, ...]
    target: int

    @property
    def added(self) -> int:
        return sum(decision.workers for decision in self.decisions if decision.act is Act.ADD)

    @property
    def removed(self) -> list[int]:
        return [each.number for each in self.decisions if each.act is Act.REMOVE and each.number is not None]
