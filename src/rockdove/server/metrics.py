"""What Prometheus reads: depths and ages asked of the store, events and times counted as they happen."""

import asyncio
import platform
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator

from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from rockdove import __version__
from rockdove.broker.broker import Broker
from rockdove.broker.queue import Queue
from rockdove.core.account import FIRST_ID
from rockdove.core.clock import SECOND_US
from rockdove.server.board import Seat
from rockdove.server.figures import EVENTS, Figures
from rockdove.server.level import REST, Level, holdings, levels, store_bytes
from rockdove.server.process import Processes
from rockdove.server.series import OTHERS, Places
from rockdove.server.shared import Shared
from rockdove.server.timing import buckets
from rockdove.store.base import Counts, Effort

# Between two collections, at most so many seconds pass.
MAX_REST_S = 1.0


class LeasedByQueue(Struct):
    """What consumers have leased, and for how long the most silent of them has not called."""

    messages: int = 0
    consumers: int = 0
    silent_s: float = 0.0


class Sample(Struct):
    """All that one answer tells, so that it can be written down in another thread while the service goes on."""

    levels: dict[str, Level]
    ages_s: dict[str, float]
    events: dict[str, Counter[str]]
    timings: dict[str, tuple[list[tuple[str, float]], float]]
    errors: dict[str, dict[int, int]]
    connections: int
    long_polls: int
    queues: int
    trouble: bool
    trace_dropped: int
    effort: Effort
    # None: it does not tell.
    store_bytes: int | None
    # Of queues that have leases.
    held: dict[str, LeasedByQueue]


class Metrics:
    """Collects when asked; those who ask meanwhile share the answer."""

    def __init__(self, broker: Broker, most_queues: int, seat: Seat, figures: Callable[[], Awaitable[Figures]]) -> None:
        """``figures`` gives what all processes of the service have counted."""
        self._broker = broker
        self._seat = seat
        self._figures = figures
        self._places = Places(most_queues)
        self._registry = CollectorRegistry(auto_describe=False)
        self._sheet = Sheet()
        self._registry.register(self._sheet)
        self._registry.register(Processes(seat))
        self._shared = Shared(self._collect)
        # When the next collection may begin, by the loop's clock.
        self._next_s = 0.0

    async def text(self) -> bytes:
        return await self._shared.get()

    async def close(self) -> None:
        await self._shared.close()

    async def _collect(self) -> bytes:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._next_s - loop.time())
        began_s = loop.time()
        self._sheet.sample = await self._sample()
        text = await asyncio.to_thread(generate_latest, self._registry)
        self._next_s = loop.time() + min(REST * (loop.time() - began_s), MAX_REST_S)
        return text

    async def _sample(self) -> Sample:
        places, store, figures = self._places, self._broker.store, await self._figures()
        directory = self._broker.directory
        places.update(directory, figures)
        levels, found = await self._levels(places.own), dict[str, Counter[str]]()
        if places.has_others:
            levels[OTHERS] = _sum((await self._levels(self._other_full())).values())
            found[OTHERS] = places.other_events()
        found.update((label(queue), figures.events_of(queue.record.uid)) for queue in places.own)
        now = self._broker.clock.now_us()
        return Sample(
            levels,
            {name: _age_s(level, now) for name, level in levels.items()},
            found,
            {name: (buckets(counts), seconds) for name, (counts, seconds) in figures.timings.items()},
            figures.errors,
            self._seat.connections.total(),
            self._seat.waiting.total(),
            len(directory),
            store.trouble is not None or store.full is not None,
            figures.trace_dropped,
            store.effort,
            await store_bytes(store),
            await self._held(now),
        )

    def _other_full(self) -> list[Queue]:
        """Of an empty queue there is nothing to add, and there may be very many."""
        directory, upkeep = self._broker.directory, self._broker.store.upkeep
        holding = None if upkeep is None else upkeep.holding()
        found = list(directory) if holding is None else [directory.get(*key) for key in holding]
        return [queue for queue in found if queue is not None and queue not in self._places.own]

    async def _held(self, now_us: int) -> dict[str, LeasedByQueue]:
        own = {queue.record.uid: label(queue) for queue in self._places.own}
        held: dict[str, LeasedByQueue] = {}
        for uid, holding in (await holdings(self._broker.store)).items():
            total = held.setdefault(own.get(uid, OTHERS), LeasedByQueue())
            total.messages += holding.messages
            total.consumers += holding.consumers
            total.silent_s = max(total.silent_s, (now_us - holding.seen_us) / SECOND_US)
        return held

    async def _levels(self, queues: Iterable[Queue]) -> dict[str, Level]:
        return {label(queue): level for queue, level in (await levels(self._broker, queues)).items()}


