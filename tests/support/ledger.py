"""What clients know of the messages of one queue, and what a store must therefore have: the judge after every fault."""

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field


@dataclass
class Ledger:
    """Filled in by clients around each call: `try_` before it, the other after its answer. Bodies name messages."""

    tried: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    tried_to_delete: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def try_send(self, bodies: Iterable[str]) -> None:
        with self._lock:
            self.tried.update(bodies)

    def was_sent(self, bodies: Iterable[str]) -> None:
        with self._lock:
            self.sent.update(bodies)

    def try_delete(self, bodies: Iterable[str]) -> None:
        with self._lock:
            self.tried_to_delete.update(bodies)

    def was_deleted(self, bodies: Iterable[str]) -> None:
        with self._lock:
            self.deleted.update(bodies)

    def gone(self) -> set[str]:
        """To be asked before a receive: none of these may come back from it."""
        with self._lock:
            return set(self.deleted)

    def got(self, bodies: Iterable[str], gone: Collection[str]) -> None:
        """A receive has brought these."""
        with self._lock:
            for body in bodies:
                if body in gone:
                    self.faults.append(f"{body} came back after its delete was answered")
                if body not in self.tried:
                    self.faults.append(f"{body} was never sent")

    def copy(self) -> "Ledger":
        with self._lock:
            return Ledger(
                set(self.tried), set(self.sent), set(self.tried_to_delete), set(self.deleted), list(self.faults)
            )

    def judge(self, found: Collection[str]) -> list[str]:
        """What is wrong with the messages that were found in the end."""
        there = set(found)
        wrong = list(self.faults)
        wrong += [f"{body} was acknowledged and is lost" for body in self.sent - self.tried_to_delete - there]
        wrong += [f"{body} is back after its delete was answered" for body in self.deleted & there]
        wrong += [f"{body} was never sent" for body in there - self.tried]
        if len(there) != len(found):
            wrong.append(f"{len(found) - len(there)} messages are there twice")
        return wrong


@dataclass
class Order:
    """The numbers of one FIFO group, sent by one client one after another: the judge of their order."""

    sent: list[int] = field(default_factory=list)
    tried_to_delete: set[int] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def was_sent(self, number: int) -> None:
        with self._lock:
            self.sent.append(number)

    def try_delete(self, number: int) -> None:
        with self._lock:
            self.tried_to_delete.add(number)

    def judge(self, numbers: list[int]) -> list[str]:
        """What is wrong with one receive's messages of this group."""
        with self._lock:
            if numbers != sorted(numbers):
                return [f"out of order: {numbers}"]
            expected = {n for n in self.sent if n < numbers[-1]} - self.tried_to_delete - set(numbers)
            return [f"{numbers} came before {sorted(expected)}"] if expected else []
