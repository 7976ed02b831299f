"""What the index says of a message: where it stands, and what its deliveries have left behind."""

from enum import IntEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from rockdove.core import ids
from rockdove.core.message import Entry, Extra, Message

# Sequence numbers from here on are those of the journal. Smaller ones are those of the index: the number of the segment
# that the message was sent into, and its place there.
AGREED = 1 << (ids.SEQUENCE_BITS - 1)
PLACE_BITS = 9
# A segment has so many entries at most: no read passes over more that are removed.
MOST_ENTRIES = 500

_PLACE_MASK = (1 << PLACE_BITS) - 1
_SEGMENT_MASK = (AGREED >> PLACE_BITS) - 1


class Kind(IntEnum):
    """Of a segment: messages that were sent, or messages that were received or given another time."""

    SENT = 0
    HELD = 1


class Spot(NamedTuple):
    """A row of the index. Of all rows of a message, the one that its state names counts."""

    segment: int
    visible_us: int
    id: int
    turn: int


class State(Struct, array_like=True):
    """Of a message. Each change is a turn. The later one wins; of two at the same time, the larger bytes.

    bytes: the size of the message. ``adopted``: from now on the journal has it.
    """

    turn: int
    segment: int
    visible_us: int
    receive_count: int
    first_received_us: int
    bytes: int
    adopted: bool = False

    def spot(self, id: int) -> Spot:
        return Spot(self.segment, self.visible_us, id, self.turn)


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode
_extra = msgspec.json.Decoder(Extra).decode


def indexed_id(number: int, segment: int, place: int) -> int:
    return ids.entry_id(number, segment << PLACE_BITS | place)


def is_indexed(id: int) -> bool:
    return not id & AGREED


def segment_of(id: int) -> int:
    """The one that the message was sent into."""
    return (id >> PLACE_BITS) & _SEGMENT_MASK


def block_of(id: int) -> int:
    """Where its body is. Blocks of the journal are positive."""
    return -(id >> PLACE_BITS)


def place_of(id: int) -> int:
    return id & _PLACE_MASK


class Row(NamedTuple):
    """A message as it is stored. Without ``body``, only its state was asked for."""

    sent_us: int
    state: State
    body: bytes
    md5: str
    extra: bytes

    def entry(self, id: int) -> Entry:
        message = Message(self.sent_us, self.body, self.md5, _extra(self.extra) if self.extra else None)
        state = self.state
        return Entry(id, state.visible_us, message, state.receive_count, state.first_received_us)


def row_of(sent_us: int | None, state: bytes | None, *content: Any) -> Row | None:
    """None: nothing but the remains of a message that was removed, or is not there yet."""
    if sent_us is None or state is None:
        return None
    body, md5, extra = content or (b"", "", b"")
    return Row(sent_us, _decode(state), body or b"", md5 or "", extra or b"")
