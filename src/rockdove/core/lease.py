"""Leases: messages that are taken under a name, and stay taken until it is said what becomes of them."""

from msgspec import Struct

# The time from which a leased message may be received: no clock reaches it. (In FIFO queues what waits behind others
# of its group has a time after it; see `rockdove.store.sqlite.grouped`.)
LEASED_US = 1 << 60
# Stands for a consumer's shards all together.
ALL_SHARDS = -1


class LeaseName(Struct, frozen=True, order=True):
    """What a lease is asked for by. ``queue`` is the logical queue's uid."""

    queue: str
    consumer: str
    shard: int
    sequence: int


class Lease(Struct, frozen=True):
    """A lease as it is listed; ``messages`` is how many it was made with."""

    consumer: str
    shard: int
    sequence: int
    messages: int
    made_us: int


class Holder(Struct, frozen=True):
    """A consumer that has leases, and when it last asked or acknowledged."""

    consumer: str
    leases: int
    messages: int
    seen_us: int


class Holding(Struct, frozen=True):
    """What the consumers of one logical queue hold together."""

    consumers: int = 0
    leases: int = 0
    messages: int = 0
    # When the consumer that has been silent for longest made its last call.
    seen_us: int = 0
