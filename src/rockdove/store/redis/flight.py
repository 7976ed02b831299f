"""How much of a logical queue is in flight, as far as this front-end knows: its limit is for all physical queues."""

from collections.abc import Callable, Sequence

from rockdove.core.errors import StoreError
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Done


class Flights:
    """Physical queues by their numbers. Each claim tells how much is in flight where it was made."""

    def __init__(self) -> None:
        self._parts: Sequence[PhysicalRecord] = ()
        self._known: dict[int, int] = {}
        # Whether all were asked since this front-end has to do with the queue.
        self.is_known = False

    @property
    def number(self) -> int:
        """Of physical queues."""
        return max(len(self._known), 1)

    def be_of(self, parts: Sequence[PhysicalRecord]) -> None:
        """These are the physical queues from now on. To say so again and again, for each of them, costs nothing."""
        if parts is not self._parts:
            self._parts = parts
            self._known = {part.number: self._known.get(part.number, 0) for part in parts}

    def told(self, number: int, in_flight: int) -> None:
        if number in self._known:
            self._known[number] = in_flight

    def beside(self, number: int) -> int:
        """In flight in all others."""
        return sum(self._known.values()) - self._known.get(number, 0)

    def refresh(self, ask: Callable[[int, Done[int]], None], done: Callable[[], None]) -> None:
        """Ask all; those that cannot be reached have nothing in flight that anybody could receive."""
        self.is_known = True
        left = len(self._known)
        if not left:
            done()
            return

        def answered(number: int) -> Done[int]:
            def told(outcome: int | StoreError) -> None:
                nonlocal left
                self.told(number, 0 if isinstance(outcome, StoreError) else outcome)
                left -= 1
                if not left:
                    done()

            return told

        for number in list(self._known):
            ask(number, answered(number))
