"""What the operations on messages share, handed over instead of the broker itself."""

import sys
from dataclasses import dataclass, field
from typing import Protocol

from rockdove.broker.claim import Claims
from rockdove.broker.directory import Directory
from rockdove.broker.monitor import Monitor
from rockdove.broker.nap import Naps
from rockdove.broker.turn import MemoryTurns
from rockdove.broker.watch import Watch
from rockdove.core import limits
from rockdove.core.clock import Clock
from rockdove.core.receipt import Receipts
from rockdove.store.base import Store

# Leases that are in memory at once, on their way from the store to their answers.
LEASES_AT_ONCE = 4


class Count(Protocol):
    """A number that several processes may have a part in."""

    def add(self, number: int) -> None:
        """To this process's part."""

    def total(self) -> int: ...


class LocalCount:
    """Of one process."""

    def __init__(self) -> None:
        self._number = 0

    def add(self, number: int) -> None:
        self._number += number

    def total(self) -> int:
        return self._number


class WaitingRoom:
    """Counts the receives that wait for a message, in all processes of the service."""

    def __init__(self, most: int = sys.maxsize, count: Count | None = None) -> None:
        self._most = most
        self._count = count or LocalCount()

    @property
    def number(self) -> int:
        return self._count.total()

    def is_full(self) -> bool:
        return self._count.total() >= self._most

    def enter(self) -> None:
        self._count.add(1)

    def leave(self) -> None:
        self._count.add(-1)


@dataclass
class Context:
    """One for each process."""

    store: Store
    directory: Directory
    receipts: Receipts
    clock: Clock
    max_in_flight: int = limits.MAX_IN_FLIGHT
    waiting: WaitingRoom = field(default_factory=WaitingRoom)
    # A lease may be asked for again by any number of clients, and is as large as an answer can be.
    lease_turns: MemoryTurns = field(default_factory=lambda: MemoryTurns(LEASES_AT_ONCE))
    monitor: Monitor = field(init=False)
    claims: Claims = field(default_factory=Claims)
    naps: Naps = field(init=False)
    # Of what is bounded for all processes together, each may use one part of so many.
    processes: int = 1
    # Who is told what becomes of messages without anybody asking for it.
    watch: Watch | None = None

    def __post_init__(self) -> None:
        self.monitor = Monitor(self.store)
        self.naps = Naps(self.store)
