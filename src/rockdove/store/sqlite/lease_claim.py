"""What a lease takes: the visible messages of physical queues, by SQL in the writer's transaction, for good.

All of it runs in the writer's thread.
"""

from collections.abc import Sequence

import apsw
import msgspec

from rockdove.core.lease import LEASED_US
from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Want
from rockdove.store.base.lease import left
from rockdove.store.common.size import DeadBound, stored_bytes
from rockdove.store.sqlite import statement
from rockdove.store.sqlite.grouped import GroupedQueue
from rockdove.store.sqlite.row import decode_rows, entry
from rockdove.store.sqlite.shelf import Change, Shelf
from rockdove.store.sqlite.standard import Face

# Visible entries of a queue without groups, in order: no more once those before are so many bytes.
_VISIBLE = """
WITH
  seen AS MATERIALIZED (
    SELECT entry.id AS id, t, rc, first, sent, octet_length(body) + coalesce(octet_length(extra), 0) AS size
    FROM entry JOIN body USING (id) WHERE pq = ?1 AND t <= ?2 ORDER BY t, entry.id LIMIT ?3
  ),
  summed AS (SELECT *, sum(size) OVER (ORDER BY t, id) - size AS before FROM seen)
SELECT json_group_array(json_array(id, t, rc, first, sent, md5, body, extra)) FROM (
  SELECT id, t, rc, first, sent, md5, body, extra FROM summed JOIN body USING (id) WHERE before < ?4 ORDER BY t, id
)
"""
_TAKE = f"""
UPDATE entry SET t = {LEASED_US}, rc = rc + 1, first = CASE first WHEN 0 THEN ?2 ELSE first END
WHERE id IN (SELECT value FROM json_each(?1))
"""
_HIDE = """
UPDATE entry SET t = ?2, first = CASE first WHEN 0 THEN ?3 ELSE first END
WHERE id IN (SELECT value FROM json_each(?1))
"""
_KEEP = f"UPDATE entry SET t = {LEASED_US} WHERE id IN (SELECT value FROM json_each(?))"


def claim(
    db: apsw.Connection, faces: list[Face], want: Want, now_us: int
) -> tuple[list[tuple[int, Claimed]], list[tuple[Face, list[Change]]]]:
    claims: list[tuple[int, Claimed]] = []
    all_changes: list[tuple[Face, list[Change]]] = []
    for face in faces:
        shelf = face.shelf
        if want.limit <= 0 or want.room_bytes <= 0:
            break
        if shelf.dropped:
            continue
        if isinstance(shelf, GroupedQueue):
            claimed, changes = _claim_grouped(db, shelf, want, now_us)
        else:
            claimed, changes = _claim_plain(db, shelf, want, now_us)
        claims.append((face.record.number, claimed))
        all_changes.append((face, changes))
        want = left(want, claimed)
    return claims, all_changes


def _claim_plain(db: apsw.Connection, shelf: Shelf, want: Want, now_us: int) -> tuple[Claimed, list[Change]]:
    claimed, changes = Claimed([], [], claimed_us=now_us), list[Change]()
    hidden_us = now_us + want.timeout_us
    bound = DeadBound(claimed.dead)
    while (now := left(want, claimed)).limit > 0 and now.room_bytes > 0 and not bound.is_reached:
        text = db.execute(_VISIBLE, (shelf.record.number, now_us, now.limit, now.room_bytes)).get
        rows = [entry(row) for row in decode_rows(text)]
        if not rows:
            break
        expired = [row for row in rows if row.message.sent_us < want.sent_after_us]
        living = [row for row in rows if row.message.sent_us >= want.sent_after_us]
        dead = [row for row in living if 0 < want.max_receives <= row.receive_count]
        taken = [row for row in living if not 0 < want.max_receives <= row.receive_count]
        statement.remove(db, [row.id for row in expired])
        db.execute(_HIDE, (ids_text(dead), hidden_us, now_us))
        db.execute(_TAKE, (ids_text(taken), now_us))
        changes += [Change(row.id, (row.visible_us, row.receive_count > 0), None) for row in expired]
        changes += [_moved(row, hidden_us, 0, now_us) for row in dead]
        changes += [_moved(row, LEASED_US, 1, now_us) for row in taken]
        claimed.expired += [row.id for row in expired]
        claimed.dead += dead
        claimed.entries += taken
        claimed.bytes += sum(stored_bytes(row.message) for row in taken)
        if not (expired or dead):
            break
    if not claimed.entries:
        claimed.next_us = db.execute(statement.NEXT, (shelf.record.number, now_us)).get
    return claimed, changes


def _claim_grouped(db: apsw.Connection, grouped: GroupedQueue, want: Want, now_us: int) -> tuple[Claimed, list[Change]]:
    """As a receive claims them, and then for good."""
    claimed, changes = grouped.claim_in(db, want, now_us)
    db.execute(_KEEP, (ids_text(claimed.entries),))
    hidden = (now_us + want.timeout_us, True)
    taken = {each.id for each in claimed.entries}
    for change in changes:
        if change.after == hidden and change.id in taken:
            change.after = (LEASED_US, True)
    for each in claimed.entries:
        each.visible_us = LEASED_US
    return claimed, changes


def _moved(row: Entry, visible_us: int, receives: int, now_us: int) -> Change:
    """Claim an entry that was read. The cached head does without leased ones."""
    before = (row.visible_us, row.receive_count > 0)
    row.visible_us = visible_us
    row.receive_count += receives
    row.first_received_us = row.first_received_us or now_us
    return Change(row.id, before, (visible_us, True), None if visible_us == LEASED_US else row)


def ids_text(found: Sequence[Entry]) -> str:
    return msgspec.json.encode([each.id for each in found]).decode()
