"""``summary.json``: the figures of everything and of each queue, for programs."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

# The format of the summary and of the tables beside it; raised when a name changes its meaning or goes away.
FORMAT: Final = 1

_NAMES: Final = (
    "sent",
    "received",
    "deleted",
    "expired",
    "dead_lettered",
    "duplicates",
    "lost",
    "duplication_rate",
    "loss_rate",
    "out_of_order_rate",
    "displacement",
    "send_rate",
    "receive_delete_rate",
    "response_ms",
    "delivery_ms",
    "miss_ratio",
    "messages_per_hit",
    "utilisation",
)
_PERCENTILES: Final = ("p50", "p95", "p99")

Row = Mapping[str, Any]


def summary(first: int, last: int, overall: Row, queues: Iterable[Row]) -> dict[str, Any]:
    """`first` and `last` are microseconds since 1970; rows have the columns of the table ``queues/``."""
    return {
        "format": FORMAT,
        "from": moment(first),
        "to": moment(last),
        "overall": _figures(overall),
        "queues": {row["name"]: _figures(row) for row in queues},
    }


def _figures(row: Row) -> dict[str, Any]:
    return {name: _percentiles(row, name[:-3]) if name.endswith("_ms") else row[name] for name in _NAMES}


def _percentiles(row: Row, kind: str) -> dict[str, Any]:
    return {at: row[f"{kind}_{at}_ms"] for at in _PERCENTILES}


def moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
