"""Entries from before a queue's first group get the empty group, some at a time: fairness counts by groups."""

import apsw

from rockdove.core.errors import StoreError
from rockdove.core.ids import SEQUENCE_MASK, entry_id
from rockdove.store.shelf import Shelf

# Entries that become grouped at a time.
AT_ONCE = 1_000


def adopt(shelf: Shelf, first_id: int | None = None) -> None:
    """From ``first_id`` on, or all; goes on by itself until the last is done or the queue is dropped."""
    number = shelf.record.number
    begin_id, last_id = entry_id(number, 0) if first_id is None else first_id, entry_id(number, SEQUENCE_MASK)

    def call(db: apsw.Connection) -> int | None:
        sql = "SELECT max(id) FROM (SELECT id FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)"
        end = db.execute(sql, (begin_id, last_id, AT_ONCE)).get
        if end is not None:
            db.execute("UPDATE entry SET grp = '' WHERE id BETWEEN ? AND ? AND grp IS NULL", (begin_id, end))
        return end  # type: ignore[no-any-return]

    def adopted(end: int | StoreError | None) -> None:
        if isinstance(end, int) and not shelf.dropped:
            adopt(shelf, end + 1)

    shelf.writer.call(call, adopted)
