"""The segments of one physical queue: which there are, which of them this front-end fills, and which are over."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import TypeAlias

from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.index.entry import MOST_ENTRIES, Kind
from rockdove.store.cassandra.index.segment import EVER_US, OPEN_S, SETTLED_S, Filling, Segment, range_of
from rockdove.store.cassandra.index.together import Together
from rockdove.store.cassandra.session import Session
from rockdove.store.common.gone import gone
from rockdove.store.common.heap import Heap
from rockdove.store.common.tasks import Tasks

# Segments that are listed at a time.
PAGE = 500
# Looks that are made in one.
MOST_LOOKS = 1_000_000
# The stored lower bound is moved in steps of so many seconds.
CURSOR_S = 60
# Seconds between two looks whether it was opened again.
SHUT_PAUSE_S = 0.05
# Numbers of segments are at least as many as ticks have passed since 2026. They have room until 2061.
TICKS_FROM_US = 1_767_225_600 * SECOND_US
TICK_US = 1 << 19
# How often a number is tried for, when others are quicker.
MOST_TRIES = 20

# Entries that have begun: each with its segment, and its place there.
Begun: TypeAlias = Iterable[tuple[Filling, int]]


class Directory:
    """The segments of one physical queue."""

    def __init__(
        self,
        name: str,
        session: Session,
        clock: Clock,
        tasks: Tasks,
        lost: Callable[[Segment], None],
        closed: Callable[[Segment], None],
    ) -> None:
        """``lost`` is called with segments that were removed, and ``closed`` with those that this front-end has
        filled."""
        self._name = name
        self._session = session
        self._clock = clock
        self._tasks = tasks
        self._lost = lost
        self._closed = closed
        self.segments: dict[int, Segment] = {}
        # How many there are of each kind.
        self.numbers = dict.fromkeys(Kind, 0)
        self._filling: list[Filling] = []
        self._turn = asyncio.Lock()
        self._looks: Together[bool, None] = Together(self._look, MOST_LOOKS)
        # Segments of which not all is known, by the time from which their entries are visible.
        self.unknown: Heap[int, int] = Heap()
        # The next number, as far as this front-end knows.
        self._next: int | None = None
        self._is_next_known = False
        self._low_us = dict.fromkeys(Kind, 0)
        self._stored_us = dict.fromkeys(Kind, 0)
        # When this front-end has looked last, and at all segments.
        self.looked_us = 0
        self.saw_all_us = 0

    @property
    def is_busy(self) -> bool:
        return any(filling.pending for filling in self._filling)

    def forget_place(self) -> None:
        self._lost = self._closed = lambda segment: None
        self._looks = Together(_nothing, 1)

    # Filling.

    async def begin(self, kind: Kind, times: Sequence[int]) -> list[tuple[Filling, int]]:
        """Entries that are visible at these times; they are to be finished. Raises `StoreError`."""
        begun: list[tuple[Filling, int]] = []
        try:
            while len(begun) < len(times):
                visible_us = times[len(begun)]
                filling = await self._fill(kind, visible_us)
                if filling.takes(kind, visible_us):
                    begun.append((filling, filling.take(visible_us)))
        except BaseException:
            self.finish(begun)
            raise
        return begun

    def finish(self, begun: Begun) -> None:
        """What was begun with these entries is over."""
        for filling, _ in begun:
            self._finished(filling)

    async def _fill(self, kind: Kind, visible_us: int) -> Filling:
        """One that takes such an entry. `QueueGone`: there are to be no more. Raises `StoreError`."""
        found = self._find(kind, visible_us)
        if found is None:
            async with self._turn:
                found = self._find(kind, visible_us) or await self._open(kind, visible_us)
        return found

    def _find(self, kind: Kind, visible_us: int) -> Filling | None:
        """Not one that was opened before too few nodes answered: Cassandra may not know of it any more."""
        since_s = self._session.troubled_s
        fit = (each for each in self._filling if each.is_since(since_s) and each.takes(kind, visible_us))
        return next(fit, None)

    async def _open(self, kind: Kind, visible_us: int) -> Filling:
        begun_s, now_us = monotonic(), self._clock.now_us()
        from_us, width_us = range_of(visible_us, now_us)
        owner = self._session.front_end
        for attempt in range(MOST_TRIES):
            if not self._is_next_known:
                await self._read_next()
            if self._next is not None and self._next < 0:
                self._is_next_known = False
                if kind is Kind.SENT or attempt == MOST_TRIES - 1:
                    raise gone()
                # Somebody tries to close it, and will see that it holds a message.
                await asyncio.sleep(SHUT_PAUSE_S)
                continue
            # A number that Cassandra has lost is not given again: numbers are as large as the time is late.
            number = max(self._next or 1, (now_us - TICKS_FROM_US) // TICK_US)
            try:
                ((applied, *_),) = await self._session.ask_agreed_batch(
                    [
                        (schema.TAKE_SEGMENT_NUMBER, (number + 1, self._name, self._next)),
                        (schema.OPEN_SEGMENT, (self._name, kind, from_us, number, owner, now_us)),
                    ]
                )
            except StoreInterrupted:
                # If it was taken, nobody uses it: the next one is as good.
                applied = False
            self._is_next_known = bool(applied)
            if applied:
                self._next = number + 1
                break
        else:
            raise StoreInterrupted("no segment of the index could be opened; try it again")
        # A look may have seen it before this has heard that it is there.
        segment = self.segments.get(number) or self._add(Segment(kind, from_us, number, owner, now_us))
        self.unknown.drop(number)
        # All that is in it is known.
        segment.is_final = True
        filling = Filling(segment, width_us, begun_s)
        self._filling.append(filling)
        asyncio.get_running_loop().call_later(OPEN_S, self._end, filling)
        filling.check()
        return filling

    async def _read_next(self) -> None:
        rows = await self._session.ask_serial(schema.READ_SEGMENT_NUMBER, self._name)
        self._next = rows[0][0] if rows else None
        self._is_next_known = True

    def _finished(self, filling: Filling) -> None:
        filling.pending -= 1
        if filling.entries >= MOST_ENTRIES:
            filling.is_over = True
        if filling.is_over and not filling.pending:
            self._close(filling)

    def end_all(self) -> None:
        """Fill the next ones."""
        for filling in list(self._filling):
            self._end(filling)

    def _end(self, filling: Filling) -> None:
        filling.is_over = True
        if not filling.pending:
            self._close(filling)

    def _close(self, filling: Filling) -> None:
        if filling not in self._filling:
            return
        self._filling.remove(filling)
        segment = filling.segment
        segment.size, segment.until_us = filling.entries, filling.until_us
        self._tasks.run(self._tell_closed(segment))

    async def _tell_closed(self, segment: Segment) -> None:
        try:
            await self._session.ask(schema.END_SEGMENT, segment.size, segment.until_us, *self._key(segment))
            if segment.is_touched:
                await self._session.ask(schema.TOUCH_SEGMENT, *self._key(segment))
        except StoreError:
            # Others find it out by its age.
            return
        self._closed(segment)

    def _key(self, segment: Segment) -> tuple[str, int, int, int]:
        return self._name, segment.kind, segment.from_us, segment.number

    # Looking.

    async def look(self, everything: bool = False) -> None:
        """See which segments there are; if not all, those that may have visible messages. Raises `StoreError`."""
        await self._looks.ask(everything, None)

    async def _look(self, everything: bool, those: list[None]) -> list[None]:
        """All who have asked before it began are served by one."""
        now_us = self._clock.now_us()
        is_first = not self.looked_us
        if is_first:
            for kind in Kind:
                rows = await self._session.ask(schema.READ_CURSOR, self._name, kind)
                self._low_us[kind] = self._stored_us[kind] = rows[0][0] if rows else 0
        await asyncio.gather(*(self._look_at(kind, everything or is_first, now_us) for kind in Kind))
        self.looked_us = now_us
        if everything or is_first:
            self.saw_all_us = now_us
            await self._move_up(now_us)
        return those

    async def _look_at(self, kind: Kind, everything: bool, now_us: int) -> None:
        low_us = self._low_us[kind]
        if not everything:
            low_us = max(low_us, self.looked_us - 2 * SETTLED_S * SECOND_US)
        high_us = EVER_US if everything or kind is Kind.SENT else now_us + SECOND_US
        before = set(self.segments)
        found: set[int] = set()
        after = (low_us - 1, EVER_US)
        while True:
            rows = await self._session.ask(schema.READ_SEGMENTS, self._name, kind, *after, high_us, EVER_US, PAGE)
            for from_us, number, owner, made_us, size, until_us, touched in rows:
                if owner is None:
                    # It was removed, and closed after that.
                    continue
                found.add(number)
                segment = self.segments.get(number)
                if segment is None:
                    segment = self._add(Segment(kind, from_us, number, owner, made_us))
                if not segment.is_final:
                    self.unknown.put(number, segment.from_us)
                if size is not None:
                    segment.size, segment.until_us = size, until_us
                segment.is_touched = segment.is_touched or bool(touched)
            if len(rows) < PAGE:
                break
            after = rows[-1][:2]
        for number in before - found:
            segment = self.segments.get(number)
            if segment is None or segment.kind is not kind or not low_us <= segment.from_us <= high_us:
                continue
            if not self.is_filled(segment):
                self.forget(segment)

    def leave_unknown(self, segment: Segment) -> None:
        """What is in it has to be read."""
        segment.is_final = False
        self.unknown.put(segment.number, segment.from_us)

    def is_filled(self, segment: Segment) -> bool:
        """Whether this front-end fills it."""
        return any(filling.segment is segment for filling in self._filling)

    def _add(self, segment: Segment) -> Segment:
        self.segments[segment.number] = segment
        self.numbers[segment.kind] += 1
        return segment

    def forget(self, segment: Segment) -> None:
        if self.segments.pop(segment.number, None) is not None:
            self.numbers[segment.kind] -= 1
            self.unknown.drop(segment.number)
            self._lost(segment)

    async def _move_up(self, now_us: int) -> None:
        """Nobody reads what is below the first segment any more; none can appear there."""
        for kind in Kind:
            times = [each.from_us for each in self.segments.values() if each.kind is kind]
            low_us = min([*times, now_us - 2 * SETTLED_S * SECOND_US])
            self._low_us[kind] = max(self._low_us[kind], low_us)
            if self._low_us[kind] - self._stored_us[kind] > CURSOR_S * SECOND_US:
                low_us = self._stored_us[kind] = self._low_us[kind]
                await self._session.ask(schema.PUT_CURSOR, self._name, kind, low_us, low_us)

    # What becomes of them.

    def touch(self, segment: Segment) -> None:
        """Entries are about to be removed from it: how many it had does not count any more."""
        if not segment.is_touched:
            segment.is_touched = True
            # Who fills it tells when it is closed.
            if not self.is_filled(segment):
                self._tasks.run(self._tell_touched(segment))

    async def _tell_touched(self, segment: Segment) -> None:
        try:
            await self._session.ask(schema.TOUCH_SEGMENT, *self._key(segment))
        except StoreError:
            segment.is_touched = False

    async def drop(self, segment: Segment) -> bool:
        """Remove a closed one if it is empty; whether it is. Raises `StoreError`."""
        if await self._session.ask(schema.IS_SEGMENT_USED, self._name, segment.number):
            return False
        await self.remove(segment)
        return True

    async def remove(self, segment: Segment) -> None:
        """With all that it has. Raises `StoreError`."""
        await self._session.ask(schema.DROP_SEGMENT, self._name, segment.number)
        await self._session.ask(schema.FORGET_SEGMENT, *self._key(segment))
        self.forget(segment)

    # Physical queues that are to go.

    async def shut(self) -> bool:
        """There are to be no more segments; whether there ever were any. Raises `StoreError`."""
        self.end_all()
        for _ in range(MOST_TRIES):
            await self._read_next()
            known = self._next
            self._is_next_known = False
            if known is not None and known < 0:
                return known != -1
            try:
                ((applied, *_),) = await self._session.ask_agreed(
                    schema.TAKE_SEGMENT_NUMBER, -(known or 1), self._name, known
                )
            except StoreInterrupted:
                continue
            if applied:
                return known is not None
        raise StoreInterrupted("the index could not be closed; try it again")

    async def open_again(self) -> None:
        """Raises `StoreError`."""
        for _ in range(MOST_TRIES):
            await self._read_next()
            known = self._next
            self._is_next_known = False
            if known is None or known > 0:
                return
            try:
                ((applied, *_),) = await self._session.ask_agreed(schema.TAKE_SEGMENT_NUMBER, -known, self._name, known)
            except StoreInterrupted:
                continue
            if applied:
                return
        raise StoreInterrupted("the index could not be opened again; try it again")

    async def clear_cursor(self) -> None:
        """Raises `StoreError`."""
        await self._session.ask(schema.FORGET_CURSOR, self._name)


async def _nothing(key: bool, items: list[None]) -> list[None]:
    return items
