"""Events as columns of numbers: what the compiled loops read, and how an event's kind is packed."""

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rockdove.spark.order import Ints

# The places of ops in the schema's OPS, which executors do not import: it brings more than they need to have.
SEND, RECEIVE, MISS, DELETE, CHANGE, EXPIRE, DEAD_LETTER, REDRIVE, PURGE = range(9)

# `kind` is the op's place, and these.
OP_MASK: Final = 15
BY_CLIENT: Final = 16
SUCCESS: Final = 32
BROKEN: Final = 64

# A time that is not known.
MISSING: Final = -(2**63)

# `key` is (queue number << HASH_BITS) | low bits of the hash of the message's id, 0 only where there is no id.
HASH_BITS: Final = 40
HASH_MASK: Final = (1 << HASH_BITS) - 1
# Further up in `kind` are the other bits of the hash, and the latency, or -1. All that is sorted and sent to Python
# costs time for each of its bytes. Decision: docs/decisions/53-message-hash.md.
REST_SHIFT: Final = 7
REST_BITS: Final = 24
REST_MASK: Final = ((1 << REST_BITS) - 1) << REST_SHIFT
LATENCY_SHIFT: Final = REST_SHIFT + REST_BITS
# More than an hour: no request takes that long.
SLOWEST_US: Final = (1 << 63 - LATENCY_SHIFT) - 1

NUMBERS: Final = ("key", "kind", "time", "enqueued", "sent", "request")
# Only where a trace has them.
NUMBERED: Final = ("sender", "seq")
COLUMNS: Final = (*NUMBERS, *NUMBERED, "id")


class Rows(NamedTuple):
    """Events, by key. Times are microseconds since 1970.

    The id of row i is ``data[offsets[i]:offsets[i + 1]]``; only receives need to have it.
    """

    key: Ints
    kind: Ints
    time: Ints
    enqueued: Ints
    sent: Ints
    request: Ints
    sender: Ints
    seq: Ints
    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]


def schema(numbered: bool) -> pa.Schema:
    wanted = (*NUMBERS, *(NUMBERED if numbered else ()))
    return pa.schema([*((name, pa.int64()) for name in wanted), ("id", pa.string())])


def rows(batch: pa.RecordBatch) -> Rows:
    """The columns of a batch without a copy of them."""
    ids = batch.column("id")
    numbers = [batch.column(name).to_numpy(zero_copy_only=True) for name in NUMBERS]
    if NUMBERED[0] in batch.schema.names:
        numbers += [batch.column(name).to_numpy(zero_copy_only=True) for name in NUMBERED]
    else:
        numbers += [_fixed(np.zeros(len(batch), np.int64))] * len(NUMBERED)
    _, places, text = ids.buffers()
    offsets = np.frombuffer(places, np.int32)[ids.offset : ids.offset + len(ids) + 1]
    data = np.frombuffer(text, np.uint8) if text is not None and text.size else np.zeros(1, np.uint8)
    return Rows(*numbers, _fixed(offsets), _fixed(data))  # type: ignore[call-arg]


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Not to be written to, as columns of Arrow's are: the loop would be compiled once more for others."""
    values.flags.writeable = False
    return values
