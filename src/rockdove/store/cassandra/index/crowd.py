"""How many messages of a queue are in flight in its index, for the limit of a queue: exact only near it."""

from collections.abc import Sequence
from time import monotonic

from rockdove.core.clock import SECOND_US, Clock
from rockdove.store.cassandra.index import browse
from rockdove.store.cassandra.index.entry import MOST_ENTRIES, Kind
from rockdove.store.cassandra.index.place import Place

# How old what is known of the segments may be to judge by it; up to how many segments are read each time, and for how
# many seconds the number counts if there are more.
KNOWN_US = 6 * SECOND_US
MOST_COUNTED = 4
COUNTED_S = 1.0


class Crowd:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # How many there were, and when, where that takes long to find out. By the number of the physical queue.
        self._counted: dict[int, tuple[float, int]] = {}

    async def in_flight(self, places: Sequence[Place], most: int) -> int:
        """0 as long as it is far from the most. Raises `StoreError`."""
        now_us = self._clock.now_us()
        for place in places:
            if not 0 <= now_us - place.directory.saw_all_us < KNOWN_US:
                await place.directory.look(everything=True)
        if sum(place.directory.numbers[Kind.HELD] for place in places) * MOST_ENTRIES < most:
            return 0
        return sum([await self._in_flight(place) for place in places])

    async def _in_flight(self, place: Place) -> int:
        if place.directory.numbers[Kind.HELD] <= MOST_COUNTED:
            return (await browse.count(place)).in_flight
        at_s, number = self._counted.get(place.number, (0.0, 0))
        if monotonic() - at_s > COUNTED_S:
            number = (await browse.count(place)).in_flight
            self._counted[place.number] = (monotonic(), number)
        return number
