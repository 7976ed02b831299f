"""The one schema of all traces: what an event has, on the side of the server and on that of the client."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rockdove.trace.extra import pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

SERVER: Final = "server"
CLIENT: Final = "client"
SIDES: Final = (SERVER, CLIENT)

OPS: Final = ("send", "receive", "miss", "delete", "change_visibility", "expire", "dead_letter", "redrive", "purge")

# The columns in their order, with their types in Arrow's words. What is not listed here is in no trace: no body ever.
COLUMNS: Final[dict[str, str]] = {
    "event_time": "timestamp",
    "node": "string",
    "side": "string",
    "account": "string",
    "queue": "string",
    "physical": "int32",
    "op": "string",
    "message_id": "string",
    "group_id": "string",
    "sender": "string",
    "seq": "int64",
    "receiver": "string",
    "attempt": "int32",
    "sent_at": "timestamp",
    "enqueued_at": "timestamp",
    "dequeued_at": "timestamp",
    "latency_us": "int64",
    "bytes": "int64",
    "checksum_ok": "bool",
    "status": "int32",
}
# The same for all that one recorder writes, which fills them in.
RECORDERS: Final = ("node", "side")


class Event(NamedTuple):
    """What happened, as a producer tells it to a recorder; the recorder adds ``node`` and ``side``.

    The fields are columns of the schema, in the same order. Times are microseconds since 1970, UTC. None: not known on
    this side. docs/reference/trace.md says which side knows what.
    """

    event_time: int
    account: str | None
    queue: str
    physical: int | None
    op: str
    message_id: str | None = None
    group_id: str | None = None
    sender: str | None = None
    seq: int | None = None
    receiver: str | None = None
    attempt: int | None = None
    sent_at: int | None = None
    enqueued_at: int | None = None
    dequeued_at: int | None = None
    latency_us: int | None = None
    bytes: int | None = None
    checksum_ok: bool | None = None
    status: int | None = None


def schema() -> "pa.Schema":
    """The schema in Arrow's form. Raises `MissingExtra` without pyarrow."""
    pa = pyarrow()
    types: dict[str, Any] = {
        "timestamp": pa.timestamp("us", "UTC"),
        "string": pa.string(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
    }
    return pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
