"""Traces made by hand: events with what matters, written as a recorder would."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rockdove.trace.schema import schema

BEGIN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

Event = dict[str, Any]


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(microseconds=round(seconds * 1e6))


def event(op: str, seconds: float, message: str | None = None, **more: Any) -> Event:
    """An event of the server's side that went well; times among `more` are in seconds, too."""
    whole = dict.fromkeys(schema().names)
    whole |= {"event_time": at(seconds), "op": op, "message_id": message, "node": "one", "side": "server"}
    whole |= {"account": "000000000000", "queue": "jobs", "status": 200}
    times = {name: at(value) for name, value in more.items() if name.endswith("_at") and value is not None}
    return whole | more | times


def sent(message: str, seconds: float, **more: Any) -> Event:
    return event("send", seconds, message, **{"sent_at": seconds, "enqueued_at": seconds, **more})


def received(message: str, seconds: float, since: float | None = None, **more: Any) -> Event:
    return event("receive", seconds, message, **{"dequeued_at": seconds, "enqueued_at": since, **more})


def write(folder: Path, events: Iterable[Event], name: str = "part") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    # Others may leave out what a recorder never does.
    columns = pa.schema([field.with_nullable(True) for field in schema()])
    pq.write_table(pa.Table.from_pylist(list(events), schema=columns), folder / f"{name}.parquet")
    return folder


def odd() -> list[Event]:
    """Rows that are no events."""
    far = 9_000_000_000_000_000_000
    without: list[Event] = [{"queue": None}, {"op": "shout"}, {"op": None}]
    wrong: list[Event] = [{name: time} for name in ("event_time", "dequeued_at") for time in (far, -far)]
    return [sent("a", 0) | changed for changed in without + wrong]
