"""What a bench hands over: one document, in the form that every bench of the house has."""

from collections.abc import Sequence

from msgspec import Struct

from rockdove.workload.machine import Machine, this_machine
from rockdove.workload.measure import MeasuredRow
from rockdove.workload.workload import Workload

# What is compared between endpoints, with what it is called there.
COMPARED = {"send_rate": "send", "receive_delete_rate": "receive+delete"}


class Report(Struct, frozen=True):
    """``holds`` says only what was measured: after an interruption, nothing about losses."""

    bench: str
    machine: Machine
    command: str
    rows: list[MeasuredRow]
    ratios: dict[str, float]
    holds: dict[str, bool]
    workload: Workload
    interrupted: bool


def report(bench: str, command: str, workload: Workload, rows: Sequence[MeasuredRow], interrupted: bool) -> Report:
    return Report(bench, this_machine(), command, [*rows], ratios(rows), holds(rows), workload, interrupted)


def ratios(rows: Sequence[MeasuredRow]) -> dict[str, float]:
    """With one endpoint, of its own rates; with several, of each to the first."""
    if len(rows) == 1:
        own = _ratio(rows[0].receive_delete_rate, rows[0].send_rate)
        return {} if own is None else {"receive+delete / send": own}
    found: dict[str, float] = {}
    for one in rows[1:]:
        for field, name in COMPARED.items():
            ratio = _ratio(getattr(one, field), getattr(rows[0], field))
            if ratio is not None:
                found[f"{name}: {one.endpoint} / {rows[0].endpoint}"] = ratio
    return found


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def holds(rows: Sequence[MeasuredRow]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for one in rows:
        at = "" if len(rows) == 1 else f" at {one.endpoint}"
        if one.lost is not None:
            found[f"no message is lost{at}"] = one.lost == 0
        found[f"every checksum is right{at}"] = one.corrupt == 0
    return found
