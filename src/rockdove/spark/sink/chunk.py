"""Rows in chunks that fit into one request, without those that fit into none."""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.spark.sink.reject import Origin, Reject
from rockdove.spark.sink.row import SinkRow


class Chunk(Struct):
    """Rows for one request, and the rows found on the way to it that cannot be sent at all."""

    rows: list[SinkRow] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)


def cut(rows: Iterable[SinkRow], most: int) -> Iterator[Chunk]:
    """Together as large as one message may be: in its most wasteful encoding a request has room for that."""
    chunk, room = Chunk(), MAX_MESSAGE_BYTES
    for row in rows:
        if row.wrong is not None:
            chunk.rejects.append(Reject(row, row.wrong.code, row.wrong.reason))
            continue
        size = row.message.size_bytes
        if size > MAX_MESSAGE_BYTES:
            reason = f"{size:,} bytes are more than the {MAX_MESSAGE_BYTES:,} that a message may have"
            chunk.rejects.append(Reject(row, "MessageTooLong", reason))
            continue
        if len(chunk.rows) == most or size > room:
            yield chunk
            chunk, room = Chunk(), MAX_MESSAGE_BYTES
        chunk.rows.append(row)
        room -= size
    if chunk.rows or chunk.rejects:
        yield chunk


def deduplicated(rows: Iterable[SinkRow], origin: Origin) -> Iterator[SinkRow]:
    """For FIFO queues: rows that bring no deduplication id get one that is the same in every attempt."""
    for row in rows:
        if row.message.deduplication_id is not None:
            yield row
            continue
        name = f"{origin.application}/{origin.batch}/{origin.partition}/{row.place}"
        yield _named(row, hashlib.sha256(name.encode()).hexdigest())


def plain(rows: Iterable[SinkRow]) -> Iterator[SinkRow]:
    """For standard queues, which have no deduplication and refuse ids for it: rows of a FIFO queue can be sent on."""
    for row in rows:
        yield row if row.message.deduplication_id is None else _named(row, None)


def _named(row: SinkRow, own: str | None) -> SinkRow:
    return replace(row, message=replace(row.message, deduplication_id=own))
