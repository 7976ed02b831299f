"""All physical queues of the embedded store that are in use.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import apsw

from rockdove.core import ids
from rockdove.core.clock import SECOND_US
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.common.tally import Tally
from rockdove.store.sqlite.fair import FairQueue
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.grouped import WAITING_US
from rockdove.store.sqlite.numbers import Numbers
from rockdove.store.sqlite.plain import PlainQueue
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.standard import Face, StandardQueue
from rockdove.store.sqlite.together import Together

_HOLDING = """
WITH RECURSIVE holding (pq) AS (
  SELECT min(pq) FROM entry
  UNION ALL SELECT (SELECT min(entry.pq) FROM entry WHERE entry.pq > holding.pq) FROM holding WHERE pq IS NOT NULL
) SELECT pq FROM holding WHERE pq IS NOT NULL
"""
# Bytes of bodies that all cached heads together hold at most.
HEADS_BYTES = 96 * 1024 * 1024


class Shelves:
    """For the event loop's thread.

    What holds messages is kept here. What is empty lives for as long as somebody uses it, and is made anew when it is
    used again: there may be very many, and each takes kilobytes.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._faces: WeakValueDictionary[int, Face] = WeakValueDictionary()
        # Calls that are on their way hold these, whether or not anybody holds their faces.
        self._kinds: WeakValueDictionary[int, PlainQueue | FairQueue] = WeakValueDictionary()
        self._full: dict[int, Face] = {}
        # What the physical queues of a logical one share, for as long as one of them is in use.
        self._together: WeakValueDictionary[str, Together] = WeakValueDictionary()
        # Where that is not the first one: the sequence number to go on with. And those that messages had groups in.
        self._reserved: dict[int, int] = {}
        self._grouped: set[int] = set()
        # Read once when the store is opened, consumed by `of`.
        self._counted: dict[int, list[tuple[Any, ...]]] = {}
        self._held: dict[int, list[tuple[int, str, int]]] = {}
        self._newest: dict[int, int] = {}

    def load(self, db: apsw.Connection) -> set[int]:
        """Which there are: their numbers."""
        numbers: set[int] = set()
        for number, grouped, reserved in db.execute("SELECT number, grouped, reserved FROM physical"):
            numbers.add(number)
            if reserved:
                self._reserved[number] = reserved
            if grouped:
                self._grouped.add(number)
        return numbers

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
        if number in self._grouped:
            held = "SELECT id, grp, t FROM entry WHERE pq = ? AND t > ? AND t < ? AND rc > 0 AND grp > ''"
            found: Any = db.execute(held, (number, now, WAITING_US)).fetchall()
            self._held[number] = found

    def open_full(self, queue_with: Callable[[int], QueueRecord | None]) -> None:
        """Open those that hold messages."""
        for number in list(self._counted):
            queue = queue_with(number)
            if queue is not None:
                self.of(queue, next(record for record in queue.physical if record.number == number))
        self.count_all()

    def of(self, queue: QueueRecord, record: PhysicalRecord) -> Face:
        return self.get(record.number) or self._open(queue, record)

    def get(self, number: int) -> Face | None:
        """The physical queue of that number, if it is in use, or holds messages."""
        face = self._faces.get(number)
        if face is None and (kind := self._kinds.get(number)) is not None:
            face = self._faces[number] = StandardQueue.around(kind, partial(self._has_kind, number))
        return face

    def _open(self, queue: QueueRecord, record: PhysicalRecord) -> Face:
        shared, number = self._shared, record.number
        counted = self._counted.pop(number, [])
        numbers = Numbers(shared.writer, record, self._reserved.get(number, 0), self._has_reserved)
        numbers.newest_us = self._newest.pop(number, 0)
        tally = Tally(shared.clock.now_us(), partial(self._fill, number))
        together = self._together.get(queue.uid)
        if together is None:
            together = self._together[queue.uid] = Together()
        together.tallies[number] = tally
        if queue.fifo:
            fifo = self._faces[number] = FifoQueue(shared, queue.uid, record, numbers, tally, together)
            fifo.delay_us = _delay_us(queue)
        else:
            on_kind = partial(self._has_kind, number)
            standard = StandardQueue(shared, queue.uid, record, numbers, tally, together, on_kind)
            self._faces[number] = standard
            standard.open(empty=not counted, grouped=number in self._grouped)
            if isinstance(standard.kind, FairQueue):
                standard.kind.hold(self._held.pop(number, []))
        for second, received, messages in counted:
            tally.add(second * SECOND_US, bool(received), messages)
        return self._faces[number]

    def changed(self, queue: QueueRecord) -> None:
        """Its record has changed: some of its physical queues may leave, or stay after all."""
        for record in queue.physical:
            face = self.get(record.number)
            if face is not None:
                face.take_record(record)

    def _has_kind(self, number: int, kind: PlainQueue | FairQueue) -> None:
        self._kinds[number] = kind
        if isinstance(kind, FairQueue):
            self._grouped.add(number)

    def _has_reserved(self, number: int, next_sequence: int) -> None:
        self._reserved[number] = next_sequence

    def _fill(self, number: int) -> None:
        """It was empty, and gets its first message."""
        face = self.get(number)
        if face is not None:
            self._full[number] = face

    def full(self) -> list[int]:
        """The numbers of those that hold messages."""
        return [number for number, face in self._full.items() if face.tally.total]

    def __iter__(self) -> Iterator[Face]:
        return iter(list(self._faces.values()))

    def drop(self, number: int) -> None:
        face = self.get(number)
        if face is not None:
            face.drop()
            face.together.tallies.pop(number, None)
        self._full.pop(number, None)
        self._faces.pop(number, None)
        self._kinds.pop(number, None)
        self._reserved.pop(number, None)
        self._grouped.discard(number)

    def abandon(self) -> None:
        """A transaction failed: what is remembered in memory may not be what is on disk."""
        for face in self:
            face.abandon()

    def count_all(self) -> None:
        self._shared.room.messages = sum(face.tally.total for face in self._full.values())

    def weigh(self) -> None:
        """Let go of what is empty, and keep all heads together within the memory they may use.

        Over it, they are forgotten, the largest first.
        """
        for number in [number for number, face in self._full.items() if not face.tally.total]:
            del self._full[number]
        self.count_all()
        kinds = [face.kind for face in self if isinstance(face, StandardQueue)]
        heads = [kind.head for kind in kinds if isinstance(kind, PlainQueue)]
        over = sum(head.bytes for head in heads) - HEADS_BYTES
        for head in sorted(heads, key=lambda head: -head.bytes):
            if over <= 0:
                return
            over -= head.bytes
            head.abandon()


def _delay_us(queue: QueueRecord) -> int:
    return int(queue.attributes.get("DelaySeconds", "0")) * SECOND_US
