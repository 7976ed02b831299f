"""Finishes what somebody has begun on several servers, and has not finished."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from rockdove.core.clock import SECOND_US, Clock
from rockdove.store.common.tasks import Tasks
from rockdove.store.redis.server import Server
from rockdove.store.redis.servers import Servers

# What was begun so many seconds ago is finished by others; so often they look.
UNFINISHED_S = 5
LOOK_S = 2.0

# Finish what was begun before a time (in microseconds), as a server tells it. Raises `StoreError`.
Finish: TypeAlias = Callable[[Server, int], Awaitable[None]]


class Mender:
    """All front-ends do this; twice does no harm."""

    def __init__(self, servers: Servers, clock: Clock, tasks: Tasks, *finishes: Finish) -> None:
        self._servers = servers
        self._clock = clock
        self._tasks = tasks
        self._finishes = finishes

    def start(self) -> None:
        self._tasks.run(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for server in self._servers.up:
                for finish in self._finishes:
                    self._tasks.run(finish(server, self._before_us()))

    async def mend(self) -> None:
        """Once, all that is due."""
        for server in self._servers.up:
            for finish in self._finishes:
                await finish(server, self._before_us())

    def _before_us(self) -> int:
        return self._clock.now_us() - UNFINISHED_S * SECOND_US
