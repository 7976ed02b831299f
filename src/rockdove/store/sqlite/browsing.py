"""Looking at the messages of the embedded store.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Sequence
from typing import Any

import apsw

from rockdove.core import ids as entry_ids
from rockdove.core.message import Entry
from rockdove.store.base import MOST_PASSED, Done, Page, Physical, Scanned, Sight
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.row import decode_rows, entries, entry
from rockdove.store.sqlite.shelf import Shelf
from rockdove.store.sqlite.standard import StandardQueue
from rockdove.store.sqlite.writer import Writer


class SqliteBrowsing:
    """See `rockdove.store.base.Browsing`. The calls run in the writer's thread, like all others."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def oldest(self, physical: Physical, done: Done[int | None]) -> None:
        number = physical.record.number
        low = entry_ids.entry_id(number, 0)
        arguments = (low, low | entry_ids.SEQUENCE_MASK, number)

        def call(db: apsw.Connection) -> int | None:
            return db.execute(statement.OLDEST_SENT, arguments).get  # type: ignore[no-any-return]

        self._writer.call(call, done)

    def sight(self, physical: Physical, limit: int, done: Done[list[Sight]]) -> None:
        shelf = _shelf(physical)

        def call(db: apsw.Connection) -> list[Sight]:
            rows: Any = db.execute(statement.SIGHT, (shelf.record.number, limit))
            return [Sight(shelf.shown_us(t, rc, sent), id, size) for id, t, rc, sent, size in rows]

        self._writer.call(call, done)

    def read(self, physical: Physical, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        shelf = _shelf(physical)

        def call(db: apsw.Connection) -> list[Entry]:
            return [shelf.shown(row) for id in ids for row in entries(db.execute(statement.SELECT_ENTRY, (id,)))]

        self._writer.call(call, done)

    def scan(self, physical: Physical, page: Page, done: Done[Scanned]) -> None:
        shelf = _shelf(physical)
        low = entry_ids.entry_id(shelf.record.number, 0)
        most = page.limit if page.takes_all else MOST_PASSED
        place = (max(page.after, low - 1), low | entry_ids.SEQUENCE_MASK, page.limit, page.room_bytes, most)
        arguments = (*place, page.sent_from_us, page.sent_until_us, page.group)

        def call(db: apsw.Connection) -> Scanned:
            passed, last, wanted, text = db.execute(statement.SCAN, arguments).get
            found = [shelf.shown(entry(row)) for row in decode_rows(text)]
            if found and (len(found) < wanted or wanted == page.limit):
                return Scanned(found, found[-1].id)
            return Scanned(found, last if passed == most else None)

        self._writer.call(call, done)


def _shelf(physical: Physical) -> Shelf:
    assert isinstance(physical, StandardQueue | FifoQueue)
    return physical.shelf
