"""Entries as rows of the embedded store, and back."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from rockdove.core.message import Entry, Extra, Message

_decode_extra = msgspec.json.Decoder(Extra).decode


class EntryRow(msgspec.Struct, array_like=True, gc=False):
    """The columns of `rockdove.store.sqlite.statement.COLUMNS`."""

    id: int
    t: int
    rc: int
    first: int
    sent: int
    md5: str
    body: bytes
    extra: str | None


class _JsonEntryRow(msgspec.Struct, array_like=True, gc=False):
    """The same, without bytes: JSON has none."""

    id: int
    t: int
    rc: int
    first: int
    sent: int
    md5: str
    body: str
    extra: str | None


_decode_rows = msgspec.json.Decoder(list[_JsonEntryRow]).decode


def decode_rows(text: str) -> Sequence[_JsonEntryRow]:
    """Rows that came as one JSON document."""
    return _decode_rows(text)


def entry(row: EntryRow | _JsonEntryRow) -> Entry:
    extra = None if row.extra is None else _decode_extra(row.extra)
    body = row.body if isinstance(row.body, bytes) else row.body.encode()
    return Entry(row.id, row.t, Message(row.sent, body, row.md5, extra), row.rc, row.first)


def entries(rows: Iterable[tuple[Any, ...]]) -> list[Entry]:
    return [entry(EntryRow(*row)) for row in rows]
