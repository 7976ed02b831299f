"""The controller of an elastic queue: each period it looks, decides by the queue's rule, and has it done.

What it remembers is published with the queue, so another can go on where it stopped. Nothing that it does loses a
message: a physical queue goes only when it is empty, and whoever is left over is drained first.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from rockdove.capacity.scaling.choice import decide
from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.step import Act, Decision, State, Step
from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.core.elastic import Elastic
from rockdove.core.elastic import read as read_elastic
from rockdove.core.errors import ElasticStateHeld, Fault
from rockdove.elastic.measure import Measure, Part
from rockdove.elastic.provision.base import Provisioner, ProvisionerTrouble, Seen
from rockdove.elastic.state import MOST_DECISIONS, Decided, Published, ShownWorker, read, write

log = logging.getLogger("rockdove")

# Weights are whole shares: all together about so much.
WEIGHT = 10_000.0
# A controller holds the queue for so many periods, and at least for so many seconds.
HOLD_PERIODS, LEAST_HOLD_S = 3, 5.0
# Seconds between two looks for workers that end.
LOOK_S = 0.2

Watcher = Callable[[Published, bool], None]


class NotElastic(Exception):
    """The queue has no `RockdoveElastic`."""


class Controller:
    """For one event loop. ``watcher`` is told what is published, and whether it is paused."""

    def __init__(
        self,
        client: AsyncClient,
        queue: str,
        holder: str,
        provisioner: Provisioner,
        measure: Measure,
        watcher: Watcher = lambda published, paused: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._queue = queue
        self._holder = holder
        self._provisioner = provisioner
        self._measure = measure
        self._watcher = watcher
        self._clock = clock
        self._state = State()
        self._decisions: list[Decided] = []
        self._holds = False

    async def run(self, stopped: asyncio.Event, drains: bool = False) -> None:
        """Until it is told to stop; ``drains``: its workers then end, too.

        Raises `NotElastic`, and faults that do not pass.
        """
        try:
            while not stopped.is_set():
                period_s = await self._patiently()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopped.wait(), period_s)
        finally:
            await self._end(drains)

    async def _end(self, drains: bool) -> None:
        """The workers of a queue that another controller has by now are not ours to end."""
        await self._hold(LEAST_HOLD_S)
        if self._holds and drains:
            draining = asyncio.ensure_future(self._drain())
            while not draining.done():
                await asyncio.wait([draining], timeout=LEAST_HOLD_S / 3)
                await self._hold(LEAST_HOLD_S)
                if not self._holds:
                    draining.cancel()
                    await asyncio.gather(draining, return_exceptions=True)
                    return
            draining.result()
        # The next need not wait.
        await self._hold(0)

    async def _hold(self, seconds: float) -> None:
        """While the service is away, nobody else can take the queue."""
        if not self._holds:
            return
        try:
            await self._client.put_elastic_state(self._queue, self._holder, seconds)
        except ElasticStateHeld:
            self._holds = False
        except (Unreachable, UnexpectedAnswer, Fault):
            return

    async def _drain(self) -> None:
        """Those that there are now: others are not ours."""
        own = {_process(each) for each in await self._provisioner.list()}
        while seen := [each for each in await self._provisioner.list() if _process(each) in own]:
            for each in seen:
                if each.is_silent:
                    # It does not hear that it is to end.
                    await self._provisioner.stop(each.number)
                elif not each.is_draining:
                    await self._provisioner.drain(each.number)
            await asyncio.sleep(LOOK_S)

    async def _patiently(self) -> float:
        """One round, if the service answers; seconds until the next."""
        try:
            return await self.round()
        except ElasticStateHeld as held:
            if self._holds:
                log.warning("another controller has taken over: %s", held)
            else:
                log.warning("waiting: %s", held)
            self._holds = False
            return LEAST_HOLD_S
        except (Unreachable, UnexpectedAnswer) as error:
            log.warning("the service does not answer, nothing is decided: %s", error)
        except ProvisionerTrouble as error:
            log.warning("nobody knows which workers there are, nothing is decided: %s", error)
        except Fault as error:
            if error.status < 500 and error.sender:
                raise
            log.warning("the service is in trouble, nothing is decided: %s", error)
        return 1.0

    async def round(self) -> float:
        """One round; seconds until the next."""
        elastic = await self._settings()
        hold_s = max(HOLD_PERIODS * elastic.period_s, LEAST_HOLD_S)
        paused = await self._client.put_elastic_state(self._queue, self._holder, hold_s)
        if not self._holds:
            await self._take_over()
        parts = await self._parts()
        seen = await self._provisioner.list()
        joined = self._joined(parts, seen)
        measured = self._measure.look(self._clock(), elastic.period_s, parts, joined, seen, self._provisioner.start_s)
        step = Step(self._state, tuple(member.share for member in measured.members), (), measured.workers)
        await self._provisioner.fit(elastic.slots, elastic.pool_size)
        if not paused:
            step = decide(elastic, self._state, measured)
            await self._carry_out(step, measured, parts)
        await self._repair(sum(not part.leaves for part in parts) + step.added, len(parts) + step.added, seen)
        self._state = step.state
        published = self._publish(elastic, step, measured, parts, seen)
        await self._client.put_elastic_state(self._queue, self._holder, hold_s, write(published))
        self._watcher(published, paused)
        return elastic.period_s

    async def _settings(self) -> Elastic:
        found = await self._client.attributes(self._queue, ["RockdoveElastic"])
        if "RockdoveElastic" not in found:
            raise NotElastic
        return read_elastic(found["RockdoveElastic"])

    async def _take_over(self) -> None:
        """Go on where the one before has stopped."""
        found = await self._client.elastic_state(self._queue)
        before = read(found.state)
        if before is not None:
            self._state, self._decisions = before.rule, before.decisions
        self._holds = True

    async def _parts(self) -> list[Part]:
        return [
            Part(
                each.index,
                each.state,
                each.weight,
                each.reachable,
                each.approximate_number_of_messages or 0,
                each.approximate_number_of_messages_not_visible or 0,
                each.approximate_number_of_messages_delayed or 0,
            )
            for each in await self._client.physical_queues(self._queue)
        ]

    def _joined(self, parts: list[Part], seen: list[Seen]) -> frozenset[int]:
        """Physical queues that take part: those that have a weight, that are being removed, or whose worker is ready.

        A new one has no weight until then.
        """
        ready = {each.number for each in seen if each.is_ready and not each.is_draining}
        removal = self._state.removal
        return frozenset(
            part.number
            for part in parts
            if not part.leaves
            and (part.weight > 0 or part.number in ready or (removal is not None and removal.number == part.number))
        )

    # What was decided is done.

    async def _carry_out(self, step: Step, measured: Measured, parts: list[Part]) -> None:
        now_s = self._clock()
        self._decisions += [_decided(now_s, decision) for decision in step.decisions]
        del self._decisions[:-MOST_DECISIONS]
        staying = sum(not part.leaves for part in parts)
        for decision in step.decisions:
            log.info("%s: %s", decision.act.value, decision.reason)
        if step.added:
            await self._add(staying, step.added)
        elif step.removed:
            await self._client.set_attributes(self._queue, {"RockdovePhysicalQueues": str(staying - 1)})
        await self._weigh(step, measured, parts)

    async def _add(self, staying: int, number: int) -> None:
        await self._client.set_attributes(self._queue, {"RockdovePhysicalQueues": str(staying + number)})
        for index in range(staying, staying + number):
            # Until its worker is ready.
            await self._client.set_physical_queue(self._queue, index, weight=0, state="up")

    async def _weigh(self, step: Step, measured: Measured, parts: list[Part]) -> None:
        by_number = {part.number: part for part in parts}
        drained = {each.number for each in step.decisions if each.act is Act.DRAIN}
        for member, share in zip(measured.members, step.shares, strict=True):
            if member.number in step.removed:
                continue
            part = by_number[member.number]
            if member.number in drained:
                weight, state = 0.0, "draining"
            else:
                # One that takes part always has some: a weight of 0 is that of one that starts.
                weight = max(round(share * WEIGHT), 1.0)
                state = "up" if part.state == "draining" else part.state
            if state != part.state or abs(weight - part.weight) > WEIGHT / 200 or (weight == 0) != (part.weight == 0):
                await self._client.set_physical_queue(self._queue, member.number, weight=weight, state=state)

    async def _repair(self, staying: int, all_parts: int, seen: list[Seen]) -> None:
        """Each physical queue that stays has a worker, also while nothing is decided; and there is none without one.

        What is in those that leave, the workers of the others receive.
        """
        running = {each.number for each in seen if not each.is_draining}
        try:
            for number in range(staying):
                if number not in running:
                    await self._provisioner.start(number)
            for number in sorted(running, reverse=True):
                if number >= all_parts:
                    await self._provisioner.drain(number)
        except ProvisionerTrouble as error:
            # What was decided stands: the next round asks again.
            log.warning("workers cannot be started or drained: %s", error)

    # What is told.

    def _publish(
        self, elastic: Elastic, step: Step, measured: Measured, parts: list[Part], seen: list[Seen]
    ) -> Published:
        workers = {each.number: each for each in seen}
        share = {each.number: part for each, part in zip(measured.members, step.shares, strict=True)}
        rates = measured.rates
        return Published(
            at=measured.now_s,
            policy=elastic.policy.value,
            target=step.target,
            machines=self._provisioner.machines,
            arrival=rates.arrival,
            growth=rates.growth,
            service_s=rates.service_s,
            failure=rates.failure,
            workers=[_shown(part, share.get(part.number), workers.get(part.number)) for part in parts],
            decisions=self._decisions,
            rule=step.state,
            watched=self._measure.is_watched,
        )


def _process(seen: Seen) -> str:
    """The same before it has reported and after."""
    return seen.life.partition(" ")[0]


def _decided(now_s: float, decision: Decision) -> Decided:
    return Decided(at=now_s, act=decision.act, reason=decision.reason, workers=decision.workers, number=decision.number)


def _shown(part: Part, share: float | None, worker: Seen | None) -> ShownWorker:
    if not part.reachable or part.state == "down":
        state = "away"
    elif part.state in ("draining", "leaving"):
        state = "draining"
    elif worker is not None and worker.is_silent:
        state = "silent"
    else:
        state = "up" if worker is not None and worker.is_ready else "starting"
    return ShownWorker(
        number=part.number,
        state=state,
        load=part.load,
        in_flight=part.in_flight + part.delayed,
        share=round(share or 0.0, 4),
        machine=None if worker is None else worker.machine,
        done=None if worker is None else worker.done,
        failed=0 if worker is None else worker.failed,
    )
