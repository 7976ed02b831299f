"""Rows that a queue does not take: named in an error, or kept in a table of their own."""

import contextlib
import hashlib
import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from pyarrow.fs import FileSelector

from rockdove.core.errors import RockdoveError
from rockdove.spark.sink.folder import find
from rockdove.spark.sink.option import REJECTS
from rockdove.spark.sink.row import SinkRow
from rockdove.spark.source.column import SCHEMA as OF_SOURCE

_SCHEMA: Final = pa.schema(
    [
        ("queue", pa.string()),
        ("application", pa.string()),
        ("batch", pa.int64()),
        ("partition", pa.int32()),
        ("row", pa.int64()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("body", pa.string()),
        ("body_binary", pa.binary()),
        ("attributes", OF_SOURCE.field("attributes").type),
        ("delay_seconds", pa.int64()),
        ("group_id", pa.string()),
        ("deduplication_id", pa.string()),
    ]
)
# Rows that an error names.
_NAMED: Final = 5


class RowsRefused(RockdoveError):
    """Some rows cannot be sent; the message names them."""


class Reject(Struct, frozen=True):
    row: SinkRow
    code: str
    reason: str


class Origin(Struct, frozen=True):
    """Which rows: those of a partition of a batch."""

    application: str
    batch: int
    partition: int

    def __str__(self) -> str:
        return f"batch {self.batch}, partition {self.partition}"


def refuse(origin: Origin, rejects: Sequence[Reject]) -> RowsRefused:
    rows = "; ".join(f"row {each.row.place} ({each.code}: {each.reason})" for each in rejects[:_NAMED])
    more = f" and {len(rejects) - _NAMED:,} more" if len(rejects) > _NAMED else ""
    return RowsRefused(
        f"{origin}: the queue does not take {rows}{more}. Rows are counted from 0; with the option {REJECTS} such rows "
        "go to a table there, and the others to the queue"
    )


def keep(path: str, queue: str, origin: Origin, rejects: Sequence[Reject]) -> None:
    """Write them as Parquet, in one file for a partition, whatever the number of attempts at it.

    A file's name tells what is in it: whose rejects they are, and which. So nobody writes over others', and a file that
    is there is the same, but perhaps for the order of rows, which Spark does not promise. Raises `RowsRefused` if it
    cannot be written.
    """
    written = draft(path, queue, origin, rejects)
    system, folder = find(path)
    if system.get_file_info(f"{folder}/{_final(written)}").is_file:
        forget(path, [written])
        return
    system.move(f"{folder}/{written}", f"{folder}/{_final(written)}")


def draft(path: str, queue: str, origin: Origin, rejects: Sequence[Reject]) -> str:
    """Write them to a file that Spark does not read: those of a batch count when it is published. The file's name."""
    rows = [_row(queue, origin, each) for each in sorted(rejects, key=lambda each: each.row.place)]
    name = f"{_batch(queue, origin.application, origin.batch)}{origin.partition}-{_digest(rows)}.parquet"
    # Spark does not read files whose names begin so; two attempts at a time do not meet.
    name = f"_{uuid.uuid4().hex}-{name}"
    system, folder = find(path)
    try:
        system.create_dir(folder, recursive=True)
        pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), f"{folder}/{name}", filesystem=system)
    except OSError as error:
        raise RowsRefused(
            f"{origin}: the option {REJECTS}: {path} cannot be written, and there are {len(rejects):,} rows for it: "
            f"{error}"
        ) from None
    return name


def settle(path: str, queue: str, application: str, batch: int, drafts: Sequence[str]) -> None:
    """The rejects of a batch are those in these files, and no others."""
    system, folder = find(path)
    own, kept = _batch(queue, application, batch), {_final(name) for name in drafts}
    for there in system.get_file_info(FileSelector(folder, allow_not_found=True)):
        if there.base_name.startswith(own) and there.base_name not in kept:
            system.delete_file(there.path)
    for name in drafts:
        system.move(f"{folder}/{name}", f"{folder}/{_final(name)}")


def forget(path: str, drafts: Sequence[str]) -> None:
    system, folder = find(path)
    for name in drafts:
        # Somebody who tidied up was first.
        with contextlib.suppress(FileNotFoundError):
            system.delete_file(f"{folder}/{name}")


def _final(draft: str) -> str:
    """The name of a file that counts."""
    return draft.partition("-")[2]


def _batch(queue: str, application: str, batch: int) -> str:
    """What the names of all files of a batch begin with."""
    whose = hashlib.sha256(f"{queue}\n{application}".encode()).hexdigest()[:16]
    return f"{whose}-{batch}-"


def _digest(rows: Sequence[dict[str, Any]]) -> str:
    texts = sorted(msgspec.json.encode({**row, "row": None}) for row in rows)
    return hashlib.sha256(b"\n".join(texts)).hexdigest()[:32]


def _row(queue: str, origin: Origin, reject: Reject) -> dict[str, Any]:
    message, wrong = reject.row.message, reject.row.wrong
    body = message.body if wrong is None else wrong.body
    return {
        "queue": queue,
        "application": origin.application,
        "batch": origin.batch,
        "partition": origin.partition,
        "row": reject.row.place,
        "code": reject.code,
        "reason": reject.reason,
        "body": body if isinstance(body, str) else None,
        "body_binary": body if isinstance(body, bytes) else None,
        "attributes": [(name, _attribute(value)) for name, value in (message.attributes or {}).items()],
        "delay_seconds": message.delay_s,
        "group_id": message.group_id,
        "deduplication_id": message.deduplication_id,
    }


def _attribute(value: Any) -> dict[str, Any]:
    return {"data_type": value.data_type, "string_value": value.string_value, "binary_value": value.binary_value}
