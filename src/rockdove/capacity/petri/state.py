"""Where tokens are while a net runs."""

from __future__ import annotations

from typing import Any


class PlaceState:
    """`ready` are the tokens whose time has come, the oldest first; `pending` more are in the queue of events.

    The list stays the same object: compiled transitions hold on to it.
    """

    __slots__ = ("consumers", "index", "pending", "ready")

    def __init__(self, index: int) -> None:
        self.index = index
        self.ready: list[Any] = []
        self.pending = 0
        # Transitions to look at when a token arrives.
        self.consumers: tuple[int, ...] = ()


# Time, a number that keeps tokens of the same time in order, the place and the value.
Event = tuple[float, int, PlaceState, Any]
