"""One physical queue of a logical one, as a queue of its own: `name~i`."""

import re

from msgspec.structs import replace

from rockdove.broker.queue import Queue, slot
from rockdove.core.errors import InvalidParameterValue
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base import Physical

MARK = "~"
_INDEX = re.compile(r"0|[1-9][0-9]{0,3}", re.ASCII)


class PartQueue(Queue):
    """For messages only: all else is the logical queue's, and so are receipt handles and permissions.

    Receives also take what is in physical queues that leave: who has a consumer for each physical queue has none there.
    """

    is_part = True

    def __init__(self, whole: Queue, index: int) -> None:
        self._part = index
        self._whole = whole
        super().__init__(_only(whole, index), whole.region, whole.store, whole.clock, whole.events)
        whole.parts[index] = self

    def _also_received(self) -> list[PhysicalRecord]:
        return self._whole.record.leaving

    @property
    def whole(self) -> Queue:
        return self._whole

    @property
    def name(self) -> str:
        return f"{self.record.name}{MARK}{self._part}"

    def by_number(self, number: int) -> Physical | None:
        return self._whole.by_number(number)

    def index(self, number: int) -> int | None:
        return self._whole.index(number)

    def check_group(self, group: str) -> None:
        """A FIFO queue's groups have their places. Raises `InvalidParameterValue` if this is not the one."""
        place = slot(group, self._whole.staying)
        if self.fifo and place != self._part:
            raise InvalidParameterValue(
                f"Value {group} for parameter MessageGroupId is invalid. Reason: The message group has its place in "
                f"{self.record.name}{MARK}{place}. Send to {self.record.name} and it goes there."
            )

    def refresh(self) -> None:
        """The logical queue has changed."""
        if self._part < self._whole.staying:
            self.update(_only(self._whole, self._part))
        else:
            del self._whole.parts[self._part]
            self.close()


def part_of(whole: Queue, index: str) -> PartQueue | None:
    """None: there is no such one that stays."""
    number = int(index) if _INDEX.fullmatch(index) else whole.staying
    found = whole.parts.get(number)
    if isinstance(found, PartQueue):
        return found
    return PartQueue(whole, number) if number < whole.staying else None


def _only(whole: Queue, index: int) -> QueueRecord:
    return replace(whole.record, physical=[whole.record.physical[index]])
