"""All physical queues of the embedded store that are in use.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Iterator
from typing import Any

import apsw

from rockdove.core import ids
from rockdove.core.clock import SECOND_US
from rockdove.core.fairness import Shares
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.common.tally import Tally
from rockdove.store.sqlite.fair import FairQueue
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.grouped import WAITING_US
from rockdove.store.sqlite.numbers import Numbers
from rockdove.store.sqlite.plain import PlainQueue
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.standard import Face, StandardQueue

_HOLDING = """
WITH RECURSIVE holding (pq) AS (
  SELECT min(pq) FROM entry
  UNION ALL SELECT (SELECT min(entry.pq) FROM entry WHERE entry.pq > holding.pq) FROM holding WHERE pq IS NOT NULL
) SELECT pq FROM holding WHERE pq IS NOT NULL
"""
# Bytes of bodies that all cached heads together hold at most.
HEADS_BYTES = 96 * 1024 * 1024


class Shelves:
    """For the event loop's thread."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._shelves: dict[int, Face] = {}
        # Of each logical queue: what its physical queues hold, and who of its tenants has how much of it.
        self._tallies: dict[str, list[Tally]] = {}
        self._shares: dict[str, Shares] = {}
        # Read once when the store is opened, consumed by `of`.
        self._known: dict[int, tuple[bool, int]] = {}
        self._counted: dict[int, list[tuple[Any, ...]]] = {}
        self._held: dict[int, list[tuple[int, str, int]]] = {}
        self._newest: dict[int, int] = {}

    def load(self, db: apsw.Connection) -> set[int]:
        """Which there are: their numbers."""
        rows: list[tuple[Any, ...]] = db.execute("SELECT number, grouped, reserved FROM physical").fetchall()
        self._known = {number: (bool(grouped), reserved) for number, grouped, reserved in rows}
        return set(self._known)

    def holding(self, db: apsw.Connection) -> set[int]:
        """The numbers of those that hold messages: found by leaps, so that it takes no time for each message."""
        return {number for (number,) in db.execute(_HOLDING)}

    def count(self, db: apsw.Connection, queue: QueueRecord, number: int) -> None:
        """Begin a physical queue's tally: what is visible as one number, what is not by the second."""
        now = self._shared.clock.now_us()
        second = now - now % SECOND_US
        past = db.execute("SELECT count(*) FROM entry WHERE pq = ? AND t < ?", (number, second)).get
        future = "SELECT t / 1000000, rc > 0, count(*) FROM entry WHERE pq = ? AND t >= ? AND t < ? GROUP BY 1, 2"
        rows: list[Any] = db.execute(future, (number, second, WAITING_US)).fetchall()
        if past:
            rows.append((0, False, past))
        if queue.fifo:
            waiting = (
                "SELECT CASE WHEN rc THEN 0 ELSE (sent + ?) / 1000000 END, rc > 0, count(*) FROM entry "
                "WHERE pq = ? AND t >= ? GROUP BY 1, 2"
            )
            rows += db.execute(waiting, (_delay_us(queue), number, WAITING_US)).fetchall()
        self._counted[number] = rows
        low = ids.entry_id(number, 0)
        newest = "SELECT sent FROM entry WHERE id BETWEEN ? AND ? AND NOT late ORDER BY id DESC LIMIT 1"
        latest = "SELECT sent FROM entry WHERE pq = ? AND late ORDER BY sent DESC LIMIT 1"
        # A message is late if it is older than the newest before it. If only late ones are left, that is one of them.
        self._newest[number] = max(
            db.execute(newest, (low, low | ids.SEQUENCE_MASK)).get or 0, db.execute(latest, (number,)).get or 0
        )
        if self._known[number][0]:
            held = "SELECT id, grp, t FROM entry WHERE pq = ? AND t > ? AND t < ? AND rc > 0 AND grp > ''"
            found: Any = db.execute(held, (number, now, WAITING_US)).fetchall()
            self._held[number] = found

    def of(self, queue: QueueRecord, record: PhysicalRecord) -> Face:
        shelf = self._shelves.get(record.number)
        if shelf is None:
            shelf = self._shelves[record.number] = self._open(queue, record)
        return shelf

    def _open(self, queue: QueueRecord, record: PhysicalRecord) -> Face:
        shared = self._shared
        grouped, reserved = self._known.pop(record.number, (False, 0))
        counted = self._counted.pop(record.number, [])
        numbers = Numbers(shared.writer, record, reserved)
        numbers.newest_us = self._newest.pop(record.number, 0)
        tally = Tally(shared.clock.now_us())
        for second, received, number in counted:
            tally.add(second * SECOND_US, bool(received), number)
        tallies = self._tallies.setdefault(queue.uid, [])
        tallies.append(tally)
        if queue.fifo:
            fifo = FifoQueue(shared, queue.uid, record, numbers, tally)
            fifo.tallies = tallies
            fifo.delay_us = _delay_us(queue)
            return fifo
        standard = StandardQueue(
            shared, queue.uid, record, numbers, tally, self._shares.setdefault(queue.uid, Shares())
        )
        standard.tallies = tallies
        standard.open(empty=not counted, grouped=grouped)
        if isinstance(standard.kind, FairQueue):
            standard.kind.hold(self._held.pop(record.number, []))
        return standard

    def get(self, number: int) -> Face | None:
        """The physical queue of that number, if it is in use."""
        return self._shelves.get(number)

    def __iter__(self) -> Iterator[Face]:
        return iter(self._shelves.values())

    def drop(self, number: int) -> None:
        face = self._shelves.pop(number, None)
        if face is not None:
            face.drop()
            face.tallies.remove(face.tally)

    def drop_queue(self, uid: str) -> None:
        self._shares.pop(uid, None)
        self._tallies.pop(uid, None)

    def abandon(self) -> None:
        """A transaction failed: what is remembered in memory may not be what is on disk."""
        for face in self._shelves.values():
            face.abandon()

    def weigh(self) -> None:
        """Keep all heads together within the memory they may use: over it, they are forgotten, the largest first."""
        kinds = [face.kind for face in self._shelves.values() if isinstance(face, StandardQueue)]
        heads = [kind.head for kind in kinds if isinstance(kind, PlainQueue)]
        over = sum(head.bytes for head in heads) - HEADS_BYTES
        for head in sorted(heads, key=lambda head: -head.bytes):
            if over <= 0:
                return
            over -= head.bytes
            head.abandon()


def _delay_us(queue: QueueRecord) -> int:
    return int(queue.attributes.get("DelaySeconds", "0")) * SECOND_US
