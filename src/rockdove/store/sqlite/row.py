"""Entries as rows of the embedded store, and back."""

from collections.abc import Iterable
from typing import Any

import msgspec

from rockdove.core.message import Entry, Extra, Message

_decode_extra = msgspec.json.Decoder(Extra).decode


class Row(msgspec.Struct, array_like=True, gc=False):
    """The columns of `rockdove.store.sqlite.statement.COLUMNS`."""

    id: int
    t: int
    rc: int
    first: int
    sent: int
    md5: str
    body: str
    extra: str | None


decode_rows = msgspec.json.Decoder(list[Row]).decode


def entry(row: Row) -> Entry:
    extra = None if row.extra is None else _decode_extra(row.extra)
    return Entry(row.id, row.t, Message(row.sent, row.body, row.md5, extra), row.rc, row.first)


def entries(rows: Iterable[tuple[Any, ...]]) -> list[Entry]:
    return [entry(Row(*row)) for row in rows]
