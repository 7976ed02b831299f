"""Workers within this process, on machines that take as long to start as those of a cloud: to try settings out."""

import asyncio
from collections.abc import Callable

from rockdove.elastic.provision.base import Seen
from rockdove.elastic.provision.machines import Machines
from rockdove.elastic.worker.worker import Worker

# What the paper measured.
STARTUP_S = 96.9


class SimulatedProvisioner(Machines):
    """``make``: the worker of a physical queue. They end with the controller."""

    def __init__(
        self, make: Callable[[int], Worker], slots: int = 1, pool: int = 0, startup_s: float = STARTUP_S
    ) -> None:
        super().__init__(slots, pool, startup_s)
        self._make = make
        self._workers: dict[int, tuple[Worker, asyncio.Task[None], int]] = {}

    async def _launch(self, number: int, machine: int) -> None:
        worker = self._make(number)
        self._workers[number] = (worker, asyncio.ensure_future(worker.run()), machine)

    async def _end(self, number: int, at_once: bool) -> None:
        found = self._workers.get(number)
        if found is not None:
            worker, task, _ = found
            worker.drain()
            if at_once:
                task.cancel()

    async def _look(self) -> list[Seen]:
        for number, (_, task, _) in list(self._workers.items()):
            if task.done():
                await asyncio.gather(task, return_exceptions=True)
                del self._workers[number]
        return [
            Seen(
                number,
                str(machine),
                str(id(worker)),
                worker.is_ready,
                worker.is_draining,
                worker.tally.done,
                worker.tally.failed,
                worker.tally.busy_s,
            )
            for number, (worker, _, machine) in sorted(self._workers.items())
        ]

    async def close(self) -> None:
        """All end, and finish what they have."""
        for worker, _, _ in self._workers.values():
            worker.drain()
        await asyncio.gather(*(task for _, task, _ in self._workers.values()), return_exceptions=True)
