"""From what was seen to figures: rates, times, duplicates, losses and order."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from rockdove.workload.journal import Deleted, Got, Notes, Sent
from rockdove.workload.order import arrival, displacement, out_of_order, ranks

_SECOND_US = 1_000_000


class Times(Struct, frozen=True):
    """Response times in milliseconds; None without a single answer."""

    p50: float | None
    p95: float | None
    p99: float | None


class MeasuredRow(Struct, frozen=True, kw_only=True):
    """The figures of one endpoint. Rates with a second in them are per second; the others are shares of what was sent.

    ``lost`` and what follows from it is None unless there was a drain to the end.
    """

    endpoint: str
    rounds: int = 1
    sent: int
    received: int
    deleted: int
    duplicates: int
    lost: int | None
    corrupt: int
    # Messages outside the longest increasing subsequence, of the ``ordered`` ones: each that came whole, once.
    out_of_order: int
    ordered: int
    duplication_rate: float | None
    loss_rate: float | None
    out_of_order_rate: float | None
    displacement: float | None
    send_rate: float | None
    receive_delete_rate: float | None
    send_ms: Times
    receive_ms: Times
    delete_ms: Times
    misses: int
    failures: int
    dropped_requests: int
    dropped_responses: int
    crashes: int
    # Messages that came only in the drain.
    drained: int
    # Events that the trace could not take.
    untraced: int = 0


class Round(Struct):
    """What was seen of one endpoint in one round: by the workload, and, if it came to that, by the drain."""

    notes: Notes
    drain: Notes | None


def row(endpoint: str, round_: Round) -> MeasuredRow:
    notes, drain = round_.notes, round_.drain or Notes()
    got, sent = [*notes.got, *drain.got], notes.sent
    came = {(one.queue, one.sender, one.seq) for one in got if one.seq >= 0}
    lost = len({(one.queue, one.sender, one.seq) for one in sent} - came)
    whole = sum(one.seq >= 0 for one in got)
    moved, distance, ordered = _order(got, sent)
    is_final = round_.drain is not None
    return MeasuredRow(
        endpoint=endpoint,
        sent=len(sent),
        received=len(got),
        deleted=len(notes.deleted) + len(drain.deleted),
        duplicates=whole - len(came),
        lost=lost if is_final else None,
        corrupt=len(got) - whole,
        out_of_order=moved,
        ordered=ordered,
        duplication_rate=_share(whole - len(came), len(sent)),
        loss_rate=_share(lost, len(sent)) if is_final else None,
        out_of_order_rate=_share(moved, ordered),
        displacement=_share(distance, ordered),
        send_rate=_send_rate(sent),
        receive_delete_rate=_receive_delete_rate(notes.got, notes.deleted),
        send_ms=times([one.latency_us for one in sent]),
        receive_ms=times([one.latency_us for one in notes.got]),
        delete_ms=times([one.latency_us for one in notes.deleted]),
        misses=notes.misses,
        failures=notes.failures + drain.failures,
        dropped_requests=notes.dropped_requests,
        dropped_responses=notes.dropped_responses,
        crashes=notes.crashes,
        drained=len(drain.got),
        untraced=notes.untraced,
    )


def _order(got: Sequence[Got], sent: Sequence[Sent]) -> tuple[int, int, int]:
    """Messages out of order, the sum of displacements, and of how many, over all queues."""
    gots: dict[int, list[Got]] = {}
    sents: dict[int, list[Sent]] = {}
    for one in got:
        gots.setdefault(one.queue, []).append(one)
    for each in sent:
        sents.setdefault(each.queue, []).append(each)
    moved = distance = ordered = 0
    for queue, received in gots.items():
        came = arrival(received)
        places = ranks(came, sents.get(queue, []))
        moved += out_of_order(places)
        distance += displacement(places)
        ordered += len(places)
    return moved, distance, ordered


def _send_rate(sent: Sequence[Sent]) -> float | None:
    """From the first request to the last answer."""
    if not sent:
        return None
    return _rate(len(sent), max(one.ended_us for one in sent) - min(one.began_us for one in sent))


def _receive_delete_rate(got: Sequence[Got], deleted: Sequence[Deleted]) -> float | None:
    """Cycles of a receive and its delete, from the first receive that brought something to the last delete."""
    if not deleted:
        return None
    began_us = min(one.ended_us - one.latency_us for one in got)
    return _rate(len(deleted), max(one.ended_us for one in deleted) - began_us)


def _rate(number: int, time_us: int) -> float | None:
    return number * _SECOND_US / time_us if time_us > 0 else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def times(latencies_us: Sequence[int]) -> Times:
    """Nearest ranks: each is a time that was measured."""
    ordered = sorted(latencies_us)
    if not ordered:
        return Times(None, None, None)
    return Times(*(ordered[math.ceil(share * len(ordered)) - 1] / 1000 for share in (0.50, 0.95, 0.99)))


_COUNTS = (
    "rounds",
    "sent",
    "received",
    "deleted",
    "duplicates",
    "corrupt",
    "out_of_order",
    "ordered",
    "misses",
    "failures",
    "dropped_requests",
    "dropped_responses",
    "crashes",
    "drained",
    "untraced",
)


def combined(rows: Sequence[MeasuredRow]) -> MeasuredRow:
    """Several rounds of one endpoint: sums of what is counted, the median of what has a time in it."""
    sums = Counter[str]()
    for one in rows:
        sums.update({name: getattr(one, name) for name in _COUNTS})
    lost = [one.lost for one in rows if one.lost is not None]
    is_final = len(lost) == len(rows)
    distances = [one.displacement * one.ordered for one in rows if one.displacement is not None]
    return MeasuredRow(
        endpoint=rows[0].endpoint,
        **dict(sums),
        lost=sum(lost) if is_final else None,
        duplication_rate=_share(sums["duplicates"], sums["sent"]),
        loss_rate=_share(sum(lost), sums["sent"]) if is_final else None,
        out_of_order_rate=_share(sums["out_of_order"], sums["ordered"]),
        displacement=sum(distances) / sums["ordered"] if sums["ordered"] else None,
        send_rate=_median([one.send_rate for one in rows]),
        receive_delete_rate=_median([one.receive_delete_rate for one in rows]),
        send_ms=_median_times([one.send_ms for one in rows]),
        receive_ms=_median_times([one.receive_ms for one in rows]),
        delete_ms=_median_times([one.delete_ms for one in rows]),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _median_times(many: Sequence[Times]) -> Times:
    return Times(*(_median([getattr(one, name) for one in many]) for name in ("p50", "p95", "p99")))
