"""Leases of the embedded store: made and ended by SQL in the writer's transaction, for all their messages at once.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Collection, Sequence
from typing import Any

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rockdove.core.errors import StoreError, StoreFull
from rockdove.core.ids import SEQUENCE_BITS
from rockdove.core.lease import ALL_SHARDS, LEASED_US, Holder, Holding, Lease, LeaseName
from rockdove.core.message import Entry
from rockdove.store.base import Claimed, Done, Ended, Leased, Outcome, Physical, Want
from rockdove.store.sqlite.fair import FairQueue
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.grouped import WAITING_US
from rockdove.store.sqlite.lease_claim import claim, ids_text
from rockdove.store.sqlite.plain import PlainQueue
from rockdove.store.sqlite.room import FULL, kept_bytes
from rockdove.store.sqlite.row import decode_rows, entry
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change
from rockdove.store.sqlite.shelves import Shelves
from rockdove.store.sqlite.standard import Face, StandardQueue

_ENDED = "SELECT max(ended) FROM consumer WHERE queue = ? AND name = ? AND shard IN (?, ?)"
_KNOWN = "SELECT 1 FROM consumer WHERE queue = ? AND name = ? AND shard = ?"
_SEEN = "UPDATE consumer SET seen_us = ? WHERE queue = ? AND name = ? AND shard = ?"
_KEPT = "SELECT made_us, number, ids FROM lease WHERE queue = ? AND consumer = ? AND shard = ? AND sequence = ?"
# The messages of a lease that are still there, in its order, as one JSON document: one row crosses, however many.
_MESSAGES = f"""
SELECT json_group_array(json_array(id, t, rc, first, sent, md5, body, extra)) FROM (
  SELECT entry.id AS id, t, rc, first, sent, md5, body, extra
  FROM json_each(?) AS each JOIN entry ON entry.id = each.value JOIN body ON body.id = entry.id
  JOIN physical ON physical.number = pq WHERE physical.queue IS NOT NULL AND t = {LEASED_US} ORDER BY each.key
)
"""
# Which leases a consumer's call means: of one shard or of all, through a sequence or all.
_MEANT = "queue = ?1 AND consumer = ?2 AND (?3 IS NULL OR shard = ?3) AND (?4 IS NULL OR sequence <= ?4)"
_COLLECT = f"""
INSERT OR IGNORE INTO ended SELECT entry.id FROM lease, json_each(lease.ids) AS each JOIN entry ON entry.id = each.value
JOIN physical ON physical.number = pq
WHERE physical.queue = ?1 AND t = {LEASED_US} AND lease.queue = ?1 AND consumer = ?2
  AND (?3 IS NULL OR shard = ?3) AND (?4 IS NULL OR sequence <= ?4)
"""
_BY_PLACE = "SELECT pq, count(*) FROM entry WHERE id IN (SELECT id FROM ended) GROUP BY pq"
_FREED = """
INSERT INTO freed SELECT DISTINCT pq, grp FROM entry JOIN physical ON physical.number = pq
WHERE entry.id IN (SELECT id FROM ended) AND fifo
"""
# If the first message of what is left of a group waits, it stops waiting; see `rockdove.store.sqlite.fifo`.
_STUCK = f"""
t >= {WAITING_US} AND id IN (
  SELECT waiting FROM (
    SELECT
      (SELECT id FROM entry WHERE pq = freed.pq AND grp = freed.grp AND t >= {WAITING_US} ORDER BY t LIMIT 1) waiting,
      (SELECT min(id) FROM entry WHERE pq = freed.pq AND grp = freed.grp AND t < {WAITING_US}) standing
    FROM freed
  ) WHERE standing IS NULL OR waiting < standing
)
"""
_FORGET = """
UPDATE lease SET ids = (
  SELECT json_group_array(value) FROM (
    SELECT value FROM json_each(lease.ids) WHERE value >> ?3 NOT IN (SELECT value FROM json_each(?2)) ORDER BY key
  )
) WHERE queue = ?1
"""
_END = """
INSERT INTO consumer VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET ended = max(ended, excluded.ended), seen_us = excluded.seen_us
"""
_HOLDERS = f"""
SELECT lease.queue AS queue, name, count(*) AS leases, sum(number) AS messages, seen_us AS seen FROM lease
JOIN consumer ON consumer.queue = lease.queue AND name = lease.consumer AND consumer.shard = {ALL_SHARDS}
GROUP BY lease.queue, name
"""
_decode_ids = msgspec.json.Decoder(list[int]).decode


class _Made(Struct):
    """An attempt at a lease, as it went in the writer's thread; the changes are of each physical queue in turn."""

    leased: Leased | StoreFull
    changes: list[tuple[Face, list[Change]]]


