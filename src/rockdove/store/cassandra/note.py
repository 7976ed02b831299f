"""Queues that somebody has to look after though nobody asks for them: written down before there is a reason."""

from rockdove.store.cassandra import schema
from rockdove.store.cassandra.session import Session

LEASE = "lease"
LANDING = "landing"
DROPPED = "dropped"
# Physical queues that are no more, of which the index may still have something.
CLEARED = "cleared"


class Notes:
    """For the event loop's thread. Each method raises `StoreError`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # What this front-end has written down.
        self._made: set[tuple[str, str]] = set()

    async def add(self, kind: str, queue: str) -> None:
        if (kind, queue) not in self._made:
            await self._session.ask_agreed(schema.ADD_NOTE, self._session.named(kind), queue)
            self._made.add((kind, queue))

    async def read(self, kind: str) -> list[str]:
        return [queue for (queue,) in await self._session.ask_agreed(schema.READ_NOTES, self._session.named(kind))]

    async def drop(self, kind: str, queue: str) -> None:
        """There is no reason any more, and there will be none."""
        self._made.discard((kind, queue))
        await self._session.ask_agreed(schema.DROP_NOTE, self._session.named(kind), queue)
