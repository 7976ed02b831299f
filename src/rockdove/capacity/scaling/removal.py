"""The last physical queue goes: its share is lowered round by round, then it is drained, then it is removed."""

from collections.abc import Sequence

from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.share import lowered
from rockdove.capacity.scaling.step import Act, Decision, Removal

# Rounds until its share is zero.
ROUNDS = 5


def elect(measured: Measured, parts: Sequence[float], reason: str) -> tuple[Removal, Decision]:
    """The last one that was added."""
    last = measured.members[-1]
    share = parts[-1]
    return Removal(last.number, share), Decision(Act.ELECT, f"{reason}: the last one may go", number=last.number)


def go_on(measured: Measured, parts: Sequence[float], removal: Removal) -> tuple[Removal | None, list[float], Decision]:
    """The next round of it. No removal: it is removed."""
    at = next(at for at, member in enumerate(measured.members) if member.number == removal.number)
    member, rounds = measured.members[at], removal.rounds + 1
    left = max(1 - rounds / ROUNDS, 0.0)
    parts = lowered(parts, at, removal.share * left)
    removal = Removal(removal.number, removal.share, min(rounds, ROUNDS))
    if left > 0:
        return removal, parts, Decision(Act.REDUCE, f"its share is {parts[at]:.0%}", number=member.number)
    if rounds == ROUNDS or not member.is_empty:
        # What was sent before it had no share may be on its way.
        held = f"{member.load:.0f} messages wait and {member.in_flight:.0f} are in flight"
        return removal, parts, Decision(Act.DRAIN, f"its share is 0; {held}", number=member.number)
    return None, parts, Decision(Act.REMOVE, "it has no share and is empty", number=member.number)
