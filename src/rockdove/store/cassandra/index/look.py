"""How a front-end learns what there is in one physical queue: it looks, and it is told."""

import asyncio
from collections.abc import Sequence

from rockdove.core.clock import SECOND_US, Clock
from rockdove.store.cassandra.index.entry import Kind, Spot
from rockdove.store.cassandra.index.known import Known
from rockdove.store.cassandra.index.members import PlaceMembers
from rockdove.store.cassandra.index.tables import Tables
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.tasks import Tasks, at_once

# For so long a front-end goes by what it has seen and heard of the others' segments: if there are others, and if not.
FRESH_US = SECOND_US // 2
ALONE_FRESH_US = SECOND_US
# So often it looks at all segments.
ALL_US = 5 * SECOND_US
# Segments that are read at once.
MOST_AT_ONCE = 4
# An entry that another front-end is about to take is looked at again after so long.
TAKEN_US = SECOND_US
# So many messages at most are told of at a time.
MOST_TOLD = 10
# A message is left to each front-end that has it before this one: for so many seconds at least and at most, and for so
# many times as long as receives take at the moment.
LEAST_STEAL_S = 0.03
MOST_STEAL_S = 0.2
STEAL_CLAIMS = 2


class Look:
    """For the event loop's thread. Everything that is awaited raises `StoreError`."""

    def __init__(
        self,
        number: int,
        name: str,
        known: Known,
        tables: Tables,
        clock: Clock,
        arrivals: ArrivalListeners,
        members: PlaceMembers,
        tasks: Tasks,
    ) -> None:
        self._number = number
        self._name = name
        self._known = known
        self._candidates = known.candidates
        self._directory = known.directory
        self._tables = tables
        self._clock = clock
        self._arrivals = arrivals
        self._members = members
        self._tasks = tasks
        self._loading = asyncio.Lock()
        self._has_news = False
        self._is_looking = False
        # Set while somebody is to be told in a moment.
        self._timer: asyncio.TimerHandle | None = None
        # No others are alive.
        self.is_alone = True
        # How long claims take, on average.
        self._claim_s = 0.0

    def claimed(self, seconds: float) -> None:
        """A claim has taken so long."""
        self._claim_s += (seconds - self._claim_s) / 8

    def others_sent(self, spots: Sequence[Spot]) -> None:
        """See `rockdove.store.cassandra.index.voice.Listener`, here and below."""
        is_known = spots and all(spot.segment in self._directory.segments for spot in spots)
        if is_known and self._members.does_receive:
            # If not, nobody would tell when they are taken.
            self._known.learn(spots)
            self.tell_ready()
            return
        self._has_news = True
        if self._number in self._arrivals.heard:
            self.soon()

    def others_shut(self) -> None:
        self._directory.end_all()

    def others_receive(self, front_end: str) -> None:
        self._members.heard(front_end)

    def others_take(self, turns: Sequence[tuple[int, int]]) -> None:
        later_us = self._clock.now_us() + TAKEN_US
        for spot in self._known.up_to(turns):
            self._candidates.discard(spot)
            self._candidates.add(spot, later_us)

    def others_took(self, turns: Sequence[tuple[int, int]]) -> None:
        for spot in self._known.up_to(turns):
            self._known.forget(spot)

    def soon(self) -> None:
        """See whether there is something for who waits."""
        if not self._is_looking:
            self._is_looking = True
            self._tasks.run(self._look())

    async def _look(self) -> None:
        try:
            await self.gather(1, is_sure=True)
        finally:
            self._is_looking = False
        self.tell_ready()

    @property
    def patience_s(self) -> float:
        """For how long a message is left to those that have it first, for each of them."""
        return min(max(LEAST_STEAL_S, STEAL_CLAIMS * self._claim_s), MOST_STEAL_S)

    def tell_ready(self) -> None:
        """Wake who waits for what this front-end may take, now or in a moment."""
        if self._number not in self._arrivals.heard:
            return
        self._candidates.pass_time(self._clock.now_us())
        ready, wait_s = self._candidates.ready(MOST_TOLD, self.patience_s)
        self._arrivals.tell(self._number, ready, None if ready else self.next_us())
        if wait_s is not None:
            self._tell_later(wait_s)

    def _tell_later(self, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            if self._timer.when() <= loop.time() + wait_s:
                return
            self._timer.cancel()
        self._timer = loop.call_later(wait_s, self._tell_now)

    def _tell_now(self) -> None:
        self._timer = None
        self.tell_ready()

    def next_us(self) -> int | None:
        """When the next message is visible, to judge by what is known."""
        first = self._directory.unknown.first()
        times = [time for time in (self._candidates.next_us(), first and first[0]) if time is not None]
        _, wait_s = self._candidates.ready(MOST_TOLD, self.patience_s)
        if wait_s is not None:
            times.append(self._clock.now_us() + round(wait_s * SECOND_US))
        return min(times, default=None)

    async def gather(self, need: int, is_sure: bool = False) -> None:
        """Know of the first visible messages. ``is_sure``: also of those that others have sent just before."""
        self._members.receives()
        now_us = self._clock.now_us()
        self._candidates.pass_time(now_us)
        age_us = now_us - self._directory.looked_us
        is_fresh = 0 <= age_us < (ALONE_FRESH_US if self.is_alone else FRESH_US) and not self._has_news
        if (is_sure or not is_fresh) and self._candidates.visible < need:
            await self._see(now_us)
        elif not is_fresh and not self._is_looking:
            self._is_looking = True
            self._tasks.run(self._see_meanwhile(now_us))
        await self._load_first(need)

    async def _see(self, now_us: int) -> None:
        self._has_news = False
        await self._directory.look(not 0 <= now_us - self._directory.saw_all_us < ALL_US)

    async def _see_meanwhile(self, now_us: int) -> None:
        try:
            await self._see(now_us)
        finally:
            self._is_looking = False

    async def _load_first(self, need: int) -> None:
        """One at a time: what is being read may come before all else."""
        async with self._loading:
            now_us = self._clock.now_us()
            unknown, candidates = self._directory.unknown, self._candidates
            candidates.pass_time(now_us)
            while (first := unknown.first()) is not None and first[0] <= now_us:
                head = candidates.head()
                if candidates.visible >= need and head is not None and first[0] > head.visible_us:
                    return
                numbers: list[int] = []
                while len(numbers) < MOST_AT_ONCE and (first := unknown.first()) is not None and first[0] <= now_us:
                    unknown.drop(first[1])
                    numbers.append(first[1])
                await at_once(*(self.load(number) for number in numbers))
                candidates.pass_time(now_us)

    async def load(self, number: int) -> None:
        """Read what a segment has."""
        segment = self._directory.segments.get(number)
        if segment is None:
            return
        is_final = segment.is_closed(self._clock.now_us())
        try:
            spots = await self._tables.read_segment(self._name, number, segment.floor_us)
        except BaseException:
            self._directory.unknown.put(number, segment.from_us)
            raise
        segment.is_final = is_final
        if spots and segment.kind is Kind.SENT:
            # Those of other front-ends' requests at the same time may come a little later.
            segment.floor_us = max(segment.floor_us, spots[-1].visible_us - 2 * SECOND_US)
        self._known.learn(spots)
        if is_final and not segment.ids:
            self._tasks.run(self._known.tidy(number))
