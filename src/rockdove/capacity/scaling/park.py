"""Which worker runs on which machine, and which machines are started and ended.

The unit is a slot of a machine. To save energy, a worker takes a free slot of a machine that is used, and only then a
machine of its own; for performance, each has a machine of its own. A pool of unused machines is kept ready: one that is
used is replaced by another that starts meanwhile, and when a machine becomes empty, the pool has one too many, which is
ended.
"""

from enum import StrEnum

from msgspec import Struct, field


class Placing(StrEnum):
    """What workers are placed for."""

    ENERGY = "energy"
    PERFORMANCE = "performance"


class Machine(Struct):
    """``workers``: their names, in the order in which they came."""

    number: int
    is_ready: bool = False
    workers: list[int] = field(default_factory=list)


class Park:
    """What there is, and what is to be done. It starts nothing itself.

    After each change, `place` says which workers have a machine now.
    """

    def __init__(self, slots: int, pool: int, placing: Placing = Placing.ENERGY) -> None:
        self._placing = placing
        self._slots = self._pool = 0
        self._set(slots, pool)
        self.machines: dict[int, Machine] = {}
        self.waiting: list[int] = []
        self._next = 0

    def _set(self, slots: int, pool: int) -> None:
        self._slots = slots if self._placing is Placing.ENERGY else 1
        self._pool = pool

    def fit(self, slots: int, pool: int) -> tuple[list[int], list[int]]:
        """Other numbers from now on: machines that are to be started, and to be ended. No worker moves."""
        self._set(slots, pool)
        return self._fill(), self._thin()

    def begin(self) -> list[int]:
        """Machines of the pool that are to be started."""
        return self._fill()

    def adopt(self, machine: int, worker: int) -> None:
        """One that runs already, on a machine that somebody else has started."""
        found = self.machines.setdefault(machine, Machine(machine, is_ready=True))
        found.workers.append(worker)
        self._next = max(self._next, machine + 1)

    def add(self, worker: int) -> list[int]:
        """A worker wants a slot; machines that are to be started."""
        self.waiting.append(worker)
        return self._fill()

    def ready(self, machine: int) -> None:
        """It has started."""
        if machine in self.machines:
            self.machines[machine].is_ready = True

    def place(self) -> list[tuple[int, int]]:
        """Workers that have a machine now: (worker, machine)."""
        placed: list[tuple[int, int]] = []
        while self.waiting and (machine := self._free()) is not None:
            worker = self.waiting.pop(0)
            machine.workers.append(worker)
            placed.append((worker, machine.number))
        return placed

    def remove(self, worker: int) -> list[int]:
        """A worker has gone; machines that are to be ended."""
        if worker in self.waiting:
            self.waiting.remove(worker)
        for machine in self.machines.values():
            if worker in machine.workers:
                machine.workers.remove(worker)
        return self._thin()

    @property
    def has_room(self) -> bool:
        """One more worker would find a place at once."""
        return not self.waiting and self._free() is not None

    def _free(self) -> Machine | None:
        """A slot of a machine that is used, of the last one first; or a machine of the pool that is ready."""
        used = [each for each in self.machines.values() if each.workers and len(each.workers) < self._slots]
        idle = [each for each in self.machines.values() if not each.workers and each.is_ready]
        return used[-1] if used else idle[0] if idle else None

    @property
    def _wanted(self) -> int:
        """Machines in all: used ones, those for who waits, and the pool."""
        used = [machine for machine in self.machines.values() if machine.workers]
        free = sum(max(self._slots - len(machine.workers), 0) for machine in used)
        waiting = max(len(self.waiting) - free, 0)
        return len(used) + -(-waiting // self._slots) + self._pool

    def _fill(self) -> list[int]:
        started: list[int] = []
        while len(self.machines) < self._wanted:
            self.machines[self._next] = Machine(self._next)
            started.append(self._next)
            self._next += 1
        return started

    def _thin(self) -> list[int]:
        """Unused ones, the last first, and those that have not started before others."""
        unused = [machine for machine in self.machines.values() if not machine.workers]
        unused.sort(key=lambda machine: (machine.is_ready, -machine.number))
        ended = unused[: max(len(self.machines) - self._wanted, 0)]
        for machine in ended:
            del self.machines[machine.number]
        return [machine.number for machine in ended]
