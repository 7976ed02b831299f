"""What front-ends tell each other about a physical queue, so that none of them has to read what others have done."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from rockdove.store.cassandra.index.entry import Spot

# Before the number of a physical queue, in place of a journal's name: messages were sent to it; it is to take no more;
# a front-end receives from it; it is about to take messages of it; it has taken them.
_SENT, _SHUT, _RECEIVES, _TAKES, _TOOK = "+", "-", "*", "!", "="
SIGNS = (_SENT, _SHUT, _RECEIVES, _TAKES, _TOOK)
# Up to so many messages are named. If there are more, the others are only told that there are some, and look for them.
MOST_NAMED = 10


class Voice:
    """Of one physical queue. ``tell`` sends a text to all others."""

    def __init__(self, number: int, front_end: str, tell: Callable[[str], None]) -> None:
        self._number = number
        self._front_end = front_end
        self._tell = tell

    def sent(self, spots: Sequence[Spot]) -> None:
        named = spots if len(spots) <= MOST_NAMED else ()
        self._say(_SENT, [f"{spot.segment}:{spot.visible_us}:{spot.id}" for spot in named])

    def shut(self) -> None:
        self._say(_SHUT)

    def receives(self) -> None:
        self._say(_RECEIVES, [self._front_end])

    def takes(self, spots: Sequence[Spot]) -> None:
        self._name(_TAKES, spots)

    def took(self, spots: Sequence[Spot]) -> None:
        self._name(_TOOK, spots)

    def _name(self, sign: str, spots: Sequence[Spot]) -> None:
        for at in range(0, len(spots), MOST_NAMED):
            self._say(sign, [f"{spot.id}:{spot.turn}" for spot in spots[at : at + MOST_NAMED]])

    def _say(self, sign: str, words: Iterable[str] = ()) -> None:
        self._tell(" ".join([f"{sign}{self._number}", *words]))


class Listener(Protocol):
    """Hears what another front-end says about a physical queue. ``turns`` are messages' ids and their turns."""

    def others_sent(self, spots: Sequence[Spot]) -> None:
        """Messages were sent. No spots: they were not named."""

    def others_shut(self) -> None:
        """The queue is to take no more: close the segments that are being filled."""

    def others_receive(self, front_end: str) -> None:
        """The front-end of this name receives from the queue."""

    def others_take(self, turns: Sequence[tuple[int, int]]) -> None:
        """It is about to take these messages."""

    def others_took(self, turns: Sequence[tuple[int, int]]) -> None:
        """It has taken them: entries of these turns and of earlier ones do not count any more."""


def number_in(text: str) -> int:
    """The number of the physical queue that a text is about."""
    return int(text[1:].partition(" ")[0])


def hear(text: str, listener: Listener) -> None:
    sign, words = text[0], text.split()[1:]
    if sign == _SENT:
        listener.others_sent([_spot(word) for word in words])
    elif sign == _RECEIVES:
        listener.others_receive(words[0])
    elif sign == _TAKES:
        listener.others_take([_turn(word) for word in words])
    elif sign == _TOOK:
        listener.others_took([_turn(word) for word in words])
    else:
        listener.others_shut()


def _spot(word: str) -> Spot:
    segment, visible_us, id = map(int, word.split(":"))
    return Spot(segment, visible_us, id, 0)


def _turn(word: str) -> tuple[int, int]:
    id, turn = map(int, word.split(":"))
    return id, turn
