"""Lets physical queues go that leave their logical queue, once they are empty."""

import asyncio

from rockdove.broker.admin import Admin
from rockdove.broker.directory import Directory
from rockdove.broker.rounds import Rounds
from rockdove.core.errors import Fault
from rockdove.store.base import StillHolds

# Seconds between two looks at them, at least.
ROUND_S = 1.0
_REST = 20


class Departures(Rounds):
    """Looks at queues whose number of physical queues was changed, and at no others."""

    def __init__(self, directory: Directory, admin: Admin) -> None:
        self._directory = directory
        self._admin = admin
        super().__init__(self.look, ROUND_S, _REST)

    async def look(self) -> None:
        for key in list(self._directory.changing):
            await asyncio.sleep(0)
            queue = self._directory.get(*key)
            if queue is None:
                continue
            try:
                await self._admin.drop_empty(queue)
            except (Fault, StillHolds):
                # The store has a fault of its own to tell, or a message has come at the last moment: the next round.
                continue
