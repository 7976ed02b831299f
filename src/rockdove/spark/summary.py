"""``summary.json``: the figures of everything and of each queue, for programs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from rockdove.spark.figure import TableRows

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

# The columns that they are made of: one for each name, but of times three.
_FLAT: Final = [
    column
    for name in _NAMES
    for column in ([f"{name[:-3]}_{at}_ms" for at in _PERCENTILES] if name.endswith("_ms") else [name])
]

Row = Mapping[str, Any]


def summary(first: int, last: int, overall: Row, queues: TableRows) -> dict[str, Any]:
    """`first` and `last` are microseconds since 1970; rows have the columns of the table ``queues/``."""
    columns = [queues.column(name) for name in _FLAT]
    return {
        "format": FORMAT,
        "from": moment(first),
        "to": moment(last),
        "overall": _figures([overall[name] for name in _FLAT]),
        "queues": dict(zip(queues.column("name"), map(_figures, zip(*columns, strict=True)), strict=True)),
    }


def _figures(values: Sequence[Any]) -> dict[str, Any]:
    """From the values of the columns."""
    following = iter(values)
    return {
        name: dict(zip(_PERCENTILES, islice(following, len(_PERCENTILES)), strict=True))
        if name.endswith("_ms")
        else next(following)
        for name in _NAMES
    }


def moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
