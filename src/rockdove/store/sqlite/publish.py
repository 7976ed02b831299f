"""Publishing once with the embedded store: what was published is decided in one transaction.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from rockdove.core.clock import SECOND_US
from rockdove.core.errors import StoreError, StoreFull
from rockdove.core.limits import APPLICATION_S, PUBLISHED_S, REMEMBERED_BATCHES, STAGED_S
from rockdove.core.publication import WHOLE, Parcel, Partly, PublicationName, Winner
from rockdove.store.base import Appended, Decision, Done, Draft, Physical, Published, Standing
from rockdove.store.common.gone import gone
from rockdove.store.common.partly import choose
from rockdove.store.common.size import stored_bytes
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.landing import SqliteLandings, is_kept
from rockdove.store.sqlite.room import FULL, LEAST_BYTES, kept_bytes, landing_bytes
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change
from rockdove.store.sqlite.standard import Face, StandardQueue

_WINNER = "SELECT attempt, number FROM published WHERE queue = ? AND application = ? AND batch = ? AND partition = ?"
_FORGOTTEN = "SELECT forgotten FROM application WHERE queue = ? AND name = ?"
_STAGED = (
    "SELECT coalesce(sum(number), 0), coalesce(sum(bytes), 0) FROM stage "
    "WHERE queue = ? AND application = ? AND batch = ? AND partition = ? AND attempt = ?"
)
_CHUNKS = (
    "SELECT chunk, parcels FROM stage "
    "WHERE queue = ? AND application = ? AND batch = ? AND partition = ? AND attempt = ? ORDER BY chunk"
)
_UNSTAGE = "DELETE FROM stage WHERE queue = ? AND application = ? AND batch = ? AND partition = ?"
# Of attempts at a whole batch: how many chunks and messages one has staged, and the last chunk's number.
_STAGED_WHOLE = (
    "SELECT count(*), coalesce(sum(number), 0), coalesce(max(chunk), -1) FROM stage "
    f"WHERE queue = ? AND application = ? AND batch = ? AND partition = {WHOLE} AND attempt = ?"
)
_ALONE = (
    "SELECT partition, number FROM published "
    f"WHERE queue = ? AND application = ? AND batch = ? AND partition <> {WHOLE}"
)
# What no winner has staged.
_UNSTAGE_REST = f"""
DELETE FROM stage WHERE queue = ?1 AND application = ?2 AND batch = ?3 AND partition = {WHOLE} AND attempt NOT IN (
  SELECT attempt FROM landing WHERE queue = ?1 AND application = ?2 AND batch = ?3
)
"""
_DISCARD = f"""
DELETE FROM stage WHERE queue = ?1 AND application = ?2 AND batch = ?3 AND partition = {WHOLE}
  AND substr(attempt, 1, length(?4)) = ?4 AND NOT EXISTS (
    SELECT 1 FROM published WHERE queue = ?1 AND application = ?2 AND batch = ?3 AND partition = {WHOLE}
  )
