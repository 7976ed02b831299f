"""The front-ends that receive from a physical queue: each has some messages before the others."""

from collections.abc import Callable
from time import monotonic

# Seconds after which a front-end says again that it receives, and after which it does not any more.
SAY_S = 2.0
GONE_S = 6.0

_BITS = (1 << 64) - 1


class PlaceMembers:
    """See `rockdove.store.cassandra.index.candidates.Members`. ``say`` tells the others that this one receives."""

    def __init__(self, own: str, say: Callable[[], None]) -> None:
        self._own = _seed(own)
        self._say = say
        self._said_s = 0.0
        self._received_s = -GONE_S
        self._others: dict[str, tuple[int, float]] = {}

    @property
    def number(self) -> int:
        if self._others:
            before_s = monotonic() - GONE_S
            for name, (_, seen_s) in list(self._others.items()):
                if seen_s < before_s:
                    del self._others[name]
        return 1 + len(self._others)

    @property
    def does_receive(self) -> bool:
        """Whether this front-end counts as one that does."""
        return monotonic() - self._received_s < GONE_S

    def rank(self, id: int) -> int:
        own = _weight(id, self._own)
        return sum(_weight(id, seed) > own for seed, _ in self._others.values())

    def heard(self, name: str) -> None:
        """Another one receives."""
        if name not in self._others:
            # It may not know of this one.
            self._said_s = 0.0
        self._others[name] = (_seed(name), monotonic())

    def receives(self) -> None:
        """This one does."""
        now_s = self._received_s = monotonic()
        if now_s - self._said_s > SAY_S:
            self._said_s = now_s
            self._say()


def _seed(name: str) -> int:
    return int(name, 16) & _BITS


def _weight(id: int, seed: int) -> int:
    """Rendezvous hashing: the largest weight is first."""
    mixed = (id ^ seed) * 0x9E3779B97F4A7C15 & _BITS
    mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 & _BITS
    return mixed ^ mixed >> 32
