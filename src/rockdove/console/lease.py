"""Leases of a queue: who holds which messages, and taking them back."""

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.visit import Visit, action, reading
from rockdove.core.limits import MAX_LISTED_LEASES

# Leases of one consumer that a page shows.
_SHOWN = 100


class Lease(Struct):
    """Times are seconds since 1970."""

    shard: int
    sequence: int
    messages: int
    since: float


class Holder(Struct):
    consumer: str
    leases: int
    messages: int
    last_call: float
    held: list[Lease]


class Release(Struct):
    """``forget``: also let the consumer begin with sequence 0 again."""

    consumer: str
    forget: bool = False


async def leases(visit: Visit) -> dict[str, list[Holder]]:
    found = await visit.client.list_leases(queue_of(visit))
    holders = {
        each.consumer: Holder(each.consumer, each.leases, each.messages, each.last_call_timestamp / 1_000, [])
        for each in found.consumers[:MAX_LISTED_LEASES]
    }
    for lease in found.leases:
        holder = holders.get(lease.consumer)
        if holder is not None and len(holder.held) < _SHOWN:
            made = Lease(lease.shard, lease.sequence, lease.messages, lease.leased_timestamp / 1_000)
            holder.held.append(made)
    return {"holders": list(holders.values())}


async def release(visit: Visit, order: Release) -> dict[str, int]:
    ended = await visit.client.release_consumer(queue_of(visit), order.consumer, forget=order.forget)
    return {"leases": ended.leases, "messages": ended.messages}


ROUTES = [
    Route(f"{API}/leases", reading(leases), methods=["GET"]),
    Route(f"{API}/leases/release", action(Release, release), methods=["POST"]),
]
