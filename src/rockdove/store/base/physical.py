"""The verbs of a physical queue: what every store has."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rockdove.core.message import Entry, Message
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base.done import Done

# A claim goes no further when it has met so many dead entries: there may be millions, and its caller has to move them.
MOST_DEAD = 100
# The same of bytes: they are moved in one step.
MOST_DEAD_BYTES = 2 * 1024 * 1024


class Draft(Struct, array_like=True, gc=False):
    """A message on its way in.

    deduplication_key: None where nothing is to be deduplicated.
    bytes: its size as SQS counts it, for who sends several at once.
    once_key: a store without transfers stores one draft of a key only, and remembers the key for longer than messages
    are kept; a second append of it reports the first.
    """

    message: Message
    visible_us: int
    deduplication_key: str | None = None
    bytes: int = 0
    once_key: str | None = None


class Appended(Struct, array_like=True, frozen=True, gc=False):
    """Where a draft went; for a duplicate, where its first copy went, and under which message id."""

    id: int
    message_id: str


class Want(Struct, array_like=True, frozen=True, gc=False):
    """What a receive asks of one physical queue.

    limit: how many messages at most.
    timeout_us: for how long they become invisible.
    order_hint: K: take ``limit`` at random of the first ``limit + K - 1`` visible ones; 0 is no order.
    max_receives: entries received so often already are not delivered but returned as ``dead``; 0 is never.
    sent_after_us: messages sent before are expired: removed, never delivered.
    attempt: the ReceiveRequestAttemptId of a FIFO receive.
    delay_us: the queue's delay, which on FIFO queues holds for messages that already wait.
    spare_noisy: leave noisy groups alone.
    room_bytes: no more once the messages are so many bytes together; 0 is without a bound.
    max_in_flight: nothing is claimed while so many messages of the logical queue may be in flight; 0 is without a
    bound. A store whose physical queues are apart counts those of this one.
    repeats: only what the attempt got before, and nothing new.
    """

    limit: int
    timeout_us: int
    order_hint: int = 1
    max_receives: int = 0
    sent_after_us: int = 0
    attempt: str | None = None
    delay_us: int = 0
    spare_noisy: bool = False
    room_bytes: int = 0
    max_in_flight: int = 0
    repeats: bool = False


class Claimed(Struct, array_like=True, gc=False):
    """What a claim got. Entries carry the new ``visible_us`` and ``receive_count``.

    dead: entries that have had their deliveries; they are hidden like the claimed ones, with the count unchanged, until
    the caller moves them to the dead-letter queue. With `MOST_DEAD` of them, or
    `MOST_DEAD_BYTES`, there may be more, and living ones behind.
    next_us: with nothing claimed, when the next entry becomes visible; None if that is not in sight.
    claimed_us: when the claim was made; for a repeated attempt, when it was made first.
    expired: the ids of messages that it met, that were too old, and that it removed.
    bytes: of the bodies claimed, where there is a bound to them.
    crowded: nothing was looked for, because too many may be in flight.
    landing: with nothing claimed, whether published messages are about to come.
    gone: the physical queue is no more, of which the caller has not heard.
    """

    entries: list[Entry]
    dead: list[Entry]
    next_us: int | None = None
    claimed_us: int = 0
    expired: list[int] = []
    bytes: int = 0
    crowded: bool = False
    landing: bool = False
    gone: bool = False


class Counts(Struct, array_like=True, frozen=True):
    """Exact numbers of messages by state.

    ``held``: none of the visible ones can be received, because others of their groups are in flight. A store that does
    not say so here says it by its hints. ``moving``: so many of them may have gone to another physical queue. Nobody
    gets them before that is known.
    """

    visible: int
    in_flight: int
    delayed: int
    held: bool = False
    moving: int = 0

    @property
    def total(self) -> int:
        return self.visible + self.in_flight + self.delayed

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.visible + other.visible,
            self.in_flight + other.in_flight,
            self.delayed + other.delayed,
            moving=self.moving + other.moving,
        )


class Hint(Struct, array_like=True, frozen=True, gc=False):
    """What a store believes of a physical queue without looking. The defaults are right where nothing is known.

    next_us: nothing can be claimed before this time; None: nothing is there to claim.
    may_hold_any: False only if there was no message at all, whatever its state.
    may_be_noisy: whether a group may hold more than its share of what is in flight on the logical queue.
    """

    next_us: int | None = 0
    may_hold_any: bool = True
    may_be_noisy: bool = True

    def may_have_visible(self, now_us: int) -> bool:
        return self.next_us is not None and self.next_us <= now_us


UNKNOWN = Hint()


class Physical(Protocol):
    """One physical queue. Each verb is atomic.

    Standard: entries are claimed in the order (visible_us, id). If messages carry group ids and a group is noisy (see
    `rockdove.core.fairness`), messages of other groups go first.
    FIFO: a group's messages are claimed strictly in the order of their ids; while one of a group is in flight, no other
    of that group is given, except together in one claim. Appends with a deduplication key seen in the last five minutes
    (on the logical queue) store nothing and report the first copy. A claim with an ``attempt`` seen in the last five
    minutes gives the same entries again with their visibility renewed, unless one of them was deleted, changed or has
    become visible meanwhile: then it is a claim like any other.
    """

    @property
    def record(self) -> PhysicalRecord: ...

    def hint(self) -> Hint:
        """What is believed now. Cheap, no I/O."""

    def append(self, drafts: Sequence[Draft], done: Done[list[Appended]]) -> None:
        """Store messages, all or none; ids grow in the order given. `QueueGone`: it takes no more of them."""

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        """Take visible entries and make them invisible. See `Store.delivered`."""

    def move(self, id: int, visible_us: int, receive_count: int | None, done: Done[bool]) -> None:
        """Change when an entry becomes visible that was received. False: it is gone, leased, or was never received.

        With a ``receive_count``, only if that is still the entry's and it is in flight: on FIFO queues a handle ends
        with its receive. Without one, an entry that is visible again is hidden again; on FIFO queues it is not.
        """

    def remove(self, id: int, receive_count: int | None, done: Done[bool]) -> None:
        """Remove an entry and its message. False: it was gone.

        With a ``receive_count``, only if that is still the entry's and it is in flight (False otherwise).
        """

    def remove_all(self, ids: Sequence[int], done: Done[list[bool]]) -> None:
        """Remove entries and their messages, whoever holds them; for each, whether it was there."""

    def release(self, entries: Sequence[Entry], done: Done[None]) -> None:
        """Undo a claim that nobody got: visible now, with the count it had before."""

    def count(self, done: Done[Counts]) -> None:
        """Tell how many messages there are, at a cost that does not grow with their number."""

    def find(self, id: int, done: Done[Entry | None]) -> None:
        """The entry as it is, or None if it is gone."""

    def holds(self, groups: Sequence[str], done: Done[list[bool]]) -> None:
        """Whether a FIFO queue holds messages of these groups, in any state."""