"""
# What waits to land is no longer staged, however old it is.
_FORGET_STAGED = f"""
DELETE FROM stage WHERE at_us <= ? AND NOT (partition = {WHOLE} AND EXISTS (
  SELECT 1 FROM landing WHERE landing.queue = stage.queue AND landing.application = stage.application
    AND landing.batch = stage.batch AND landing.attempt = stage.attempt
))
"""
# About what a winner takes on the disk until it has landed.
_WINNER_BYTES = 200
_SEEN = """
INSERT INTO application VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET forgotten = max(forgotten, excluded.forgotten), seen_us = excluded.seen_us
"""
_FORGET = "DELETE FROM published WHERE queue = ? AND application = ? AND batch <= ?"
# Of applications that have not published since then, all batches become one number.
_FOLD = """
UPDATE application SET forgotten = (
  SELECT max(forgotten, coalesce(max(batch), -1)) FROM published
  WHERE published.queue = application.queue AND published.application = application.name
) WHERE seen_us <= ? AND EXISTS (
  SELECT 1 FROM published WHERE published.queue = application.queue AND published.application = application.name
)
"""
_DROP = "DELETE FROM published WHERE (queue, application) IN (SELECT queue, name FROM application WHERE seen_us <= ?)"

_decode = msgspec.json.Decoder(list[Parcel]).decode


class SqlitePublications:
    """See `rockdove.store.base.publication.Publications`."""

    def __init__(self, shared: Shared, landings: SqliteLandings) -> None:
        self._writer = shared.writer
        self._clock = shared.clock
        self._room = shared.room
        self._landings = landings

    def stage(
        self,
        name: PublicationName,
        attempt: str,
        chunk: int,
        parcels: Sequence[Parcel],
        size_bytes: int,
        done: Done[Standing],
    ) -> None:
        text = msgspec.json.encode(parcels).decode()
        row = (*_key(name), attempt, chunk, self._clock.now_us(), len(parcels), size_bytes, text)

        def call(db: apsw.Connection) -> Standing:
            standing = _standing(db, name, attempt)
            if standing.winner is not None or standing.too_old:
                return standing
            db.execute("INSERT OR REPLACE INTO stage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            self._room.staged_bytes += landing_bytes(len(parcels), size_bytes)
            return _standing(db, name, attempt)

        # Room for the row, and for the rows that become of it.
        self._writer.call(call, done, 1, len(text.encode()) + landing_bytes(len(parcels), size_bytes))

    def look(self, name: PublicationName, attempt: str, done: Done[Standing]) -> None:
        self._call(lambda db: _standing(db, name, attempt), done)

    def chunks(self, name: PublicationName, attempt: str, done: Done[dict[int, list[Parcel]]]) -> None:
        key = (*_key(name), attempt)
        self._call(lambda db: {chunk: _decode(text) for chunk, text in db.execute(_CHUNKS, key)}, done)

    def _call(self, call: Any, done: Done[Any]) -> None:
        self._writer.call(call, done)

    def publish(
        self,
        name: PublicationName,
        attempt: str,
        parts: Sequence[tuple[Physical, Sequence[Draft]]],
        done: Done[Published],
    ) -> None:
        now_us = self._clock.now_us()
        shelves: list[tuple[Face, Sequence[Draft], int]] = []
        for physical, drafts in parts:
            assert isinstance(physical, StandardQueue | FifoQueue)
            physical.prepare(drafts)
            shelves.append((physical, drafts, physical.numbers.take(len(drafts))))

        def call(db: apsw.Connection) -> tuple[Published, list[list[Change]]] | StoreError:
            standing = _standing(db, name, attempt)
            if standing.winner is not None or standing.too_old:
                return Published(standing), []
            if any(not is_kept(db, shelf) or shelf.refuses(db, drafts, now_us) for shelf, drafts, _ in shelves):
                return gone()
            done_in = [shelf.append_in(db, drafts, first, now_us) for shelf, drafts, first in shelves]
            appended: list[list[Appended]] = [new for new, _ in done_in]
            number = sum(map(len, appended))
            db.execute("INSERT INTO published VALUES (?, ?, ?, ?, ?, ?)", (*_key(name), attempt, number))
            db.execute(_UNSTAGE, _key(name))
            _has_published(db, name, now_us)
            return Published(Standing(attempt, number), appended), [changes for _, changes in done_in]

        def landed(outcome: tuple[Published, list[list[Change]]] | StoreError) -> None:
            if isinstance(outcome, StoreError):
                done(outcome)
                return
            for (shelf, _, _), changes in zip(shelves, outcome[1], strict=False):
                shelf.land(changes)
            done(outcome[0])
            if outcome[0].appended is not None:
                for face, drafts, _ in shelves:
                    face.shelf.told_appended(drafts)

        brought = [stored_bytes(draft.message) for _, drafts, _ in shelves for draft in drafts]
        # One more for the record of it: there need not be messages.
        self._writer.call(call, landed, len(brought) + 1, sum(brought))

    def commit(
        self,
        name: PublicationName,
        winners: Sequence[Winner],
        partly: Partly,
        place: Physical,
        done: Done[Decision],
    ) -> None:
        now_us, number = self._clock.now_us(), place.record.number
        kept = kept_bytes("") + _WINNER_BYTES * len(winners)

        def call(db: apsw.Connection) -> tuple[Decision, int] | StoreFull:
            # To publish is how what is staged leaves a full disk; only a long list of attempts has to wait.
            is_short = self._room.tight or (self._room.full and kept > LEAST_BYTES)
            if is_short and _standing(db, name, "").winner is None:
                return StoreFull(FULL)
            return _commit(db, name, winners, partly, number, now_us)

        def decided(outcome: tuple[Decision, int] | StoreError) -> None:
            if isinstance(outcome, StoreError):
                done(outcome)
                return
            decision, landing = outcome
            if landing:
                self._landings.begin(name, number, landing)
            done(decision)

        self._writer.call(call, decided, kept_bytes=kept)

    def landed(self, name: PublicationName, done: Done[None]) -> None:
        self._landings.unlanded.wait(name, done)

    def discard(self, name: PublicationName, prefix: str, done: Done[None]) -> None:
        key = (name.queue, name.application, name.batch, prefix)
        self._writer.call(lambda db: db.execute(_DISCARD, key).close(), done)


def _commit(
    db: apsw.Connection, name: PublicationName, winners: Sequence[Winner], partly: Partly, place: int, now_us: int
) -> tuple[Decision, int]:
    """What was decided, and how many messages are to land."""
    batch = (name.queue, name.application, name.batch)
    standing = _standing(db, name, "")
    if standing.winner is not None or standing.too_old:
        return Decision(standing.messages, too_old=standing.too_old), 0
    alone: dict[int, int] = dict(db.execute(_ALONE, batch).fetchall())  # type: ignore[arg-type]
    counted = list[tuple[Winner, int]]()
    for winner in winners:
        chunks, messages, last = db.execute(_STAGED_WHOLE, (*batch, winner.attempt)).get
        if (chunks, last) != (winner.chunks, winner.chunks - 1):
            return Decision(missing=winner.attempt), 0
        counted.append((winner, messages))
    choice = choose(counted, alone, partly)
    if choice is None:
        return Decision(partly=len(alone)), 0
    db.execute("INSERT INTO published VALUES (?, ?, ?, ?, ?, ?)", (*_key(name), "", choice.total))
    for turn, winner in enumerate(choice.winners):
        if winner.chunks:
            row = (*batch, turn, winner.attempt, now_us, place)
            db.execute("INSERT INTO landing VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.execute(_UNSTAGE_REST, batch)
    _has_published(db, name, now_us)
    return Decision(choice.total, is_new=True), choice.landing


def _has_published(db: apsw.Connection, name: PublicationName, now_us: int) -> None:
    """Forget the oldest batches of the application, and remember that it is at work."""
    forgotten = name.batch - REMEMBERED_BATCHES
    db.execute(_SEEN, (name.queue, name.application, forgotten, now_us))
    db.execute(_FORGET, (name.queue, name.application, forgotten))


def forget_publications(db: apsw.Connection, now_us: int) -> None:
    """What was staged for too long, and what applications have published that have fallen silent."""
    db.execute(_FORGET_STAGED, (now_us - STAGED_S * SECOND_US,))
    silent_us = now_us - PUBLISHED_S * SECOND_US
    db.execute(_FOLD, (silent_us,))
    db.execute(_DROP, (silent_us,))
    db.execute("DELETE FROM application WHERE seen_us <= ?", (now_us - APPLICATION_S * SECOND_US,))


def _key(name: PublicationName) -> tuple[str, str, int, int]:
    return name.queue, name.application, name.batch, name.partition


def _standing(db: apsw.Connection, name: PublicationName, attempt: str) -> Standing:
    for known in (name, name.whole):
        for winner, number in db.execute(_WINNER, _key(known)):
            return Standing(winner, number)
    forgotten = db.execute(_FORGOTTEN, (name.queue, name.application)).get
    if forgotten is not None and name.batch <= forgotten:
        return Standing(too_old=True)
    (messages, size) = db.execute(_STAGED, (*_key(name), attempt)).get
    return Standing(None, messages, bytes=size)
