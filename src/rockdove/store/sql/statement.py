"""Statements that carry many rows each, prepared once for each power of two.

A row that crosses into SQLite alone takes and gives the interpreter lock; one statement for many rows does it once.
Rows are bound as plain parameters: measured at half the processor time of passing them as one JSON document.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

# Rows in one statement at most; a power of two. Larger ones gain nothing and hold more memory in the statement cache.
LARGEST = 64


class Rows:
    """A statement over ``VALUES`` rows, in a size for each power of two."""

    def __init__(self, sql: str, columns: int) -> None:
        self._columns = columns
        row = "(" + ",".join("?" * columns) + ")"
        self._sql = {size: sql.replace("ROWS", ",".join([row] * size)) for size in _sizes()}

    def run(self, db: apsw.Connection, values: list[Any]) -> None:
        """``values`` is flat: the columns of all rows, one row after another. Each row counts once."""
        start, left = 0, len(values) // self._columns
        for size, sql in self._sql.items():
            while left >= size:
                end = start + size * self._columns
                db.execute(sql, values[start:end])
                start, left = end, left - size

    def run_filled(self, db: apsw.Connection, values: list[Any]) -> None:
        """The same for a statement that may meet a row twice: each part is filled up with its last row."""
        columns = self._columns
        for start in range(0, len(values), LARGEST * columns):
            part = values[start : start + LARGEST * columns]
            number = len(part) // columns
            size = 1 << (number - 1).bit_length()
            db.execute(self._sql[size], part + part[-columns:] * (size - number))


def _sizes() -> list[int]:
    return [1 << n for n in range(LARGEST.bit_length() - 1, -1, -1)]


def lists(sql: str) -> dict[int, str]:
    """A statement with an ``IN (IDS)`` list, in a size for each power of two."""
    return {size: sql.replace("IDS", ",".join("?" * size)) for size in _sizes()}


def chunks(sized: dict[int, str], ids: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Cut ids into statements; a list is filled up to the next size by repeating its last id."""
    for start in range(0, len(ids), LARGEST):
        part = ids[start : start + LARGEST]
        size = 1 << (len(part) - 1).bit_length()
        yield sized[size], [*part, *[part[-1]] * (size - len(part))]


INSERT_ENTRY = Rows("INSERT INTO entry (id, pq, t, sent, grp, late) VALUES ROWS", 6)
INSERT_BODY = Rows("INSERT INTO body (id, md5, body, extra) VALUES ROWS", 4)
MOVE_ENTRY = Rows(
    "WITH change (id, t, rc, first) AS (VALUES ROWS) "
    "UPDATE entry SET t = change.t, rc = change.rc, first = change.first FROM change WHERE entry.id = change.id",
    4,
)
SELECT_GONE = lists("SELECT json_group_array(json_array(id, t, rc)) FROM entry WHERE id IN (IDS)")
DELETE_ENTRY = lists("DELETE FROM entry WHERE id IN (IDS)")
DELETE_BODY = lists("DELETE FROM body WHERE id IN (IDS)")

# The next entries of the cached head, as one JSON document: one row crosses, however many entries there are.
REFILL = """
SELECT json_group_array(json_array(id, t, rc, first, sent, md5, body, extra)) FROM (
  SELECT entry.id, t, rc, first, sent, md5, body, extra FROM entry JOIN body USING (id)
  WHERE pq = ? AND (t, entry.id) >= (?, ?) ORDER BY t, entry.id LIMIT ?
)
"""
COLUMNS = "entry.id, t, rc, first, sent, md5, body, extra"
SELECT_ENTRY = f"SELECT {COLUMNS} FROM entry JOIN body USING (id) WHERE entry.id = ?"
PEEK = f"SELECT {COLUMNS} FROM entry JOIN body USING (id) WHERE pq = ? ORDER BY t, entry.id LIMIT ?"
OLDEST = "SELECT id, sent FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
EXPIRED_LATE = "SELECT id FROM entry WHERE pq = ? AND sent < ? AND late LIMIT ?"
# How many (in flight, delayed) become visible after the first time and before the second.
PASSING = "SELECT coalesce(sum(rc > 0), 0), coalesce(sum(rc = 0), 0) FROM entry WHERE pq = ? AND t > ? AND t < ?"
