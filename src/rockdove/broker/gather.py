"""Many calls, one outcome."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from rockdove.broker.ask import unavailable
from rockdove.core.errors import Fault, StoreError

T = TypeVar("T")


class Gatherer:
    """Calls ``done`` when all parts have had their outcome: with the fault of one that failed, or None.

    With no parts at all, `close` calls it.
    """

    def __init__(self, done: Callable[[Fault | None], None]) -> None:
        self._done = done
        self._left = 1
        self._failed: Fault | None = None

    def part(
        self, take: Callable[[T], None], failed: Callable[[Fault], None] = lambda fault: None
    ) -> Callable[[T | StoreError | Fault], None]:
        """What one call tells its outcome to."""
        self._left += 1
        return partial(self._told, take, failed)

    def _told(
        self, take: Callable[[T], None], failed: Callable[[Fault], None], outcome: T | StoreError | Fault
    ) -> None:
        if isinstance(outcome, StoreError):
            outcome = unavailable(outcome)
        if isinstance(outcome, Fault):
            self._failed = outcome
            failed(outcome)
        else:
            take(outcome)
        self._end()

    def close(self) -> None:
        """All parts have been begun."""
        self._end()

    def _end(self) -> None:
        self._left -= 1
        if not self._left:
            self._done(self._failed)
