"""Rows that a queue does not take: named in an error, or kept in a table of their own."""

import re
import uuid
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from pyarrow import fs

from rockdove.client import Outgoing
from rockdove.core.errors import RockdoveError
from rockdove.spark.sink.option import REJECTS
from rockdove.spark.source.column import SCHEMA as OF_SOURCE

_SCHEMA: Final = pa.schema(
    [
        ("application", pa.string()),
        ("batch", pa.int64()),
        ("partition", pa.int32()),
        ("row", pa.int64()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("body", pa.string()),
        ("attributes", OF_SOURCE.field("attributes").type),
        ("delay_seconds", pa.int32()),
        ("group_id", pa.string()),
        ("deduplication_id", pa.string()),
    ]
)
# Rows that an error names.
_NAMED: Final = 5


class RowsRefused(RockdoveError):
    """Some rows cannot be sent; the message names them."""


class Reject(Struct, frozen=True):
    place: int
    code: str
    reason: str
    message: Outgoing | None


class Origin(Struct, frozen=True):
    """Which rows: those of a partition of a batch."""

    application: str
    batch: int
    partition: int

    def __str__(self) -> str:
        return f"batch {self.batch}, partition {self.partition}"


def refuse(origin: Origin, rejects: Sequence[Reject]) -> RowsRefused:
    rows = "; ".join(f"row {each.place} ({each.code}: {each.reason})" for each in rejects[:_NAMED])
    more = f" and {len(rejects) - _NAMED:,} more" if len(rejects) > _NAMED else ""
    return RowsRefused(
        f"{origin}: the queue does not take {rows}{more}. Rows are counted from 0; with the option {REJECTS} such rows "
        "go to a table there, and the others to the queue"
    )


def keep(path: str, origin: Origin, rejects: Sequence[Reject]) -> None:
    """Write them as Parquet, in one file for a partition, whatever the number of attempts at it.

    A file with as many rows stays: an attempt that comes too late is not told of all rows that the queue refused.
    """
    system, folder = _system(path)
    system.create_dir(folder, recursive=True)
    name = f"{re.sub(r'[^A-Za-z0-9-]', '-', origin.application)}-{origin.batch}-{origin.partition}.parquet"
    path = f"{folder}/{name}"
    if system.get_file_info(path).is_file and pq.read_metadata(path, filesystem=system).num_rows >= len(rejects):
        return
    rows = [_row(origin, each) for each in sorted(rejects, key=lambda each: each.place)]
    # Spark does not read files whose names begin so; two attempts at a time do not meet.
    draft = f"{folder}/_{uuid.uuid4().hex}-{name}"
    pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), draft, filesystem=system)
    system.move(draft, path)


def _system(path: str) -> tuple[fs.FileSystem, str]:
    if "://" in path or path.startswith("file:"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path)
        return found
    return fs.LocalFileSystem(), path


def _row(origin: Origin, reject: Reject) -> dict[str, Any]:
    message = reject.message
    row: dict[str, Any] = {
        "application": origin.application,
        "batch": origin.batch,
        "partition": origin.partition,
        "row": reject.place,
        "code": reject.code,
        "reason": reject.reason,
    }
    if message is not None:
        row |= {
            "body": message.body,
            "attributes": [(name, _attribute(value)) for name, value in (message.attributes or {}).items()],
            "delay_seconds": message.delay_s,
            "group_id": message.group_id,
            "deduplication_id": message.deduplication_id,
        }
    return row


def _attribute(value: Any) -> dict[str, Any]:
    return {"data_type": value.data_type, "string_value": value.string_value, "binary_value": value.binary_value}
