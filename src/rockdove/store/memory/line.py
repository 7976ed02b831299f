"""The order in which the memory store gives out a physical queue's messages: what both kinds have in common."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from rockdove.core.message import Entry, Message
from rockdove.store.base import MOST_DEAD, MOST_DEAD_BYTES, Draft, Want


class Draw(Struct):
    """Entries taken out of a line: to deliver, dead, and expired ones met on the way. The caller puts them back or
    removes them."""

    # How many bytes a message has.
    size: Callable[[Message], int]
    entries: list[Entry] = field(default_factory=list)
    dead: list[Entry] = field(default_factory=list)
    expired: list[Entry] = field(default_factory=list)
    dead_bytes: int = 0

    @property
    def has_enough_dead(self) -> bool:
        return len(self.dead) >= MOST_DEAD or self.dead_bytes >= MOST_DEAD_BYTES

    def sort(self, entry: Entry, want: Want) -> bool:
        """Set an entry aside if it is expired or dead; False: it can be delivered."""
        if entry.message.sent_us < want.sent_after_us:
            self.expired.append(entry)
        elif 0 < want.max_receives <= entry.receive_count:
            self.dead.append(entry)
            self.dead_bytes += self.size(entry.message)
        else:
            return False
        return True


class LineState(Struct, array_like=True):
    """What a line knows besides its entries: when groups were last let go, and the queue's delay."""

    freed_us: dict[str, int] = field(default_factory=dict)
    delay_us: int = 0


class Line(Protocol):
    """Knows which entries can be claimed, and in which order. Each entry is shown, or hidden, or not in the line."""

    def show(self, entry: Entry) -> None:
        """An entry is visible, since its ``visible_us``."""

    def hide(self, entry: Entry) -> None:
        """An entry is in flight or delayed, until its ``visible_us``."""

    def drop(self, entry: Entry, now_us: int) -> None:
        """An entry is gone."""

    def draw(self, want: Want, now_us: int) -> Draw:
        """Take out what a claim gets."""

    def ready_us(self) -> int | None:
        """From when on something may be claimed if no entry changes; None: not as things are."""

    def delay(self, delay_us: int) -> None:
        """The queue's delay, where it holds for messages that wait."""

    def holds(self, group: str) -> bool:
        """Whether there are messages of a group, where groups have an order."""

    def state(self) -> LineState: ...

    def take_state(self, state: LineState) -> None:
        """When all entries are in it."""


def group_of(entry: Entry | Draft) -> str:
    """The message's group; none and an empty one are the same."""
    extra = entry.message.extra
    return (extra.group_id or "") if extra is not None else ""
