"""Statements that carry many rows each, prepared once for each power of two.

Every statement takes and gives the interpreter lock, whatever its size, and while the event loop is busy each time is a
wait. So the rows of a small batch, of whatever kind, go in as one statement, which then is the whole transaction. A
large batch uses a statement for each kind of row and table instead: more of them, but each row costs less. Rows are
bound as plain parameters: to encode them as one JSON document, and have SQLite parse it, costs more.

All of it runs where a batch is written: in the writer's thread, or in the loop of an owner.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from rockdove.core.lease import LEASED_US

# Rows in one statement at most; a power of two.
LARGEST = 256
# Rows in a batch that goes in as one statement at most.
SMALL = 8

# What a row of a batch does; the first of its columns. A filler does nothing.
FILLER, APPEND, MOVE, REMOVE = range(4)
# Columns of a row: what, id, t, then for an append (physical queue, sent, late, md5, body, extra), for a move (rc,
# first). All rows have all columns, so that rows of several kinds can stand in one statement.
WIDTH = 9
_FILLER_ROW = [FILLER, *[None] * (WIDTH - 1)]
_REMOVE_REST = (None,) * (WIDTH - 2)

# A view that takes rows in, and does with each what its first column says. It belongs to the writer's connection.
INTAKE = f"""
CREATE TEMP VIEW intake (what, id, t, x, y, z, md5, body, extra) AS SELECT {",".join(["NULL"] * WIDTH)};
CREATE TEMP TRIGGER intake_append INSTEAD OF INSERT ON intake WHEN new.what = {APPEND} BEGIN
  INSERT INTO entry (id, pq, t, sent, late) VALUES (new.id, new.x, new.t, new.y, new.z);
  INSERT INTO body VALUES (new.id, new.md5, CAST(new.body AS TEXT), new.extra);
END;
CREATE TEMP TRIGGER intake_move INSTEAD OF INSERT ON intake WHEN new.what = {MOVE} BEGIN
  UPDATE entry SET t = new.t, rc = new.x, first = new.y WHERE id = new.id;
END;
CREATE TEMP TRIGGER intake_remove INSTEAD OF INSERT ON intake WHEN new.what = {REMOVE} BEGIN
  DELETE FROM entry WHERE id = new.id;
  DELETE FROM body WHERE id = new.id;