class _Over(Struct):
    """What ended: by place how many messages, which of the stuck groups' firsts go on."""

    ended: Ended
    places: list[tuple[int, int]]
    settled: list[tuple[int, Change]]


class SqliteLeases:
    """See `rockdove.store.base.lease.Leases`."""

    def __init__(self, shared: Shared, shelves: Shelves) -> None:
        self._shelves = shelves
        self._writer = shared.writer
        self._clock = shared.clock
        self._room = shared.room
        self._arrivals = shared.arrivals

    def lease(
        self, name: LeaseName, parts: Sequence[Physical], want: Want, even_empty: bool, done: Done[Leased]
    ) -> None:
        now_us = self._clock.now_us()
        # A lease takes messages in the best order. With a timeout of 0, dead entries would stay visible, and the claim
        # would meet them again.
        want = replace(want, order_hint=1, timeout_us=max(want.timeout_us, 1))
        shelves = [part for part in parts if isinstance(part, StandardQueue | FifoQueue)]
        if want.limit > 0:
            for shelf in shelves:
                if isinstance(shelf.shelf, PlainQueue):
                    # What is decided in memory from now on is decided on what the disk has after this.
                    shelf.shelf.head.abandon()

        def landed(made: _Made | StoreError) -> None:
            if isinstance(made, StoreError):
                done(made)
                return
            for shelf, changes in made.changes:
                shelf.land(changes)
            if isinstance(made.leased, Leased) and made.leased.outcome is Outcome.NOTHING:
                made.leased.landing = any(shelf.shelf.is_landing for shelf in shelves)
            done(made.leased)
            for number, claimed in made.leased.claims if isinstance(made.leased, Leased) else ():
                shelf_of = self._shelves.get(number)
                if shelf_of is not None:
                    shelf_of.shelf.told_hidden(Claimed([], claimed.dead))

        # The ids in the lease are not counted: the room that was counted for their messages includes them.
        kept = kept_bytes(name.queue, name.consumer)
        self._writer.call(lambda db: self._lease(db, name, shelves, want, even_empty, now_us), landed, kept_bytes=kept)

    def _lease(
        self, db: apsw.Connection, name: LeaseName, shelves: list[Face], want: Want, even_empty: bool, now_us: int
    ) -> _Made:
        """In the writer's thread."""
        db.execute(_SEEN, (now_us, name.queue, name.consumer, ALL_SHARDS))
        ended = db.execute(_ENDED, (name.queue, name.consumer, name.shard, ALL_SHARDS)).get
        if ended is not None and name.sequence <= ended:
            return _Made(Leased(Outcome.ENDED, [], 0, []), [])
        row = (name.queue, name.consumer, name.shard, name.sequence)
        for made_us, number, ids in db.execute(_KEPT, row):
            return _Made(Leased(Outcome.AGAIN, _messages(db, ids), made_us, [], number), [])
        if self._room.tight:
            return _Made(StoreFull(FULL), [])
        claims, changes = claim(db, shelves, want, now_us)
        found = [each for _, claimed in claims for each in claimed.entries]
        dead = any(claimed.dead for _, claimed in claims)
        if not found and (not even_empty or dead or not want.limit):
            return _Made(Leased(Outcome.NOTHING, [], 0, claims), changes)
        if not found and self._room.full and not db.execute(_KNOWN, (*row[:2], ALL_SHARDS)).get:
            # Only an empty lease of a new consumer is refused. One with messages frees room at its end, and a consumer
            # that has leased before must be able to go on.
            return _Made(StoreFull(FULL), changes)
        db.execute("INSERT INTO lease VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, now_us, len(found), ids_text(found)))
        new = (name.queue, name.consumer, ALL_SHARDS, now_us)
        db.execute("INSERT OR IGNORE INTO consumer VALUES (?, ?, ?, -1, ?)", new)
        return _Made(Leased(Outcome.MADE, found, now_us, claims, len(found)), changes)

    def ack(
        self, queue: str, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool, done: Done[Ended]
    ) -> None:
        now_us = self._clock.now_us()
        fifo = self._fifo_shelf(queue)

        def call(db: apsw.Connection) -> _Over | StoreFull:
            if self._room.full and not _frees(db, queue, consumer, shard, sequence):
                return StoreFull(FULL)
            over = _collect(db, queue, consumer, shard, sequence, now_us)
            if fifo is not None:
                db.execute(_FREED)
            if tell_ids or self._has_fair(over.places):
                over.ended.ids = _decode_ids(db.execute("SELECT json_group_array(id) FROM ended").get)
            db.execute("DELETE FROM entry WHERE id IN (SELECT id FROM ended)")
            db.execute("DELETE FROM body WHERE id IN (SELECT id FROM ended)")
            if fifo is not None:
                over.settled = _settle(db, fifo.delay_us, now_us)
            return over

        self._end(call, None, tell_ids, done, kept_bytes(queue, consumer))

    def release(self, queue: str, consumer: str, forget: bool, done: Done[Ended]) -> None:
        now_us = self._clock.now_us()

        def call(db: apsw.Connection) -> _Over:
            over = _collect(db, queue, consumer, None, None, now_us)
            if self._has_fair(over.places):
                over.ended.ids = _decode_ids(db.execute("SELECT json_group_array(id) FROM ended").get)
            db.execute("UPDATE entry SET t = ? WHERE id IN (SELECT id FROM ended)", (now_us,))
            if forget:
                db.execute("DELETE FROM consumer WHERE queue = ? AND name = ?", (queue, consumer))
            return over

        self._end(call, now_us, False, done)

    def _end(self, call: Any, visible_us: int | None, tell_ids: bool, done: Done[Ended], kept: int = 0) -> None:
        """Run it, and take over what it has done: the messages are gone, or visible from that time on."""

        def landed(over: _Over | StoreError) -> None:
            if isinstance(over, StoreError):
                done(over)
                return
            for number, messages in over.places:
                shelf = self._shelves.get(number)
                if shelf is not None:
                    self._land(shelf, messages, visible_us, over.ended.ids)
            for number, change in over.settled:
                shelf = self._shelves.get(number)
                if shelf is not None:
                    shelf.shelf.count_changes([change])
            if not tell_ids:
                over.ended.ids = []
            done(over.ended)
            for number, messages in over.places:
                self._tell(number, messages, visible_us)

        self._writer.call(call, landed, kept_bytes=kept)

    def _tell(self, number: int, messages: int, visible_us: int | None) -> None:
        face = self._shelves.get(number)
        if face is not None and visible_us is None:
            face.shelf.told_removed(messages)
        elif face is not None:
            self._arrivals.tell(number, messages)

    def _land(self, face: Face, messages: int, visible_us: int | None, ids: list[int]) -> None:
        face.tally.add(LEASED_US, True, -messages)
        if visible_us is not None:
            face.tally.add(visible_us, True, messages)
        kind = face.shelf
        if isinstance(kind, FairQueue):
            kind.forget(ids)
        elif isinstance(kind, PlainQueue) and visible_us is not None:
            kind.head.abandon()

    def _fifo_shelf(self, queue: str) -> FifoQueue | None:
        """One of the physical queues of a FIFO queue: they all have the same delay."""
        return next((shelf for shelf in self._shelves if isinstance(shelf, FifoQueue) and shelf.queue == queue), None)

    def _has_fair(self, places: list[tuple[int, int]]) -> bool:
        shelves = [self._shelves.get(number) for number, _ in places]
        return any(shelf is not None and isinstance(shelf.shelf, FairQueue) for shelf in shelves)

    # Looking.

    def page(
        self, queue: str, consumer: str | None, after: tuple[str, int, int] | None, limit: int, done: Done[list[Lease]]
    ) -> None:
        sql = (
            "SELECT consumer, shard, sequence, number, made_us FROM lease "
            "WHERE queue = ? AND (? IS NULL OR consumer = ?) AND (consumer, shard, sequence) > (?, ?, ?) "
            "ORDER BY consumer, shard, sequence LIMIT ?"
        )
        row = (queue, consumer, consumer, *(after or ("", -1, -1)), limit)
        self._read(lambda db: [Lease(*found) for found in db.execute(sql, row)], done)

    def holders(self, queue: str, consumer: str | None, limit: int, done: Done[list[Holder]]) -> None:
        sql = (
            f"SELECT name, leases, messages, seen FROM ({_HOLDERS}) WHERE queue = ? AND (? IS NULL OR name = ?) "
            "ORDER BY seen, name LIMIT ?"
        )
        row = (queue, consumer, consumer, limit)
        self._read(lambda db: [Holder(*found) for found in db.execute(sql, row)], done)

    def holdings(self, done: Done[dict[str, Holding]]) -> None:
        sql = f"SELECT queue, count(*), sum(leases), sum(messages), min(seen) FROM ({_HOLDERS}) GROUP BY queue"
        self._read(lambda db: {queue: Holding(*found) for queue, *found in db.execute(sql)}, done)

    def silent(self, before_us: int, done: Done[list[tuple[str, str]]]) -> None:
        sql = f"SELECT queue, name FROM ({_HOLDERS}) WHERE seen < ? ORDER BY queue, name"
        self._read(lambda db: [(queue, name) for queue, name in db.execute(sql, (before_us,))], done)

    def _read(self, call: Any, done: Done[Any]) -> None:
        self._writer.call(call, done)


def forget_places(db: apsw.Connection, queue: str, numbers: Collection[int]) -> None:
    """Physical queues go with all they hold; their numbers, and so their messages' ids, are given out again."""
    db.execute(_FORGET, (queue, msgspec.json.encode(sorted(numbers)).decode(), SEQUENCE_BITS))


def _messages(db: apsw.Connection, ids: str) -> list[Entry]:
    return [entry(row) for row in decode_rows(db.execute(_MESSAGES, (ids,)).get)]


def _collect(
    db: apsw.Connection, queue: str, consumer: str, shard: int | None, sequence: int | None, now_us: int
) -> _Over:
    """End leases; their messages are in the table `ended` then."""
    meant = (queue, consumer, shard, sequence)
    db.execute("DELETE FROM ended")
    db.execute("DELETE FROM freed")
    db.execute(_COLLECT, meant)
    places: list[Any] = db.execute(_BY_PLACE).fetchall()
    last = db.execute(f"SELECT max(sequence) FROM lease WHERE {_MEANT}", meant).get if sequence is None else sequence
    db.execute(f"DELETE FROM lease WHERE {_MEANT}", meant)
    leases = db.changes()
    # Of a consumer that nobody has heard of there is nothing to remember: all that ever leased have a row.
    if last is not None and db.execute(_KNOWN, (queue, consumer, ALL_SHARDS)).get:
        db.execute(_END, (queue, consumer, ALL_SHARDS, -1, now_us))
        db.execute(_END, (queue, consumer, ALL_SHARDS if shard is None else shard, last, now_us))
    return _Over(Ended(leases, sum(number for _, number in places), []), places, [])


def _frees(db: apsw.Connection, queue: str, consumer: str, shard: int | None, sequence: int | None) -> bool:
    """Whether ending these leases needs no more room: rows of leases go, or no new row is written."""
    if db.execute(f"SELECT 1 FROM lease WHERE {_MEANT} LIMIT 1", (queue, consumer, shard, sequence)).get:
        return True
    is_known = db.execute(_KNOWN, (queue, consumer, ALL_SHARDS)).get
    return not is_known or bool(db.execute(_KNOWN, (queue, consumer, ALL_SHARDS if shard is None else shard)).get)


def _settle(db: apsw.Connection, delay_us: int, now_us: int) -> list[tuple[int, Change]]:
    """Let groups go on whose first message waits; the changes that count, by physical queue."""
    again: list[Any] = db.execute(f"SELECT id, pq FROM entry WHERE {_STUCK} AND rc > 0").fetchall()
    sql = f"UPDATE entry SET t = CASE WHEN rc THEN ? ELSE sent + ? END WHERE {_STUCK}"
    db.execute(sql, (now_us, delay_us))
    return [(number, Change(id, (0, True), (now_us, True))) for id, number in again]
