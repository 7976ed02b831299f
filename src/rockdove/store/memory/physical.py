"""A physical queue of the memory store.

Each call takes effect before it returns, and the running loop calls ``done`` soon after, in the order of the calls. So
an exception in ``done`` goes to the loop's handler, and never meets a change half made.
"""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Appended, Claimed, Counts, Done, Draft, Hint, Want
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.gone import gone
from rockdove.store.memory.pile import Pile
from rockdove.store.memory.tell import tell_soon

_EMPTY = Hint(None, False, False)


class MemoryPhysical:
    """Without a pile it was dropped, holds nothing and takes nothing."""

    def __init__(
        self, record: PhysicalRecord, pile: Pile | None, arrivals: ArrivalListeners, unlanded: dict[int, int]
    ) -> None:
        """``unlanded``: what is published, and has not landed, counts as visible."""
        self._record = record
        self._unlanded = unlanded
        self.pile = pile
        self._arrivals = arrivals
        # It is about to go, and takes nothing any more.
        self.is_closed = False

    @property
    def record(self) -> PhysicalRecord:
        return self._record

    def take_record(self, record: PhysicalRecord) -> None:
        """The same physical queue may leave from now on, or stay."""
        self._record = record
        self.is_closed = False

    def refuses(self, drafts: Sequence[Draft]) -> bool:
        """Whether it leaves, and does not take these any more."""
        if self.is_closed:
            return True
        return self._record.leaves and (self.pile is None or not self.pile.holds_groups_of(drafts))

    def hint(self) -> Hint:
        if self.pile is None:
            return _EMPTY
        hint = self.pile.hint()
        # A claim tells that something is about to come: a visit is not in vain.
        return replace(hint, next_us=0) if self.is_landing else hint

    @property
    def is_landing(self) -> bool:
        """Whether published messages are about to come."""
        return self._record.number in self._unlanded

    @property
    def holds_any(self) -> bool:
        """Whether it has messages, or counts those that have not landed."""
        return self.is_landing or (self.pile is not None and self.pile.holds_any)

    def drop(self) -> None:
        if self.pile is not None:
            self.pile.leave()
        self.pile = None

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        if self.pile is None or self.refuses(drafts):
            tell_soon(done, gone())
            return
        tell_soon(done, self.pile.append(drafts))
        self.appended(drafts)

    def adopt(self, entries: Sequence[Entry]) -> None:
        """At once. See `rockdove.store.memory.pile.Pile`."""
        if self.pile is not None:
            self.pile.adopt(entries)
            self.arrived(len(entries))

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        claimed = self.pile.claim(want) if self.pile else Claimed([], [])
        if not claimed.entries:
            claimed.landing = self.is_landing
        tell_soon(done, claimed)
        self.hidden(claimed)

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        moved = self.pile is not None and self.pile.move(id, visible_us, receive_count)
        tell_soon(done, moved)
        if moved and self.pile is not None:
            visible = visible_us <= self.pile.now_us()
            self.arrived(int(visible), None if visible else visible_us)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        removed = self.pile is not None and self.pile.remove(id, receive_count)
        tell_soon(done, removed)
        self.removed(int(removed))

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        pile = self.pile
        found = [pile is not None and pile.remove(id, None) for id in ids]
        tell_soon(done, found)
        self.removed(sum(found))

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        if self.pile:
            self.pile.release(entries)
        tell_soon(done, None)
        self.arrived(len(entries))

    def count(self, done: Done[Counts]) -> None:
        counts = self.pile.count() if self.pile else Counts(0, 0, 0)
        tell_soon(done, replace(counts, visible=counts.visible + self._unlanded.get(self._record.number, 0)))

    def find(self, id: int, done: Done[Entry | None]) -> None:
        tell_soon(done, self.pile.find(id) if self.pile else None)

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        tell_soon(done, [self.pile is not None and self.pile.holds(group) for group in groups])

    # Who waits for messages is told after the outcome.

    def arrived(self, visible: int, next_us: int | None = None) -> None:
        number = self._record.number
        if number in self._arrivals.heard:
            asyncio.get_running_loop().call_soon(self._arrivals.tell, number, visible, next_us)

    def appended(self, drafts: Sequence[Draft]) -> None:
        number = self._record.number
        if number in self._arrivals.heard and self.pile is not None:
            asyncio.get_running_loop().call_soon(self._arrivals.appended, number, drafts, self.pile.now_us())

    def hidden(self, claimed: Claimed) -> None:
        """What was claimed is visible again when its timeout has passed."""
        times = [entry.visible_us for entry in (*claimed.entries, *claimed.dead)]
        self.arrived(0, min(times, default=None))

    def removed(self, number: int) -> None:
        """On a FIFO queue, messages of the same groups may be claimed now."""
        if self.pile is not None and self.pile.fifo:
            self.arrived(number)
