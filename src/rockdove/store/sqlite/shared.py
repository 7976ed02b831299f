"""What the parts of the embedded store share, handed over instead of the store itself."""

from dataclasses import dataclass, field
from random import Random

from rockdove.core.clock import Clock
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.sqlite.room import Room
from rockdove.store.sqlite.writer import Writer


@dataclass(frozen=True)
class Shared:
    """One for each store."""

    writer: Writer
    clock: Clock
    rng: Random
    room: Room
    arrivals: ArrivalListeners
    # Messages that are published and have not landed, by the number of the physical queue that counts them.
    landing: dict[int, int] = field(default_factory=dict)
