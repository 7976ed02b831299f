"""What every process of a service is built of, whether it serves clients or works in the background."""

import socket
from dataclasses import dataclass

from rockdove.broker.broker import Broker
from rockdove.broker.context import LEASES_AT_ONCE, Context, WaitingRoom
from rockdove.broker.directory import Directory
from rockdove.broker.feed import Feed
from rockdove.broker.movetask import MoveTasks
from rockdove.broker.turn import MemoryTurns
from rockdove.core.clock import Clock
from rockdove.core.receipt import Receipts
from rockdove.server.board import Seat
from rockdove.server.setting import Settings
from rockdove.store.base import Snapshot, Store
from rockdove.trace import SERVER, Recorder


@dataclass
class Works:
    """Put together over an open store; the feed is yet to be started."""

    context: Context
    directory: Directory
    feed: Feed
    broker: Broker
    tasks: MoveTasks


def build(store: Store, snapshot: Snapshot, settings: Settings, clock: Clock, seat: Seat, processes: int = 1) -> Works:
    """``processes``: how many share what is bounded for all together."""
    most = settings.limits
    directory = Directory(store, clock, settings.region, settings.cool_down, most.max_queues_per_account)
    context = Context(store, directory, Receipts(snapshot.secret), clock, settings.max_in_flight)
    context.waiting = WaitingRoom(most.max_long_polls, seat.waiting)
    context.processes = max(processes, 1)
    context.lease_turns = MemoryTurns(max(LEASES_AT_ONCE // context.processes, 1))
    feed = Feed(store.records)
    return Works(context, directory, feed, Broker(context), MoveTasks(context, feed))


def make_recorder(settings: Settings) -> Recorder | None:
    if settings.trace is None:
        return None
    return Recorder(settings.trace, socket.gethostname(), SERVER, settings.trace_keep)
