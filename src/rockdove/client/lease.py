"""The operations on leases, as steps. A queue is given by its name or its URL."""

from collections.abc import Sequence

from rockdove.client.message import ALL
from rockdove.client.step import Names, Steps, ask
from rockdove.wire import lease as shape


def lease_batch(
    names: Names,
    queue: str,
    consumer: str,
    shard: int,
    sequence: int,
    *,
    limit: int | None = None,
    wait_s: int | None = None,
    system_attributes: Sequence[str] = ALL,
    message_attributes: Sequence[str] = ALL,
) -> Steps[shape.LeaseBatchResult]:
    """Messages that belong to this consumer until it acknowledges or releases them.

    Asked again, it gives the same ones. Up to ``limit`` (10,000 at most, 1,000 unless told otherwise) and 8 MiB; waits
    up to ``wait_s`` seconds for the first one.
    """
    url = yield from names.url(queue)
    request = shape.LeaseBatch(
        queue_url=url,
        consumer=consumer,
        shard=shard,
        sequence=sequence,
        max=limit,
        wait_time_seconds=wait_s,
        message_system_attribute_names=list(system_attributes) or None,
        message_attribute_names=list(message_attributes) or None,
    )
    return (yield from ask(request, shape.LeaseBatchResult))


def ack_through(
    names: Names, queue: str, consumer: str, sequence: int | None = None, *, shard: int | None = None
) -> Steps[shape.AckThroughResult]:
    """Delete what was leased under sequences up to this one, of one shard or of all; without a sequence, everything."""
    url = yield from names.url(queue)
    request = shape.AckThrough(queue_url=url, consumer=consumer, shard=shard, sequence=sequence)
    return (yield from ask(request, shape.AckThroughResult))


def release_consumer(
    names: Names, queue: str, consumer: str, *, forget: bool = False
) -> Steps[shape.ReleaseConsumerResult]:
    """Give back all that a consumer has leased; to forget is to let it begin with sequence 0 again."""
    url = yield from names.url(queue)
    request = shape.ReleaseConsumer(queue_url=url, consumer=consumer, forget=forget or None)
    return (yield from ask(request, shape.ReleaseConsumerResult))


def list_leases(names: Names, queue: str, consumer: str | None = None) -> Steps[shape.ListLeasesResult]:
    """Who holds what since when; all pages."""
    url = yield from names.url(queue)
    request = shape.ListLeases(queue_url=url, consumer=consumer)
    found = yield from ask(request, shape.ListLeasesResult)
    while found.next_token is not None:
        request = shape.ListLeases(queue_url=url, consumer=consumer, next_token=found.next_token)
        more = yield from ask(request, shape.ListLeasesResult)
        found.leases += more.leases
        found.next_token = more.next_token
    return found
