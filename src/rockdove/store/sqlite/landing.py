"""What is published as a whole, and goes from the stage into its queue chunk by chunk.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Callable, Sequence
from typing import Any

import apsw
import msgspec

from rockdove.core.errors import QueueGone, StoreError, StoreFull, StoreInterrupted
from rockdove.core.publication import WHOLE, Landing, Parcel, PublicationName
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.base.publication import in_order
from rockdove.store.common.gone import gone
from rockdove.store.common.size import stored_bytes
from rockdove.store.common.unlanded import Unlanded
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.room import FULL
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change
from rockdove.store.sqlite.standard import Face, StandardQueue

_OF_BATCH = "queue = ? AND application = ? AND batch = ?"
_OF_ATTEMPT = f"{_OF_BATCH} AND partition = {WHOLE} AND attempt = ?"
_LEFT = f"""
SELECT queue, application, batch, place, sum(number) FROM landing JOIN stage USING (queue, application, batch, attempt)
WHERE stage.partition = {WHOLE} GROUP BY 1, 2, 3
"""
_COLUMNS = "SELECT queue, application, batch, attempt, at_us FROM landing"
_FIRST = f"{_COLUMNS} ORDER BY queue, application, batch, turn LIMIT 1"
_NEXT = f"{_COLUMNS} WHERE (queue, application, batch) > (?, ?, ?) ORDER BY queue, application, batch, turn LIMIT 1"
_CHUNK = f"SELECT chunk, parcels FROM stage WHERE {_OF_ATTEMPT} ORDER BY chunk LIMIT 1"
_TAKE = f"DELETE FROM stage WHERE {_OF_ATTEMPT} AND chunk = ?"
_MORE = f"SELECT 1 FROM stage WHERE {_OF_ATTEMPT} LIMIT 1"
_LANDED = f"DELETE FROM landing WHERE {_OF_BATCH} AND attempt = ?"
# Of a queue that was purged: what has not landed was sent before.
_UNSTAGE = f"""
DELETE FROM stage WHERE queue = ?1 AND partition = {WHOLE}
  AND (application, batch, attempt) IN (SELECT application, batch, attempt FROM landing WHERE queue = ?1)
"""

_decode = msgspec.json.Decoder(list[Parcel]).decode


class SqliteLandings:
    """See `rockdove.store.base.Landings`."""

    def __init__(self, shared: Shared) -> None:
        self._writer = shared.writer
        self._clock = shared.clock
        self._room = shared.room
        self.unlanded = Unlanded(shared.landing)
        self._new: Callable[[], None] = lambda: None

    def load(self, db: apsw.Connection) -> None:
        """What had not landed when the store was closed, or killed."""
        for queue, application, batch, place, number in db.execute(_LEFT):
            self.unlanded.add(PublicationName(queue, application, batch, WHOLE), place, number)

    def on_landing(self, call: Callable[[], None]) -> None:
        self._new = call

    def begin(self, name: PublicationName, place: int, number: int) -> None:
        """A batch was published."""
        self.unlanded.add(name, place, number)
        self._new()

    def next(self, after: PublicationName | None, done: Done[Landing | None]) -> None:
        self._writer.call(lambda db: _next(db, after), done)

    def land(
        self,
        landing: Landing,
        drafts: Sequence[Draft],
        parts: Sequence[tuple[Physical, Sequence[int]]],
        done: Done[list[Appended] | None],
    ) -> None:
        places: list[tuple[Face, Sequence[Draft], int]] = []
        for physical, chosen in parts:
            assert isinstance(physical, StandardQueue | FifoQueue)
            some = [drafts[at] for at in chosen]
            physical.prepare(some)
            places.append((physical, some, physical.numbers.take(len(some))))
        name, now_us = landing.name, self._clock.now_us()
        key = (name.queue, name.application, name.batch, landing.attempt)

        def call(db: apsw.Connection) -> tuple[list[list[Appended]] | None, list[list[Change]]] | StoreError:
            if self._room.tight:
                return StoreFull(FULL)
            if not all(is_kept(db, face) for face, _, _ in places):
                return None, []
            if any(face.refuses(db, some, now_us) for face, some, _ in places):
                return gone()
            db.execute(_TAKE, (*key, landing.chunk))
            if not db.changes():
                return None, []
            done_in = [face.append_in(db, some, first, now_us) for face, some, first in places]
            if db.execute(_MORE, key).get is None:
                db.execute(_LANDED, key)
            return [new for new, _ in done_in], [changes for _, changes in done_in]

        def landed(outcome: tuple[list[list[Appended]] | None, list[list[Change]]] | StoreError) -> None:
            if isinstance(outcome, StoreError):
                if not isinstance(outcome, QueueGone):
                    self.unlanded.fail(name, StoreInterrupted(str(outcome)))
                done(outcome)
                return
            appended, all_changes = outcome
            for (face, _, _), changes in zip(places, all_changes, strict=False):
                face.land(changes)
            if appended is not None:
                self.unlanded.drop(name, len(landing.parcels))
            done(None if appended is None else in_order([chosen for _, chosen in parts], appended))
            if appended is not None:
                for face, some, _ in places:
                    face.shelf.told_appended(some)

        brought = [stored_bytes(draft.message) for draft in drafts]
        # The chunk goes when its messages come. If they needed room as others do, a full disk would keep them from
        # being received, and would stay full.
        self._writer.call(call, landed, len(brought), sum(brought), frees=True)


def forget_landings(db: apsw.Connection, queue: str) -> None:
    """What has not landed of a queue that was purged never will."""
    db.execute(_UNSTAGE, (queue,))
    db.execute("DELETE FROM landing WHERE queue = ?", (queue,))


def is_kept(db: apsw.Connection, face: Face) -> bool:
    """Whether a physical queue was neither purged nor deleted."""
    return db.execute("SELECT queue FROM physical WHERE number = ?", (face.record.number,)).get is not None


def _next(db: apsw.Connection, after: PublicationName | None) -> Landing | None:
    found: Any = None
    if after is not None:
        found = db.execute(_NEXT, (after.queue, after.application, after.batch)).fetchone()
    found = found or db.execute(_FIRST).fetchone()
    if found is None:
        return None
    queue, application, batch, attempt, at_us = found
    chunk, text = db.execute(_CHUNK, (queue, application, batch, attempt)).get
    return Landing(PublicationName(queue, application, batch, WHOLE), attempt, chunk, at_us, _decode(text))
