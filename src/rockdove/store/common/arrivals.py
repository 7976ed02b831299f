"""Which physical queues somebody listens to, and telling them that messages have come."""

from collections.abc import Callable, Iterable

from rockdove.core.message import Entry
from rockdove.store.base import Arrived, Draft


class ArrivalListeners:
    """For the event loop's thread. To ask whether anybody listens is cheap: every change of a queue does."""

    def __init__(
        self, began: Callable[[int], None] = lambda number: None, ended: Callable[[int], None] = lambda number: None
    ) -> None:
        """``began`` and ``ended`` are told which physical queues have their first listener, and no more."""
        # By the physical queues' numbers.
        self.heard: dict[int, list[Arrived]] = {}
        self._began = began
        self._ended = ended

    def listen(self, number: int, arrived: Arrived) -> None:
        listeners = self.heard.get(number)
        if listeners is None:
            listeners = self.heard[number] = []
            self._began(number)
        if arrived not in listeners:
            listeners.append(arrived)

    def unlisten(self, number: int, arrived: Arrived) -> None:
        listeners = self.heard.get(number, [])
        if arrived in listeners:
            listeners.remove(arrived)
            if not listeners:
                del self.heard[number]
                self._ended(number)

    def tell(self, number: int, visible: int, next_us: int | None = None) -> None:
        if visible or next_us is not None:
            for arrived in list(self.heard.get(number, ())):
                arrived(number, visible, next_us)

    def appended(self, number: int, drafts: Iterable[Draft | Entry], now_us: int) -> None:
        """New messages, of which some may become visible later."""
        if number in self.heard:
            times = [draft.visible_us for draft in drafts]
            later = [t for t in times if t > now_us]
            self.tell(number, len(times) - len(later), min(later, default=None))
