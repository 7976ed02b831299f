"""Statements that carry many rows each, prepared once for each power of two.

Every statement takes and gives the interpreter lock, whatever its size, and while the event loop is busy each time costs
a wait. So all rows of a batch, of whatever kind, go in as one statement, and if there is nothing else to do that one
statement is the transaction. Rows are bound as plain parameters: measured at half the processor time of passing them as
one JSON document.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

# Rows in one statement at most; a power of two.
LARGEST = 256

# What a row of a batch does; the first of its columns. A filler does nothing.
FILLER, APPEND, MOVE, REMOVE = range(4)
# Columns: what, id, t, then for an append (physical queue, sent, late, md5, body, extra), for a move (rc, first).
COLUMNS_IN = 9
_FILLER_ROW = [FILLER, *[None] * (COLUMNS_IN - 1)]

# A view that takes rows in, and does with each what its first column says. It belongs to the writer's connection.
INTAKE = f"""
CREATE TEMP VIEW intake (what, id, t, x, y, z, md5, body, extra) AS SELECT {",".join(["NULL"] * COLUMNS_IN)};
CREATE TEMP TRIGGER intake_append INSTEAD OF INSERT ON intake WHEN new.what = {APPEND} BEGIN
  INSERT INTO entry (id, pq, t, sent, late) VALUES (new.id, new.x, new.t, new.y, new.z);
  INSERT INTO body VALUES (new.id, new.md5, new.body, new.extra);
END;
CREATE TEMP TRIGGER intake_move INSTEAD OF INSERT ON intake WHEN new.what = {MOVE} BEGIN
  UPDATE entry SET t = new.t, rc = new.x, first = new.y WHERE id = new.id;
END;
CREATE TEMP TRIGGER intake_remove INSTEAD OF INSERT ON intake WHEN new.what = {REMOVE} BEGIN
  DELETE FROM entry WHERE id = new.id;
  DELETE FROM body WHERE id = new.id;
END;
"""


def _sizes() -> list[int]:
    return [1 << n for n in range(LARGEST.bit_length())]


_ROW = "(" + ",".join("?" * COLUMNS_IN) + ")"
_TAKE_IN = {size: "INSERT INTO intake VALUES " + ",".join([_ROW] * size) for size in _sizes()}


def fits_in_one(rows: Sequence[Any]) -> bool:
    return len(rows) <= LARGEST * COLUMNS_IN


def take_in(db: apsw.Connection, rows: list[Any]) -> None:
    """Apply rows in their order. They are flat: the columns of all, one row after another."""
    for start in range(0, len(rows), LARGEST * COLUMNS_IN):
        part = rows[start : start + LARGEST * COLUMNS_IN] if start or not fits_in_one(rows) else rows
        number = len(part) // COLUMNS_IN
        size = 1 << (number - 1).bit_length()
        db.execute(_TAKE_IN[size], part if size == number else part + _FILLER_ROW * (size - number))


def lists(sql: str) -> dict[int, str]:
    """A statement with an ``IN (IDS)`` list, in a size for each power of two."""
    return {size: sql.replace("IDS", ",".join("?" * size)) for size in _sizes()}


def chunks(sized: dict[int, str], ids: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Cut ids into statements; a list is filled up to the next size by repeating its last id."""
    for start in range(0, len(ids), LARGEST):
        part = ids[start : start + LARGEST]
        size = 1 << (len(part) - 1).bit_length()
        yield sized[size], [*part, *[part[-1]] * (size - len(part))]


SELECT_GONE = lists("SELECT json_group_array(json_array(id, t, rc)) FROM entry WHERE id IN (IDS)")

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
