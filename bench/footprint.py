"""What a queued message costs: memory and disk, as the difference before and after many."""

from __future__ import annotations

import msgspec

from bench import process, swarm
from bench.call import create
from bench.server import Server

# Sent before the first look, so that what a server allocates once is not charged to the messages.
FIRST = 5_000


class Footprint(msgspec.Struct, frozen=True):
    """The costs of all messages, and of the second half of them, when caches are full and only growth is left."""

    messages: int
    resident_before: int
    resident_after: int
    resident_per_message: float
    resident_per_message_later: float
    disk_per_message: float


def footprint(server: Server, messages: int) -> Footprint:
    """On a server that has done nothing else; messages of 1 KB."""
    queue_url = create(server.endpoint, "footprint")
    swarm.run(swarm.fill(server.endpoint, queue_url, FIRST))
    disk_before, before = _used(server)
    half = messages // 2
    swarm.run(swarm.fill(server.endpoint, queue_url, half))
    _, midway = _used(server)
    swarm.run(swarm.fill(server.endpoint, queue_url, messages - half))
    disk_after, after = _used(server)
    return Footprint(
        messages,
        resident_before=before,
        resident_after=after,
        resident_per_message=(after - before) / messages,
        resident_per_message_later=(after - midway) / (messages - half),
        disk_per_message=(disk_after - disk_before) / messages,
    )


def _used(server: Server) -> tuple[int, int]:
    """Disk and memory, in bytes, of the server at rest."""
    process.settle(server.pid)
    return process.folder_bytes(server.folder), process.memory(server.pid).resident
