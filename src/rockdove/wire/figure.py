"""The requests and results of figures: how full queues are, what happened in them, how the service is."""

from rockdove.wire.shape import Integer, Request, Result


class GetFigures(Request, kw_only=True):
    """How full the caller's queues are, and what happened in them.

    ``since`` is the version of an earlier answer: then only the queues are told of whose figures have changed, at the
    latest after ``wait_seconds``.
    """

    since: str | None = None
    wait_seconds: Integer | None = None
    queue_names: list[str] | None = None


class QueueFigures(Result, kw_only=True):
    """Numbers of messages are exact, and missing if the store cannot tell them now. Events count up since the service
    began, and begin anew with it."""

    queue_name: str
    created_timestamp: int
    fifo: bool = False
    physical_queues: int = 1
    # Whether it has the attribute RockdoveElastic.
    elastic: bool = False
    # A name, or the ARN of another account's queue.
    dead_letter_queue: str | None = None
    max_receive_count: int | None = None
    visible: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    # Seconds since 1970.
    oldest_timestamp: float | None = None
    leased: int = 0
    sent: int = 0
    received: int = 0
    empty: int = 0
    deleted: int = 0
    expired: int = 0
    dead_lettered: int = 0
    # First deliveries by the time since the message was sent: the first number has those under a millisecond, number i
    # those from 2 ** (i - 1) to under 2 ** i milliseconds.
    delivery: list[int] = []


class GetFiguresResult(Result, kw_only=True):
    """``whole``: what the caller knew before is to be forgotten. ``more``: ask again at once for the rest."""

    version: str
    # When it was looked, in seconds since 1970.
    time: float
    whole: bool = False
    more: bool = False
    queues: list[QueueFigures] = []
    gone: list[str] = []


class GetServiceFigures(Request, kw_only=True):
    """How the service is."""


class OperationFigures(Result, kw_only=True):
    """Requests that succeeded or failed since the service began, and the seconds that all of them took."""

    operation: str
    count: int
    seconds: float
    errors: int = 0


class GetServiceFiguresResult(Result, kw_only=True):
    version: str
    store: str
    # Whether there are accounts.
    accounts: bool
    queues: int
    connections: int
    long_polls: int
    # Why the store takes no changes.
    trouble: str | None = None
    store_bytes: int | None = None
    operations: list[OperationFigures] = []
