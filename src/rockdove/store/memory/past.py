"""What a logical queue in memory remembers of the last minutes, beside its messages."""

from typing import Protocol, TypeAlias

from msgspec import Struct

from rockdove.core.clock import SECOND_US
from rockdove.core.fairness import Shares
from rockdove.core.limits import DEDUPLICATION_S, MAX_RETENTION_S, RECEIVE_ATTEMPT_S
from rockdove.store.base import Appended
from rockdove.store.memory.recent import Recent

# For so long a key of a message that is appended once is remembered: longer than its source can be kept.
ONCE_S = MAX_RETENTION_S + 86_400

# What a receive attempt got, and when: ids, each with its claim.
Attempt: TypeAlias = tuple[int, list[tuple[int, tuple[int, int]]]]


class HasInFlight(Protocol):
    """See `rockdove.store.memory.pile.Pile`."""

    def in_flight(self) -> int: ...


class PastState(Struct, array_like=True):
    """What a queue remembers, as it is written down: by key, with the time of each."""

    sent: list[tuple[str, int, Appended]]
    attempts: list[tuple[str, int, Attempt]]
    once: list[tuple[str, int, Appended]]
    held: list[tuple[int, str, int]]


class Past:
    """What a logical queue remembers of its last five minutes, whatever becomes of its physical queues."""

    def __init__(self, once: Recent[Appended] | None = None) -> None:
        """``once``: what was appended once, by its key."""
        self.sent: Recent[Appended] = Recent(DEDUPLICATION_S * SECOND_US)
        self.attempts: Recent[Attempt] = Recent(RECEIVE_ATTEMPT_S * SECOND_US)
        self.shares = Shares()
        self.once: Recent[Appended] = once or Recent(ONCE_S * SECOND_US)
        self._piles: list[HasInFlight] = []

    def join(self, pile: HasInFlight) -> None:
        self._piles.append(pile)

    def leave(self, pile: HasInFlight) -> None:
        self._piles.remove(pile)

    def in_flight(self) -> int:
        """On all physical queues together."""
        return sum(pile.in_flight() for pile in self._piles)

    def state(self) -> PastState:
        return PastState(self.sent.state(), self.attempts.state(), self.once.state(), self.shares.state())

    def take_state(self, state: PastState) -> None:
        """After the piles have theirs."""
        self.sent.take_state(state.sent)
        self.attempts.take_state(state.attempts)
        self.once.take_state(state.once)
        self.shares.take_state(state.held)
