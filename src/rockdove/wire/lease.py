"""The requests and results of leases, all ours; see `rockdove.wire.shape`."""

from typing import Annotated

from msgspec import Meta, field

from rockdove.core.message import Attribute
from rockdove.wire.shape import Integer, Request, Result

# Sequences and batches are counted up for ever.
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class LeaseBatch(Request, kw_only=True):
    """Take messages for good, under a name by which they can be asked for again."""

    queue_url: str
    consumer: str
    shard: Integer
    sequence: Long
    max: Integer | None = None
    wait_time_seconds: Integer | None = None
    message_attribute_names: list[str] | None = None
    message_system_attribute_names: list[str] | None = None


class LeasedMessage(Result, kw_only=True):
    """A message without a receipt handle: it is deleted with its lease."""

    message_id: str
    md5_of_body: str = field(name="MD5OfBody")
    body: str
    attributes: dict[str, str] = {}
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    message_attributes: dict[str, Attribute] = {}
    physical_queue: int


class LeaseBatchResult(Result, kw_only=True):
    messages: list[LeasedMessage]
    # Milliseconds since the epoch.
    leased_timestamp: int
    # Of its messages, how many are no longer there.
    deleted: int = 0


class AckThrough(Request, kw_only=True):
    """Delete what a consumer has leased; without a shard of all, without a sequence through the last."""

    queue_url: str
    consumer: str
    shard: Integer | None = None
    sequence: Long | None = None


class AckThroughResult(Result, kw_only=True):
    """What this call has ended, and deleted."""

    leases: int
    messages: int


class ReleaseConsumer(Request, kw_only=True):
    """Give back all that a consumer has leased."""

    queue_url: str
    consumer: str
    # Also forget which sequences have ended.
    forget: bool | None = None


class ReleaseConsumerResult(Result, kw_only=True):
    """What this call has ended, and given back."""

    leases: int
    messages: int


class ListLeases(Request, kw_only=True):
    queue_url: str
    consumer: str | None = None
    max_results: Integer | None = None
    next_token: str | None = None


class ListedConsumer(Result, kw_only=True):
    consumer: str
    leases: int
    messages: int
    # Milliseconds since the epoch.
    last_call_timestamp: int


class ListedLease(Result, kw_only=True):
    consumer: str
    shard: int
    sequence: int
    messages: int
    # Milliseconds since the epoch.
    leased_timestamp: int


class ListLeasesResult(Result, kw_only=True):
    consumers: list[ListedConsumer]
    leases: list[ListedLease]
    next_token: str | None = None
