"""How much a store takes; the rules of `rockdove.store.base.store` hold."""

from typing import Protocol

from rockdove.store.base.done import Done


class Sizing(Protocol):
    """For those who decide whether there is room enough, and whether there are enough servers and front-ends."""

    def size(self, done: Done[int]) -> None:
        """Bytes that it takes on disk, or on all servers that tell, copies included."""
