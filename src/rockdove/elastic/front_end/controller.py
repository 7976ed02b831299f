"""The controller of front-ends: it looks all the time, decides each period, and has it done.

Nothing that it does fails a request. A front-end gets requests once it is ready, and ends when it has none: first the
dispatcher forgets it, then what was under way is finished, held receives as well, and only then is it told to end.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from rockdove.capacity.scaling.front_ends import Bounds, Load, Memory, Plan, decide
from rockdove.capacity.scaling.step import Act
from rockdove.elastic.front_end.base import Dispatcher, Fleet, FrontEndError
from rockdove.elastic.front_end.member import Member
from rockdove.elastic.front_end.page import Reading
from rockdove.elastic.front_end.state import Round
from rockdove.elastic.state import MOST_DECISIONS, Decided

log = logging.getLogger("rockdove")

# Seconds between two looks at who lives and who is ready.
LOOK_S = 0.25
# Seconds for one that was told to end.
END_S = 30.0

Watcher = Callable[[Round], None]


class FrontEnds:
    """For one event loop. ``watcher`` is told of each period."""

    def __init__(
        self,
        fleet: Fleet,
        dispatcher: Dispatcher,
        bounds: Bounds,
        period_s: float,
        watcher: Watcher = lambda told: None,
        check: Callable[[str], None] = lambda url: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``check`` is called in a thread with the first front-end that is ready, before anybody else reaches it."""
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._bounds = bounds
        self._period_s = period_s
        self._watcher = watcher
        self._check: Callable[[str], None] | None = check
        self._clock = clock
        self._members: dict[int, Member] = {}
        # The one before may have decided a moment ago: what it did has time to take effect.
        self._memory = Memory(acted_s=clock())
        self._decisions: list[Decided] = []
        self._next_s = 0.0
        # Numbers of those that this controller has started.
        self._started: set[int] = set()
        # Since when nothing could be routed, and whether anything ever was.
        self._trouble = ""
        self._has_served = False

    async def run(self, stopped: asyncio.Event) -> None:
        """Until it is told to stop. Raises `FrontEndError`."""
        while not stopped.is_set():
            await self.look()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), min(LOOK_S, self._period_s))

    async def look(self) -> None:
        """Who lives, who is ready, who has finished; and at the end of a period, a decision."""
        has_lost = await self._list()
        await self._ask()
        # Who is told to be up gets requests.
        await self._route()
        if has_lost or self._clock() >= self._next_s or self._next_s - self._clock() > self._period_s:
            await self._decide()
            await self._route()
        await self._finish()

    async def close(self, drain: bool) -> None:
        """They live on, or end: the dispatcher first, so that nothing is given to one that has gone.

        Those of a start that has failed end in any case.
        """
        if drain:
            await self._dispatcher.stop()
        elif self._has_served:
            return
        ending = {each.number for each in await self._fleet.list() if drain or each.number in self._started}
        for number in ending:
            await self._fleet.drain(number)
        end_s = time.monotonic() + END_S
        while ending := ending & {each.number for each in await self._fleet.list()}:
            if time.monotonic() > end_s:
                for number in ending:
                    await self._fleet.stop(number)
            await asyncio.sleep(LOOK_S)

    # What there is.

    async def _list(self) -> bool:
        """Whether one that served has died."""
        now_s, lost = self._clock(), False
        seen = {each.number: each for each in await self._fleet.list()}
        for number, member in list(self._members.items()):
            if number in seen and _pid(seen[number].life) == member.pid:
                continue
            del self._members[number]
            if member.stays:
                lost = lost or member.state == "up"
                self._lost(member, now_s)
        for number, each in seen.items():
            member = self._members.setdefault(number, Member(number, _pid(each.life)))
            if member.url is None:
                member.url = self._fleet.address(each)
        return lost

    def _lost(self, member: Member, now_s: float) -> None:
        words = self._fleet.last_words(member.number)
        if not self._has_served and member.number in self._started:
            # What is wrong with the first is wrong with all.
            raise FrontEndError(f"a front-end has ended before it was ready: {words}")
        said = f"front-end {member.number} has died" + (f", and said: {words}" if words else "")
        self._note(now_s, Act.REMOVE, said, number=member.number)

    async def _ask(self) -> None:
        asked = [member for member in self._members.values() if member.stays and member.url is not None]
        answers = await asyncio.gather(*(self._fleet.is_ready(member.url or "") for member in asked))
        for member, answer in zip(asked, answers, strict=True):
            # Not ready is an answer: if the store takes no changes, another front-end would not be better.
            member.answered(answer is not None, self._clock())
            if answer and member.state == "starting":
                await self._let_in(member)

    async def _let_in(self, member: Member) -> None:
        if self._check is not None and member.url is not None:
            await asyncio.to_thread(self._check, member.url)
            self._check = None
        member.state = "up"

    # What is to be.

    async def _decide(self) -> None:
        staying = [member for member in self._members.values() if member.stays]
        readings = await asyncio.gather(*(self._read(member) for member in staying))
        for member, reading in zip(staying, readings, strict=True):
            member.took(reading)
        now_s = self._clock()
        load = Load(
            now_s,
            tuple(member.seen() for member in staying),
            max((each.storage_bytes for each in staying if each.storage_bytes is not None), default=None),
        )
        plan = decide(self._bounds, self._memory, load)
        self._memory = plan.memory
        self._next_s = now_s + self._period_s
        await self._carry_out(plan, now_s)
        if plan.decisions:
            # Those that were started.
            await self._list()
        self._tell(plan, load)

    async def _read(self, member: Member) -> Reading | None:
        return await self._fleet.read(member.url) if member.state == "up" and member.url is not None else None

    async def _carry_out(self, plan: Plan, now_s: float) -> None:
        for decision in plan.decisions:
            self._note(now_s, decision.act, decision.reason, decision.workers, decision.number)
            for _ in range(decision.workers):
                taken = {each.number for each in await self._fleet.list()}
                number = next(each for each in range(1, len(taken) + 2) if each not in taken)
                await self._fleet.start(number)
                self._started.add(number)
            if decision.number is not None:
                member = self._members[decision.number]
                member.state = "draining" if decision.act is Act.DRAIN else "silent"

    async def _route(self) -> None:
        """The dispatcher knows those that are up. It is never left without any: the last ones may come back."""
        urls = [member.url for member in self._members.values() if member.state == "up" and member.url is not None]
        if not urls:
            return
        try:
            users = await self._dispatcher.route(urls)
        except FrontEndError as error:
            if not self._has_served:
                raise
            if not self._trouble:
                log.warning("%s", error)
            self._trouble = str(error)
            return
        self._trouble, self._has_served = "", True
        for member in self._members.values():
            if not member.stays and member.users is None:
                member.users = users

    async def _finish(self) -> None:
        """Those that get nothing more end when they have nothing more."""
        now_s = self._clock()
        for member in self._members.values():
            if member.state == "silent" and member.users is not None:
                # It would not hear that it is to end.
                await self._end(member, now_s, at_once=True)
            elif member.state == "draining" and member.users is not None and not self._dispatcher.still(member.users):
                await self._end(member, now_s, at_once=False)
            elif member.ending_s is not None and now_s - member.ending_s > END_S:
                await self._end(member, now_s, at_once=True)

    async def _end(self, member: Member, now_s: float, at_once: bool) -> None:
        member.state, member.ending_s = "ending", now_s
        await (self._fleet.stop if at_once else self._fleet.drain)(member.number)

    # What is told.

    def _note(self, now_s: float, act: Act, reason: str, workers: int = 0, number: int | None = None) -> None:
        log.info("%s: %s", act.value, reason)
        self._decisions.append(Decided(at=now_s, act=act, reason=reason, workers=workers, number=number))
        del self._decisions[:-MOST_DECISIONS]

    def _tell(self, plan: Plan, load: Load) -> None:
        members = sorted(self._members.values(), key=lambda member: member.number)
        self._watcher(
            Round(
                at=load.now_s,
                period_s=self._period_s,
                wanted=plan.wanted,
                requests=load.requests,
                mean_s=load.mean_s,
                storage_bytes=load.storage_bytes,
                front_ends=[member.shown() for member in members],
                decisions=list(self._decisions),
            )
        )


def _pid(life: str) -> int:
    return int(life.partition(" ")[0])
