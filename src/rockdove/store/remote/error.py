"""Errors of a store on their way between processes."""

from rockdove.core.errors import QueueGone, StoreError, StoreFull
from rockdove.store.base import Conflict, OverQuota

_KINDS: dict[str, type[StoreError]] = {
    kind.__name__: kind for kind in (StoreError, StoreFull, QueueGone, Conflict, OverQuota)
}


class StoreAway(StoreError):
    """The process that has the store is not there: it was not asked."""


def named(error: StoreError) -> str:
    name = type(error).__name__
    return name if name in _KINDS else StoreError.__name__


def made(kind: str, text: str) -> StoreError:
    return _KINDS.get(kind, StoreError)(text)
