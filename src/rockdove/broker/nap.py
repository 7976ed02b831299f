"""Receives of one queue that wake up at the same time ask together whether there is anything to visit."""

import asyncio
from collections.abc import Callable

from rockdove.broker.queue import Queue
from rockdove.core.errors import StoreError
from rockdove.store.base import Store


class Naps:
    """What thousands of held receives cost does not grow with the visits that would find nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._woken: dict[Queue, list[Callable[[bool], None]]] = {}

    def ask(self, queue: Queue, then: Callable[[bool], None]) -> None:
        """``then`` is told soon whether a visit may find something. Who comes while others ask is told the same."""
        woken = self._woken.get(queue)
        if woken is not None:
            woken.append(then)
            return
        self._woken[queue] = [then]
        asyncio.get_running_loop().call_soon(self._refresh, queue)

    def _refresh(self, queue: Queue) -> None:
        def refreshed(outcome: StoreError | None) -> None:
            # Where hints could not be made true, they are what is right in any case.
            may_find = any(map(queue.may_have_visible, range(len(queue.visited))))
            for then in self._woken.pop(queue, ()):
                then(may_find)

        self._store.refresh(queue.visited, refreshed)
