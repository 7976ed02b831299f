"""Things of a while ago, in the order of their times."""

from collections.abc import Callable, Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def remember(known: dict[K, V], key: K, value: V, is_old: Callable[[V], bool]) -> None:
    """Put the newest last, and forget those at the beginning that are old. It takes no longer if there are many."""
    known.pop(key, None)
    while known and is_old(known[first := next(iter(known))]):
        del known[first]
    known[key] = value
