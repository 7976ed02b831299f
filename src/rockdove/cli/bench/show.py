"""What a bench found, for people: one table with a column for each service."""

from collections.abc import Sequence

from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount
from rockdove.cli.output import Output
from rockdove.workload import MeasuredRow, Report, Times

_UNKNOWN = "-"


def show(report: Report, output: Output) -> None:
    """Raises `Failure` if the workload was interrupted, has lost messages, or events of its trace."""
    if output.as_json:
        output.document(report)
    elif report.rows:
        lines = zip(*(_column(row, report.rows[0]) for row in report.rows), strict=True)
        table = [[cells[0][0], *(figure for _, figure in cells)] for cells in lines]
        # What did not happen anywhere is left out, apart from losses and duplicates.
        output.table(("", *(row.endpoint for row in report.rows)), [line for line in table if any(line[1:])])
    if report.interrupted:
        raise Failure("interrupted: these are the figures up to then, and losses are not known", Code.INTERRUPTED)
    _judge(report.rows)


def _column(row: MeasuredRow, first: MeasuredRow) -> list[tuple[str, str]]:
    """Names and figures; an empty figure is nothing to tell."""
    return [
        ("messages sent", f"{row.sent:,}"),
        ("sends/s", _rate(row.send_rate, None if row is first else first.send_rate)),
        ("receive+deletes/s", _rate(row.receive_delete_rate, None if row is first else first.receive_delete_rate)),
        ("send ms, p50 / p95 / p99", _times(row.send_ms)),
        ("receive ms", _times(row.receive_ms)),
        ("delete ms", _times(row.delete_ms)),
        ("duplicates", _count(row.duplicates, row.duplication_rate)),
        ("lost", _count(row.lost, row.loss_rate)),
        ("out of order", _share(row.out_of_order_rate)),
        ("displacement", _UNKNOWN if row.displacement is None else f"{row.displacement:.2f}"),
        ("damaged", _some(row.corrupt)),
        ("requests that failed", _some(row.failures)),
        ("requests dropped", _some(row.dropped_requests)),
        ("answers dropped", _some(row.dropped_responses)),
        ("crashes", _some(row.crashes)),
        ("left to the drain", _some(row.drained)),
    ]


def _rate(rate: float | None, first: float | None) -> str:
    if rate is None:
        return _UNKNOWN
    text = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
    return f"{text} ({rate / first:.2f})" if first else text


def _times(times: Times) -> str:
    parts = (times.p50, times.p95, times.p99)
    return " / ".join(_UNKNOWN if one is None else f"{one:.1f}" for one in parts)


def _count(number: int | None, share: float | None) -> str:
    if number is None:
        return _UNKNOWN
    return f"{number:,} ({_share(share)})" if number else "0"


def _share(share: float | None) -> str:
    return _UNKNOWN if share is None else f"{share:.2%}"


def _some(number: int) -> str:
    return f"{number:,}" if number else ""


def _judge(rows: Sequence[MeasuredRow]) -> None:
    if lost := [f"{amount(row.lost, 'message')} at {row.endpoint}" for row in rows if row.lost]:
        raise Failure(f"lost: {', '.join(lost)}")
    if untraced := sum(row.untraced for row in rows):
        raise Failure(
            f"the trace is not whole: {amount(untraced, 'event')} could not be written in time, or at all; the figures "
            "above are. Use fewer threads, or a quicker disk or a quieter machine, to trace everything"
        )
