"""What a queued message costs: memory and disk, as the difference before and after many."""

from __future__ import annotations

import msgspec

from bench import process, swarm
from bench.call import create
from bench.server import Server

# Sent before the first look, so that what a server allocates once is not charged to the messages.
FIRST = 5_000


class Footprint(msgspec.Struct, frozen=True):
    messages: int
    resident_before: int
    resident_after: int
    resident_per_message: float
    disk_per_message: float


def footprint(server: Server, messages: int) -> Footprint:
    """On a server that has done nothing else; messages of 1 KB."""
    queue_url = create(server.endpoint, "footprint")
    swarm.run(swarm.fill(server.endpoint, queue_url, FIRST))
    process.settle(server.pid)
    before, disk_before = process.memory(server.pid).resident, process.folder_bytes(server.folder)
    swarm.run(swarm.fill(server.endpoint, queue_url, messages))
    process.settle(server.pid)
    after, disk_after = process.memory(server.pid).resident, process.folder_bytes(server.folder)
    return Footprint(messages, before, after, (after - before) / messages, (disk_after - disk_before) / messages)
