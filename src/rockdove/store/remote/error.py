"""Errors of a store on their way between processes."""

from rockdove.core.errors import NoMajority, QueueAway, QueueGone, StoreError, StoreFull, StoreInterrupted
from rockdove.store.base import Conflict, OverQuota, StillHolds

_ERRORS = (
    StoreError,
    StoreFull,
    StoreInterrupted,
    QueueAway,
    QueueGone,
    NoMajority,
    Conflict,
    OverQuota,
    StillHolds,
)
_KINDS: dict[str, type[StoreError]] = {kind.__name__: kind for kind in _ERRORS}


class StoreAway(StoreError):
    """The process that has the store is not there: it was not asked."""


def named(error: StoreError) -> str:
    """The kind of an error, or the nearest that the other end knows."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _KINDS)


def made(kind: str, text: str) -> StoreError:
    return _KINDS.get(kind, StoreError)(text)
