"""Duties among the front-ends of a store on Cassandra: who has one, has a row that ends by itself."""

import math

from rockdove.core.errors import StoreError
from rockdove.store.base import Done
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.session import Session
from rockdove.store.common.tasks import Tasks


class CassandraDuties:
    """See `rockdove.store.base.Duties`."""

    def __init__(self, session: Session, tasks: Tasks) -> None:
        self._session = session
        self._tasks = tasks

    def take(self, name: str, seconds: float, done: Done[bool]) -> None:
        self._tasks.tell(self._take(name, math.ceil(seconds)), done)

    async def _take(self, name: str, seconds: int) -> bool:
        own = self._session.front_end
        name = self._session.named(name)
        (row,) = await self._session.ask_agreed(schema.TAKE_DUTY, name, own, seconds)
        if row[0] or row[-1] != own:
            return bool(row[0])
        (row,) = await self._session.ask_agreed(schema.KEEP_DUTY, seconds, own, name, own)
        return bool(row[0])

    def leave(self, name: str) -> None:
        self._tasks.run(self._leave(name))

    async def _leave(self, name: str) -> None:
        try:
            await self._session.ask_agreed(schema.LEAVE_DUTY, self._session.named(name), self._session.front_end)
        except StoreError:
            # It ends by itself.
            return
