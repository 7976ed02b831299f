"""Who of several processes does a piece of work in the background; the rules of `rockdove.store.base.store` hold."""

from typing import Protocol

from rockdove.store.base.done import Done


class Duties(Protocol):
    """It spares work, and is no lock: one that is stopped for a while may find that another does the same."""

    def take(self, name: str, seconds: float, done: Done[bool]) -> None:
        """Have a duty for so long from now on, also again. False: another process has it."""

    def leave(self, name: str) -> None:
        """Somebody else may have it at once."""
