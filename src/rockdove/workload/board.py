"""Counters that all processes of a workload see: how far each queue is, and whether to go on."""

import os
from multiprocessing.context import SpawnContext
from typing import Any

# Places in the array of flags.
_GO, _STOP = 0, 1


class Board:
    """Shared memory without locks: each process writes only its own counters, and everybody reads all."""

    def __init__(self, context: SpawnContext, processes: int, queues: int) -> None:
        self._processes = processes
        self._queues = queues
        # Process by process, in each queue by queue.
        self._sent: Any = context.RawArray("q", processes * queues)
        self._deleted: Any = context.RawArray("q", processes * queues)
        self._finished: Any = context.RawArray("q", processes * queues)
        self._ready: Any = context.RawArray("b", processes)
        self._flags: Any = context.RawArray("b", 2)
        self._parent = os.getpid()

    def send(self, process: int, queue: int) -> None:
        self._sent[process * self._queues + queue] += 1

    def delete(self, process: int, queue: int) -> None:
        self._deleted[process * self._queues + queue] += 1

    def finish(self, process: int, queue: int) -> None:
        """A sender has sent all its messages."""
        self._finished[process * self._queues + queue] += 1

    def sent(self, queue: int) -> int:
        return sum(self._sent[queue :: self._queues])

    def deleted(self, queue: int) -> int:
        return sum(self._deleted[queue :: self._queues])

    def finished(self, queue: int) -> int:
        return sum(self._finished[queue :: self._queues])

    def totals(self) -> tuple[int, int, int]:
        """Messages sent, messages received and deleted, senders that have finished."""
        return sum(self._sent), sum(self._deleted), sum(self._finished)

    def report_ready(self, process: int) -> None:
        self._ready[process] = 1

    def all_ready(self) -> bool:
        return bool(sum(self._ready) == self._processes)

    def go(self) -> None:
        self._flags[_GO] = 1

    def stop(self) -> None:
        self._flags[_STOP] = 1

    @property
    def is_going(self) -> bool:
        return bool(self._flags[_GO])

    @property
    def is_stopped(self) -> bool:
        """Also if the process that would say so is gone."""
        return bool(self._flags[_STOP]) or self._parent not in (os.getpid(), os.getppid())
