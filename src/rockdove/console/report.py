"""A report of `rockdove analyse`: its figures from summary.json, and its windows from Parquet."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from rockdove.console.wrong import Wrong
from rockdove.core.errors import MissingExtra

FORMAT: Final = 1
# What is read as a whole: that of a hundred thousand queues.
_MOST_BYTES: Final = 256 << 20
# Points of a chart; where there are more windows, some are put together.
POINTS: Final = 1_500
# Queues that a page is sent, those to look at first; it asks for others by name.
ROWS: Final = 500

Row = dict[str, Any]
Columns = dict[str, list[Any]]

# Of the windows: the mean of some together, and the most of them.
_MEANS: Final = (
    "send_rate",
    "receive_delete_rate",
    "out_of_order_rate",
    "displacement",
    "duplication_rate",
    "loss_rate",
    "miss_ratio",
    "utilisation",
)
_MOSTS: Final = (
    "waiting",
    "in_flight",
    "response_p50_ms",
    "response_p95_ms",
    "response_p99_ms",
    "delivery_p50_ms",
    "delivery_p95_ms",
    "delivery_p99_ms",
)
_SUMS: Final = ("lost", "duplicates", "failed")


class Summary(Struct, frozen=True):
    """See docs/reference/analysis.md."""

    format: int
    overall: Row
    queues: dict[str, Row]
    problems: list[dict[str, str]] = []
    begin: str | None = msgspec.field(default=None, name="from")
    end: str | None = msgspec.field(default=None, name="to")

    def rows(self, search: str) -> list[Row]:
        """Of queues with this in their name: first those that have lost most, then those with most duplicates."""
        wanted = search.casefold()
        rows = [{"name": name, **figures} for name, figures in self.queues.items() if wanted in name.casefold()]
        return sorted(rows, key=_concern)


def _concern(row: Row) -> tuple[float, float, float, str]:
    return -(row.get("lost") or 0), -(row.get("duplicates") or 0), -(row.get("sent") or 0), row["name"]


class _Head(Struct):
    format: int


def summary(folder: Path) -> Summary:
    """Raises `Wrong`."""
    path = folder / "summary.json"
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise Wrong(f"{path} is too large to be shown. Read the tables beside it instead.")
        content = path.read_bytes()
        written = msgspec.json.decode(content, type=_Head).format
        if written != FORMAT:
            raise Wrong(f"{path} has format {written}, and this console reads format {FORMAT}: analyse the trace anew.")
        return msgspec.json.decode(content, type=Summary)
    except OSError as error:
        raise Wrong(f"{path} cannot be read: {error.strerror}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Wrong(f"{path} is no summary of rockdove analyse: {error}.") from None


def windows(folder: Path, queue: str | None) -> Columns:
    """Of a queue, or of all together. Raises `Wrong`, and `MissingExtra`."""
    require_parquet()
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    name = pc.field("name")
    wanted = ("window_start", *_MEANS, *_MOSTS, *_SUMS)
    try:
        table = ds.dataset(folder / "windows", format="parquet")
        columns = [column for column in wanted if column in table.schema.names]
        rows = table.to_table(columns=columns, filter=name.is_null() if queue is None else name == queue)
    except (OSError, pa.ArrowException) as error:
        raise Wrong(f"The table {folder / 'windows'} cannot be read: {error}") from None
    found = rows.sort_by("window_start").to_pydict()
    times: list[datetime] = found.pop("window_start")
    return thinned({"time": [_seconds(time) for time in times], **found})


def _seconds(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def require_parquet() -> None:
    """Raises `MissingExtra`."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "This table is Parquet, and to read it takes pyarrow. Install it with: pip install 'rockdove[trace]', "
            "then start the console again."
        ) from None


def thinned(columns: Mapping[str, Sequence[Any]]) -> Columns:
    """Some windows together, where there are more than a chart has room for; ``each`` says how many."""
    each = max(1, math.ceil(len(columns["time"]) / POINTS))
    found = {name: [_together(name, part) for part in _parts(column, each)] for name, column in columns.items()}
    return {**found, "each": [each]}


def _parts(column: Sequence[Any], each: int) -> list[Sequence[Any]]:
    return [column[place : place + each] for place in range(0, len(column), each)]


def _together(name: str, part: Sequence[Any]) -> Any:
    known = [value for value in part if value is not None]
    if not known:
        return None
    if name == "time":
        return known[0]
    if name in _MEANS:
        return sum(known) / len(known)
    return sum(known) if name in _SUMS else max(known)
