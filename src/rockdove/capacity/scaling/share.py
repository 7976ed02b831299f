"""Flow control: which physical queue gets which part of new messages.

The paper's formula: what a physical queue consumed in the last round, less what it holds above the average, over all
that was consumed. Three cases that the paper leaves open:

- Parts that would be below zero are cut off, so the sum may differ from 1: all are divided by it.
- If nothing was consumed, at the start or when nothing came, the formula divides by zero. Then parts are equal, less
  what each holds above the average: ``max(1 - (l - l_avg) / (l_avg + 1), 0)``.
- If all parts are cut off, or nobody is up, parts of those that are up, or of all, are equal.
"""

from collections.abc import Sequence

from rockdove.capacity.scaling.measured import Member

# What is less is nothing.
LEAST = 1e-9


def shares(members: Sequence[Member]) -> list[float]:
    """Their sum is 1; those that are not up have none, unless nobody is up."""
    up = [member for member in members if member.is_up] or list(members)
    if not up:
        return []
    total = sum(member.consumed for member in up)
    average = sum(member.load for member in up) / len(up)
    if total >= LEAST:
        parts = [max(member.consumed - (member.load - average), 0.0) / total for member in up]
    else:
        parts = [max(1 - (member.load - average) / (average + 1), 0.0) for member in up]
    whole = sum(parts)
    if not whole >= LEAST:
        parts, whole = [1.0] * len(up), float(len(up))
    by_number = {member.number: part / whole for member, part in zip(up, parts, strict=True)}
    return [by_number.get(member.number, 0.0) for member in members]


def lowered(parts: Sequence[float], at: int, most: float) -> list[float]:
    """One gets at most so much; the others share the rest as before."""
    if len(parts) == 1:
        return list(parts)
    part = min(parts[at], most)
    others = sum(parts) - parts[at]
    if not others >= LEAST:
        # Nobody else takes anything: equal parts.
        return [part if number == at else (1 - part) / (len(parts) - 1) for number in range(len(parts))]
    return [part if number == at else each * (1 - part) / others for number, each in enumerate(parts)]
