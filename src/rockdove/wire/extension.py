"""The requests and results of what we have beyond SQS, on messages."""

from msgspec import field

from rockdove.core.message import Attribute
from rockdove.wire.shape import Integer, ReceiveMessage, ReceiveMessageResult, Request, Result


class Peek(Request, kw_only=True):
    """Look at messages without disturbing them."""

    queue_url: str
    max_number_of_messages: Integer | None = None
    message_attribute_names: list[str] | None = None
    message_system_attribute_names: list[str] | None = None
    # "visible": those that can be received next. "sent": all, page by page.
    order: str | None = None
    next_token: str | None = None
    # Which of all: of one physical queue, sent from one time to before another (seconds since 1970), of one group.
    physical_queue: Integer | None = None
    sent_from: float | None = None
    sent_until: float | None = None
    message_group_id: str | None = None


class PeekedMessage(Result, kw_only=True):
    """A message without a receipt handle: nobody may delete what he has only looked at."""

    message_id: str
    md5_of_body: str = field(name="MD5OfBody")
    body: str
    attributes: dict[str, str] = {}
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    message_attributes: dict[str, Attribute] = {}
    # "visible", "in-flight", "delayed" or "leased".
    state: str
    # Seconds since the epoch; None: no time makes it visible.
    visible_from: float | None = None
    physical_queue: int


class PeekResult(Result, kw_only=True):
    messages: list[PeekedMessage] = []
    next_token: str | None = None


class DescribePhysicalQueues(Request, kw_only=True):
    """What carries a queue."""

    queue_url: str


class DescribedPhysicalQueue(Result, kw_only=True):
    """Numbers of messages are exact; of one that cannot be reached, there are none."""

    index: int
    # "up", "down" or "draining".
    state: str
    weight: float
    reachable: bool = True
    approximate_number_of_messages: int | None = None
    approximate_number_of_messages_not_visible: int | None = None
    approximate_number_of_messages_delayed: int | None = None


class DescribePhysicalQueuesResult(Result, kw_only=True):
    physical_queues: list[DescribedPhysicalQueue] = []


class SetPhysicalQueue(Request, kw_only=True):
    """Change one of those that carry a queue; what is not given stays."""

    queue_url: str
    index: Integer
    weight: float | None = None
    state: str | None = None


class PutElasticState(Request, kw_only=True):
    """A controller says that it is there, what it has decided, and for how long no other may decide.

    With no seconds at all, another may at once.
    """

    queue_url: str
    holder: str
    hold_seconds: float
    state: str | None = None


class PutElasticStateResult(Result, kw_only=True):
    """Whether it is to go on deciding."""

    paused: bool


class GetElasticState(Request, kw_only=True):
    """What the controller of a queue has published."""

    queue_url: str


class GetElasticStateResult(Result, kw_only=True):
    """Times are in seconds since 1970; they and the holder are missing if there was no controller."""

    paused: bool
    holder: str | None = None
    held_until: float | None = None
    state: str | None = None
    updated: float | None = None


class SetElasticControl(Request, kw_only=True):
    """Let the controller of a queue pause, or go on."""

    queue_url: str
    paused: bool


class Receive(ReceiveMessage, kw_only=True):
    """ReceiveMessage with up to a hundred messages."""


class ReceiveResult(ReceiveMessageResult, kw_only=True):
    """What ReceiveMessage gives."""
