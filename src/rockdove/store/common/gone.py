"""A physical queue that is no more: it holds nothing, and takes nothing."""

from collections.abc import Sequence

from rockdove.core.errors import QueueGone, StoreError
from rockdove.core.message import Entry
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import UNKNOWN, Appended, Claimed, Counts, Done, Draft, Hint, Want


class GonePhysical:
    """See `rockdove.store.base.Physical`. ``done`` is called at once."""

    def __init__(self, number: int) -> None:
        self.record = PhysicalRecord(number, "")

    def hint(self) -> Hint:
        """Nothing is known: whoever has not heard that it is gone shall find out."""
        return UNKNOWN

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        done(gone())

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        done(Claimed([], [], gone=True))

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        done(False)

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        done(False)

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        done([False] * len(ids))

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        done(None)

    def count(self, done: Done[Counts]) -> None:
        done(Counts(0, 0, 0))

    def find(self, id: int, done: Done[Entry | None]) -> None:
        done(None)

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        done([False] * len(groups))


def gone() -> StoreError:
    return QueueGone("the physical queue is gone, or takes no more messages")
