"""Events to write, and files to read back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rockdove.trace import Event, schema
from rockdove.trace.folder import stored


def event(number: int, time_us: int, **values: Any) -> Event:
    return Event(time_us, "000000000000", "jobs", 0, "send", message_id=f"id-{number:06}", status=200, **values)


def files(folder: Path) -> list[Path]:
    return sorted(file.path for file in stored(folder))


def rows(folder: Path) -> list[dict[str, Any]]:
    """All rows, of files that all have the schema exactly."""
    return [row for path in files(folder) for row in _rows(path)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path) as file:
        assert file.schema_arrow.equals(schema())
        yield from file.read().to_pylist()


def numbers(folder: Path) -> list[int]:
    names = [name for path in files(folder) for name in _names(path)]
    return sorted(int(name.removeprefix("id-")) for name in names)


def incomplete(folder: Path) -> list[Path]:
    return list(folder.glob("date=*/hour=*/.*"))


def _names(path: Path) -> list[str]:
    with pq.ParquetFile(path) as file:
        names: list[str] = file.read(columns=["message_id"])["message_id"].to_pylist()
    return names
