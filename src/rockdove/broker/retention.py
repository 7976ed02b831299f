"""Expires messages: what is older than its queue's retention period is removed, asked for or not."""

import asyncio
from functools import partial

from rockdove.broker.ask import PhysicalQueueUnavailable, ask, has_duty
from rockdove.broker.context import Context
from rockdove.broker.queue import Queue
from rockdove.broker.rounds import Rounds
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import ServiceInterrupted, ServiceUnavailable
from rockdove.store.base import Physical

# Seconds between two looks at the queues. A receive never gives an expired message, swept or not.
ROUND_S = 5.0
# For so long the process that does this has it to itself: longer than a pause, so that it is always the same.
DUTY_S = 15.0
# Queues that are looked at without a turn for others.
AT_ONCE = 1_000
# A queue is swept this often within its retention period, but not more rarely than so many seconds.
SWEEPS = 20
RAREST_S = 60


class Retention(Rounds):
    """Goes round the queues and removes what is too old, a bounded number at a time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._directory = context.directory
        self._clock = context.clock
        super().__init__(self._round, ROUND_S)
        # When the turn of each queue comes.
        self._due_us: dict[tuple[str, str], int] = {}

    async def sweep(self, everything: bool = True) -> int:
        """One round over all queues that may hold messages, or whose turn it is; how many messages it removed."""
        number, upkeep = 0, self._context.store.upkeep
        holding = None if upkeep is None else upkeep.holding()
        keys = list(self._directory.keys()) if holding is None else holding
        self._due_us = {key: self._due_us[key] for key in keys if key in self._due_us}
        for at, key in enumerate(keys, 1):
            if not at % AT_ONCE:
                # Also if nothing is due, very many queues take their time.
                await asyncio.sleep(0)
            if not (everything or self._is_due(key)):
                continue
            queue = self._directory.get(*key)
            if queue is None:
                continue
            self._due_us[key] = self._clock.now_us() + _pause_us(queue)
            try:
                number += await self._sweep_queue(queue)
            except (PhysicalQueueUnavailable, ServiceInterrupted):
                # Other queues may be elsewhere.
                continue
            except ServiceUnavailable:
                # The store has a fault of its own to tell; the next round tries again.
                return number
        return number

    async def _round(self) -> None:
        if await has_duty(self._context.store, "retention", DUTY_S):
            await self.sweep(everything=False)

    def _is_due(self, key: tuple[str, str]) -> bool:
        # One whose turn is far in the future is due: the clock was set back.
        return not 0 < self._due_us.get(key, 0) - self._clock.now_us() <= RAREST_S * SECOND_US

    async def _sweep_queue(self, queue: Queue) -> int:
        number = 0
        for physical in queue.physical:
            while removed := await self._expire(queue, physical):
                number += len(removed)
                queue.events.expired += len(removed)
                if self._context.watch is not None:
                    self._context.watch.expired(queue, physical, removed)
        return number

    async def _expire(self, queue: Queue, physical: Physical) -> list[int]:
        upkeep = self._context.store.upkeep
        if upkeep is None or not physical.hint().may_hold_any:
            return []
        sent_after_us = self._clock.now_us() - queue.settings.retention_us
        return await ask(partial(upkeep.expire, physical, sent_after_us))


def _pause_us(queue: Queue) -> int:
    return min(queue.settings.retention_us // SWEEPS, RAREST_S * SECOND_US)