END;
"""
# The messages of leases that are being ended, and their groups; of the writer's connection, too.
SCRATCH = """
CREATE TEMP TABLE ended (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE freed (pq INTEGER, grp TEXT, PRIMARY KEY (pq, grp)) WITHOUT ROWID;
"""


def _sizes() -> list[int]:
    return [1 << n for n in range(LARGEST.bit_length() - 1, -1, -1)]


def _sized(sql: str, columns: Sequence[int], text: int = 0) -> dict[int, str]:
    """A statement over ``ROWS``, in each size: of every row the named columns, by their numbers from 1.

    Column ``text`` is bound as bytes, and becomes text.
    """

    def bound(at: int, column: int) -> str:
        parameter = f"?{at * WIDTH + column}"
        return f"CAST({parameter} AS TEXT)" if column == text else parameter

    def row(at: int) -> str:
        return "(" + ",".join(bound(at, column) for column in columns) + ")"

    return {size: sql.replace("ROWS", ",".join(map(row, range(size)))) for size in _sizes()}


def _lists(sql: str) -> dict[int, str]:
    """A statement with an ``IN (IDS)`` list, in each size."""
    return {size: sql.replace("IDS", ",".join("?" * size)) for size in _sizes()}


_TAKE_IN = _sized("INSERT INTO intake VALUES ROWS", range(1, WIDTH + 1))
_INSERT_ENTRY = _sized("INSERT INTO entry (id, pq, t, sent, late) VALUES ROWS", (2, 4, 3, 5, 6))
_INSERT_BODY = _sized("INSERT INTO body (id, md5, body, extra) VALUES ROWS", (2, 7, 8, 9), text=8)
_MOVE_ENTRY = _sized(
    "WITH change (id, t, rc, first) AS (VALUES ROWS) "
    "UPDATE entry SET t = change.t, rc = change.rc, first = change.first FROM change WHERE entry.id = change.id",
    (2, 3, 4, 5),
)
_SELECT_GONE = _lists("SELECT json_group_array(json_array(id, t, rc)) FROM entry WHERE id IN (IDS)")
_DELETE_ENTRY = _lists("DELETE FROM entry WHERE id IN (IDS)")
_DELETE_BODY = _lists("DELETE FROM body WHERE id IN (IDS)")


def is_small(appends: list[Any], moves: list[Any], removed: list[int]) -> bool:
    return len(appends) + len(moves) + WIDTH * len(removed) <= WIDTH * SMALL


def apply_small(db: apsw.Connection, appends: list[Any], moves: list[Any], removed: list[int]) -> None:
    """Apply few rows, given flat, as one statement."""
    rows = appends + moves
    for id in removed:
        rows += (REMOVE, id, *_REMOVE_REST)
    number = len(rows) // WIDTH
    if number:
        size = 1 << (number - 1).bit_length()
        db.execute(_TAKE_IN[size], rows + _FILLER_ROW * (size - number))


def move(db: apsw.Connection, moves: list[Any]) -> None:
    """Inside a transaction, as all that follow."""
    for start in range(0, len(moves), LARGEST * WIDTH):
        part = moves[start : start + LARGEST * WIDTH]
        number = len(part) // WIDTH
        size = 1 << (number - 1).bit_length()
        # Filled up with its last row: to move an entry twice to the same place does no harm.
        bound = part + part[-WIDTH:] * (size - number)
        db.execute(_MOVE_ENTRY[size], bound[: 5 - WIDTH])


def remove(db: apsw.Connection, removed: list[int]) -> None:
    for sized in (_DELETE_ENTRY, _DELETE_BODY):
        for sql, ids in _chunks(sized, removed):
            db.execute(sql, ids)


def append(db: apsw.Connection, rows: list[Any]) -> None:
    start, left = 0, len(rows) // WIDTH
    for size in _sizes():
        while left >= size:
            end = start + size * WIDTH
            # A statement takes parameters up to the last that it names.
            db.execute(_INSERT_ENTRY[size], rows[start : end + 6 - WIDTH])
            db.execute(_INSERT_BODY[size], rows[start:end])
            start, left = end, left - size


def select_gone(db: apsw.Connection, removed: list[int]) -> Iterator[str]:
    """Which of the entries there are: rows (id, t, rc), as JSON."""
    for sql, ids in _chunks(_SELECT_GONE, removed):
        yield db.execute(sql, ids).get


def _chunks(sized: dict[int, str], ids: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Cut ids into statements; a list is filled up to the next size by repeating its last id."""
    for start in range(0, len(ids), LARGEST):
        part = ids[start : start + LARGEST]
        size = 1 << (len(part) - 1).bit_length()
        yield sized[size], [*part, *[part[-1]] * (size - len(part))]


# The next entries of the cached head, where leased ones never are: how many were looked at, and as one JSON document
# those that fit into so many bytes (at least one). One row crosses, however many entries there are. The size of a
# message is known without reading it.
_SIZE = "octet_length(body) + coalesce(octet_length(extra), 0)"
REFILL = f"""
WITH
  seen AS MATERIALIZED (
    SELECT entry.id AS id, t, rc, first, sent, {_SIZE} AS size FROM entry JOIN body USING (id)
    WHERE pq = ?1 AND (t, entry.id) >= (?2, ?3) AND t < {LEASED_US} ORDER BY t, entry.id LIMIT ?4
  ),
  summed AS (SELECT *, sum(size) OVER (ORDER BY t, id) - size AS before FROM seen),
  fitting AS (
    SELECT id, t, rc, first, sent, md5, body, extra FROM summed JOIN body USING (id)
    WHERE before < ?5 ORDER BY t, id
  )
SELECT
  (SELECT count(*) FROM seen),
  (SELECT json_group_array(json_array(id, t, rc, first, sent, md5, body, extra)) FROM fitting)
"""
# Bodies are text on disk, and bytes everywhere else.
COLUMNS = "entry.id, t, rc, first, sent, md5, CAST(body AS BLOB), extra"
SELECT_ENTRY = f"SELECT {COLUMNS} FROM entry JOIN body USING (id) WHERE entry.id = ?"
SIGHT = (
    f"SELECT entry.id, t, rc, sent, {_SIZE} FROM entry JOIN body USING (id) WHERE pq = ? ORDER BY t, entry.id LIMIT ?"
)
# The next entries in the order of their ids, as one JSON document: no more once those before are so many bytes.
# Looks at ?5 entries at most. Gives how many there were to look at, the last of them, how many were wanted, and those
# that have room.
SCAN = f"""
WITH
  passed AS MATERIALIZED (
    SELECT id, t, rc, first, sent, grp FROM entry WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?5
  ),
  seen AS MATERIALIZED (
    SELECT passed.id AS id, t, rc, first, sent, {_SIZE} AS size FROM passed JOIN body USING (id)
    WHERE sent >= ?6 AND sent < ?7 AND (?8 IS NULL OR grp = ?8) ORDER BY passed.id LIMIT ?3
  ),
  summed AS (SELECT *, sum(size) OVER (ORDER BY id) - size AS before FROM seen)
SELECT (SELECT count(*) FROM passed), (SELECT max(id) FROM passed), (SELECT count(*) FROM seen),
  json_group_array(json_array(id, t, rc, first, sent, md5, body, extra))
FROM (
  SELECT id, t, rc, first, sent, md5, body, extra FROM summed JOIN body USING (id) WHERE before < ?4 ORDER BY id
)
"""
# Ids grow with the time of sending, but for those that came late; what is not late is not older than what is before it.
OLDEST_SENT = """
SELECT min(sent) FROM (
  SELECT * FROM (SELECT sent FROM entry WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1)
  UNION ALL SELECT * FROM (SELECT sent FROM entry WHERE pq = ?3 AND late ORDER BY sent LIMIT 1)
)
"""
# What is leased does not expire.
OLDEST = f"SELECT id, sent FROM entry WHERE id BETWEEN ? AND ? AND t <> {LEASED_US} ORDER BY id LIMIT ?"
EXPIRED_LATE = f"SELECT id FROM entry WHERE pq = ? AND sent < ? AND late AND t <> {LEASED_US} LIMIT ?"
# How many (in flight, delayed) become visible after the first time and before the second.
PASSING = "SELECT coalesce(sum(rc > 0), 0), coalesce(sum(rc = 0), 0) FROM entry WHERE pq = ? AND t > ? AND t < ?"
# When the next entry becomes visible by itself.
FIRST = "SELECT t FROM entry WHERE pq = ? ORDER BY t LIMIT 1"
NEXT = f"SELECT t FROM entry WHERE pq = ? AND t > ? AND t < {LEASED_US} ORDER BY t LIMIT 1"