def label(queue: Queue) -> str:
    """A queue's name, with its account before it where there are accounts; the two never meet, names have no slash."""
    account, name = queue.key
    return name if account == FIRST_ID else f"{account}/{name}"


def _age_s(level: Level, now_us: int) -> float:
    return 0.0 if level.oldest_us is None else max(now_us - level.oldest_us, 0) / SECOND_US


def _sum(levels: Iterable[Level]) -> Level:
    """Of many queues: all messages, and the oldest of them."""
    known, total = list(levels), Counts(0, 0, 0)
    for each in known:
        if each.counts is not None:
            total += each.counts
    return Level(total, min((each.oldest_us for each in known if each.oldest_us is not None), default=None))


class Sheet(Collector):
    """Turns a sample into metric families."""

    sample: Sample

    def describe(self) -> Iterable[Metric]:
        """Not asked when registered: there is no sample yet."""
        return []

    def collect(self) -> Iterator[Metric]:
        yield from self._queues()
        yield from self._requests()
        yield from self._service()
        yield from self._store()

    def _queues(self) -> Iterator[Metric]:
        messages = GaugeMetricFamily("rockdove_messages", "Messages by state, exact.", labels=["queue", "state"])
        age = GaugeMetricFamily(
            "rockdove_oldest_age_seconds", "Age of the oldest message; 0 if there is none.", labels=["queue"]
        )
        for name, level in self.sample.levels.items():
            if level.counts is not None:
                for state in ("visible", "in_flight", "delayed"):
                    messages.add_metric([name, state], getattr(level.counts, state))
                age.add_metric([name], self.sample.ages_s[name])
        happened = CounterMetricFamily(
            "rockdove_events", "What happened to messages since the service started.", labels=["queue", "event"]
        )
        for name, found in self.sample.events.items():
            for event in EVENTS:
                happened.add_metric([name, event], found[event])
        yield from (messages, age, happened, *self._leases())

    def _leases(self) -> Iterator[Metric]:
        leased = GaugeMetricFamily("rockdove_leased_messages", "Messages that leases were made with.", labels=["queue"])
        consumers = GaugeMetricFamily("rockdove_lease_consumers", "Consumers that hold leases.", labels=["queue"])
        silent = GaugeMetricFamily(
            "rockdove_lease_silent_seconds", "Time since the last call of the most silent of them.", labels=["queue"]
        )
        for name, held in self.sample.held.items():
            leased.add_metric([name], held.messages)
            consumers.add_metric([name], held.consumers)
            silent.add_metric([name], held.silent_s)
        yield from (leased, consumers, silent)

    def _requests(self) -> Iterator[Metric]:
        times = HistogramMetricFamily(
            "rockdove_request_seconds",
            "Time from the last byte of a request to its answer; receives include their waiting.",
            labels=["operation"],
        )
        for operation, (bounds, seconds) in self.sample.timings.items():
            times.add_metric([operation], bounds, seconds)
        errors = CounterMetricFamily(
            "rockdove_errors", "Requests answered with an error, by HTTP status.", labels=["operation", "status"]
        )
        for operation, by_status in self.sample.errors.items():
            for status, number in by_status.items():
                errors.add_metric([operation, str(status)], number)
        yield from (times, errors)

    def _service(self) -> Iterator[Metric]:
        sample = self.sample
        build = {"version": __version__, "python": platform.python_version()}
        yield InfoMetricFamily("rockdove_build", "What is running.", value=build)
        yield GaugeMetricFamily("rockdove_queues", "Queues there are.", sample.queues)
        yield GaugeMetricFamily("rockdove_connections", "Open connections.", sample.connections)
        yield GaugeMetricFamily("rockdove_long_polls", "Receives that wait for a message.", sample.long_polls)
        yield CounterMetricFamily(
            "rockdove_trace_dropped", "Events that are missing from the trace.", sample.trace_dropped
        )

    def _store(self) -> Iterator[Metric]:
        sample, effort = self.sample, self.sample.effort
        yield GaugeMetricFamily(
            "rockdove_store_trouble", "1 while the store takes no changes, or no sends.", int(sample.trouble)
        )
        yield CounterMetricFamily("rockdove_store_batches", "Transactions that the store has tried.", effort.batches)
        yield CounterMetricFamily("rockdove_store_failed_batches", "Those that failed.", effort.failed)
        yield CounterMetricFamily(
            "rockdove_store_busy_seconds", "Time that the store's writer was busy with them.", effort.busy_s
        )
        if sample.store_bytes is not None:
            yield GaugeMetricFamily(
                "rockdove_store_bytes", "What the store takes on disk, or on its servers.", sample.store_bytes
            )
