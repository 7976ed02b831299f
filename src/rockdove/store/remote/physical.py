"""A physical queue that another process has."""

from collections.abc import Sequence
from functools import partial

from rockdove.core.errors import StoreError
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import UNKNOWN, Appended, Claimed, Counts, Done, Draft, Hint, Want
from rockdove.store.remote import asked
from rockdove.store.remote.perform import Asks


class RemotePhysical:
    """See `rockdove.store.base.Physical`."""

    def __init__(self, link: Asks, record: PhysicalRecord) -> None:
        self._ask = link.ask
        self._ask_together = link.ask_together
        self.record = record
        self._number = record.number
        # As it was when it was asked for last.
        self.known = UNKNOWN

    def hint(self) -> Hint:
        return self.known

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        if self.record.leaves:
            # Not together with others: it takes messages of some groups, and not of others.
            self._ask(done, asked.Append, self._number, drafts)
            return
        self._ask_together(done, asked.Append, self._number, drafts)

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        self._ask(done, asked.ClaimEntries, self._number, want)

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        self._ask(done, asked.Move, self._number, id, visible_us, receive_count)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        if receive_count is None:
            self._ask_together(partial(_first, done), asked.RemoveAll, self._number, (id,))
        else:
            self._ask(done, asked.Remove, self._number, id, receive_count)

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        self._ask_together(done, asked.RemoveAll, self._number, ids)

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        self._ask(done, asked.Release, self._number, entries)

    def count(self, done: Done[Counts]) -> None:
        self._ask(done, asked.CountEntries, self._number)

    def find(self, id: int, done: Done[Entry | None]) -> None:
        self._ask(done, asked.Find, self._number, id)

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        self._ask(done, asked.Holds, self._number, groups)


def _first(done: Done[bool], found: list[bool] | StoreError) -> None:
    done(found if isinstance(found, StoreError) else found[0])
