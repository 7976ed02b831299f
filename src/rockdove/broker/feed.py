"""Records that anybody may change: what this process has heard of them, and how it changes them itself."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from rockdove.broker.ask import ask
from rockdove.core.errors import ServiceUnavailable
from rockdove.store.base import Change, Conflict, Records, Snapshot

T = TypeVar("T")

# So often a write is tried again that somebody else's has overtaken.
MOST_ATTEMPTS = 200


class RecordFollower(Protocol):
    """Keeps some of the records."""

    def load(self, snapshot: Snapshot) -> None:
        """Begin with these, or, if there were others, go on with these."""

    def apply(self, change: Change) -> None:
        """Take a change over; of other people's records there is nothing to do."""


class Feed:
    """One for each process."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._followers: Sequence[RecordFollower] = ()
        # Up to here changes were heard of.
        self.version = 0
        self._turns: dict[Hashable, Turn] = {}

    def start(self, snapshot: Snapshot, *followers: RecordFollower) -> None:
        """Raises what a follower raises who cannot begin with that."""
        self._followers = followers
        self._load(snapshot)
        self._records.subscribe(self._apply, self._load)

    def _load(self, snapshot: Snapshot) -> None:
        self.version = snapshot.version
        for follower in self._followers:
            follower.load(snapshot)

    def _apply(self, change: Change) -> None:
        self.version = change.version
        for follower in self._followers:
            follower.apply(change)

    async def catch_up(self) -> None:
        """Hear of all that was changed before now."""
        await ask(self._records.catch_up)

    async def write(self, scope: Hashable, attempt: Callable[[int], Awaitable[T]]) -> T:
        """Decide and write, again if another process was quicker. ``attempt`` gets the version that it decides on.

        Of this process, one writer of a scope has a turn at a time: the others would be refused.
        """
        turn = self._turns.setdefault(scope, Turn())
        turn.number += 1
        try:
            async with turn.lock:
                return await self._write(attempt)
        finally:
            turn.number -= 1
            if not turn.number:
                self._turns.pop(scope, None)

    async def _write(self, attempt: Callable[[int], Awaitable[T]]) -> T:
        for _ in range(MOST_ATTEMPTS):
            seen = self.version
            try:
                return await attempt(seen)
            except Conflict:
                # The news that it lost to are here already, as a rule. To ask for them would lose the next round, too.
                if self.version == seen:
                    await self.catch_up()
        raise ServiceUnavailable("Others keep changing this. Please try again.")


class Turn:
    """Of those in this process who change one thing."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.number = 0
