"""How much of what is published has not landed in its queue, and who waits for that."""

from collections.abc import Callable

from msgspec import Struct

from rockdove.core.errors import StoreError
from rockdove.core.publication import PublicationName


class _Left(Struct):
    place: int
    number: int


class Unlanded:
    """``counted`` has the sum for each physical queue that counts it."""

    def __init__(self, counted: dict[int, int]) -> None:
        self._counted = counted
        self._left: dict[PublicationName, _Left] = {}
        self._waiting: dict[PublicationName, list[Callable[[StoreError | None], None]]] = {}

    def add(self, name: PublicationName, place: int, number: int) -> None:
        self._left[name] = _Left(place, number)
        self._count(place, number)

    def state(self) -> list[tuple[PublicationName, int, int]]:
        """Names, the physical queues that count them, and how many each has."""
        return [(name, left.place, left.number) for name, left in self._left.items()]

    def drop(self, name: PublicationName, number: int) -> None:
        """So many have landed."""
        left = self._left.get(name)
        if left is None:
            return
        left.number -= number
        self._count(left.place, -number)
        if not left.number:
            del self._left[name]
            self._tell(name, None)

    def drop_queue(self, queue: str) -> None:
        """It was purged, or deleted."""
        for name in [name for name in self._left if name.queue == queue]:
            self.drop(name, self._left[name].number)

    def wait(self, name: PublicationName, landed: Callable[[StoreError | None], None]) -> None:
        """Be told when all of it has landed, or cannot for now."""
        if name in self._left:
            self._waiting.setdefault(name, []).append(landed)
        else:
            landed(None)

    def fail(self, name: PublicationName, error: StoreError) -> None:
        """It is tried again; who waits need not."""
        self._tell(name, error)

    def fail_all(self, error: StoreError) -> None:
        for name in list(self._waiting):
            self._tell(name, error)

    def _tell(self, name: PublicationName, outcome: StoreError | None) -> None:
        for landed in self._waiting.pop(name, ()):
            landed(outcome)

    def _count(self, place: int, number: int) -> None:
        total = self._counted.get(place, 0) + number
        if total:
            self._counted[place] = total
        else:
            self._counted.pop(place, None)
