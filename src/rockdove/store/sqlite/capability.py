"""Upkeep and transfers of the embedded store.

What takes a connection (`db`) runs in the writer's thread, all else in the event loop's.
"""

from collections.abc import Sequence

import apsw

from rockdove.core.errors import StoreError
from rockdove.store.base import Appended, Done, Draft, Physical
from rockdove.store.common.gone import gone
from rockdove.store.common.ledger import Ledger
from rockdove.store.common.size import stored_bytes
from rockdove.store.sqlite.fifo import FifoQueue
from rockdove.store.sqlite.shared import Shared
from rockdove.store.sqlite.shelf import Change
from rockdove.store.sqlite.shelves import Shelves
from rockdove.store.sqlite.standard import StandardQueue


class SqliteUpkeep:
    """See `rockdove.store.base.Upkeep`."""

    def __init__(self, shelves: Shelves, ledger: Ledger) -> None:
        self._shelves = shelves
        self._ledger = ledger

    def holding(self) -> list[tuple[str, str]]:
        return self._ledger.keys(self._shelves.full())

    def expire(self, physical: Physical, sent_after_us: int, done: Done[list[int]]) -> None:
        assert isinstance(physical, StandardQueue | FifoQueue)
        physical.expire(sent_after_us, done)

    def retime(self, physical: Physical, delay_us: int, done: Done[None]) -> None:
        assert isinstance(physical, StandardQueue | FifoQueue)
        physical.retime(delay_us, done)


class SqliteTransfers:
    """See `rockdove.store.base.Transfers`: one transaction for both queues."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        assert isinstance(source, StandardQueue | FifoQueue)
        assert isinstance(target, StandardQueue | FifoQueue)
        now = self._shared.clock.now_us()
        target.prepare(drafts)
        first = target.numbers.take(len(drafts))
        by_id = dict(zip(ids, drafts, strict=True))
        pinned = source.shelf

        def call(db: apsw.Connection) -> tuple[list[Appended], list[Change], list[Change]] | StoreError:
            kept = db.execute("SELECT queue FROM physical WHERE number = ?", (target.record.number,)).get
            if kept is None or target.refuses(db, drafts, now):
                return gone()
            removed, out = source.remove_in(db, list(ids), now)
            appended, into = target.append_in(db, [by_id[id] for id in removed], first, now)
            return appended, out, into

        pinned.pin(ids)

        def landed(result: tuple[list[Appended], list[Change], list[Change]] | StoreError) -> None:
            pinned.unpin(ids)
            if isinstance(result, StoreError):
                # They are where they were; what was taken out of the head is read again.
                source.abandon()
                done(result)
                return
            appended, out, into = result
            source.land(out)
            target.land(into)
            done(appended)
            source.shelf.told_removed(len(ids))
            target.shelf.told_appended(drafts)

        size_bytes = sum([stored_bytes(draft.message) for draft in drafts])
        self._shared.writer.call(call, landed, len(drafts), size_bytes)
