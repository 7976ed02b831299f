"""Workers in the slots of machines, some of which are kept ready: what all provisioners of our own share."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from rockdove.capacity.scaling.park import Park, Placing
from rockdove.elastic.provision.base import Seen


class Machines(ABC):
    """A machine takes a while to start. Who inherits launches workers on those that have."""

    def __init__(
        self,
        slots: int,
        pool: int,
        startup_s: float,
        placing: Placing = Placing.ENERGY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._park = Park(slots, pool, placing)
        self._startup_s = startup_s
        self._clock = clock
        self._ready_s: dict[int, float] = {}
        self._has_begun = False

    @abstractmethod
    async def _launch(self, number: int, machine: int) -> None: ...

    @abstractmethod
    async def _end(self, number: int, at_once: bool) -> None: ...

    @abstractmethod
    async def _look(self) -> list[Seen]:
        """Those that live."""

    async def fit(self, slots: int, pool: int) -> None:
        await self._begin()
        started, ended = self._park.fit(slots, pool)
        for machine in ended:
            self._ready_s.pop(machine, None)
        self._begin_machines(started)
        await self._place()

    async def start(self, number: int) -> None:
        await self._begin()
        if number in self._placed() or number in self._park.waiting:
            return
        self._begin_machines(self._park.add(number))
        await self._place()

    async def drain(self, number: int) -> None:
        await self._remove(number, at_once=False)

    async def stop(self, number: int) -> None:
        await self._remove(number, at_once=True)

    async def _remove(self, number: int, at_once: bool) -> None:
        await self._begin()
        await self._end(number, at_once)
        self._free(number)
        await self._place()

    def _free(self, number: int) -> None:
        for machine in self._park.remove(number):
            self._ready_s.pop(machine, None)

    async def list(self) -> list[Seen]:
        await self._begin()
        now_s = self._clock()
        for machine, ready_s in list(self._ready_s.items()):
            if ready_s <= now_s:
                del self._ready_s[machine]
                self._park.ready(machine)
        await self._place()
        seen = await self._look()
        # A worker that has died leaves its slot; whoever wants it starts it again.
        living = {each.number for each in seen}
        for number in self._placed() - living:
            self._free(number)
        return seen

    @abstractmethod
    async def close(self) -> None: ...

    @property
    def machines(self) -> int:
        return len(self._park.machines)

    @property
    def start_s(self) -> float:
        return 0.0 if self._park.has_room else self._startup_s

    async def _begin(self) -> None:
        """Take over what another controller has left."""
        if self._has_begun:
            return
        self._has_begun = True
        for seen in await self._look():
            self._park.adopt(int(seen.machine), seen.number)
        self._begin_machines(self._park.begin())

    def _begin_machines(self, machines: Iterable[int]) -> None:
        for machine in machines:
            if self._startup_s > 0:
                self._ready_s[machine] = self._clock() + self._startup_s
            else:
                self._park.ready(machine)

    async def _place(self) -> None:
        for number, machine in self._park.place():
            await self._launch(number, machine)

    def _placed(self) -> set[int]:
        return {worker for machine in self._park.machines.values() for worker in machine.workers}
