"""What one process has counted for the metrics, so that the figures of several can be added."""

from collections import Counter

import msgspec
from msgspec import Struct, field

from rockdove.broker.directory import Directory
from rockdove.server.timing import Timing
from rockdove.trace import Recorder

# What is counted, in the order of `rockdove.broker.event.Events.numbers`.
EVENTS = ("sent", "received", "empty", "deleted", "expired", "dead-lettered")
# Of the queues in which nothing has happened, of which there may be very many.
NOTHING: Counter[str] = Counter()


class Figures(Struct):
    """Counted up since the process began.

    events: by the queue's uid, in the order of `EVENTS`.
    deliveries: by the queue's uid; see `rockdove.broker.event.Events`.
    timings: by operation: requests by how long they took, and the seconds of all.
    errors: by operation and HTTP status.
    """

    events: dict[str, list[int]] = field(default_factory=dict)
    timings: dict[str, tuple[list[int], float]] = field(default_factory=dict)
    errors: dict[str, dict[int, int]] = field(default_factory=dict)
    trace_dropped: int = 0
    deliveries: dict[str, list[int]] = field(default_factory=dict)

    def add(self, other: "Figures", sign: int = 1) -> None:
        _add(self.events, other.events, sign)
        _add(self.deliveries, other.deliveries, sign)
        for name, (counts, seconds) in other.timings.items():
            known, so_far = self.timings.get(name, ([0] * len(counts), 0.0))
            self.timings[name] = ([a + sign * b for a, b in zip(known, counts, strict=True)], so_far + sign * seconds)
        for operation, by_status in other.errors.items():
            total = Counter(self.errors.get(operation, {}))
            for status, number in by_status.items():
                total[status] += sign * number
            self.errors[operation] = dict(total)
        self.trace_dropped += sign * other.trace_dropped

    def events_of(self, uid: str) -> Counter[str]:
        """All of them; none where nothing has happened."""
        numbers = self.events.get(uid)
        return NOTHING if numbers is None else Counter(dict(zip(EVENTS, numbers, strict=True)))


def _add(total: dict[str, list[int]], other: dict[str, list[int]], sign: int) -> None:
    for uid, numbers in other.items():
        before = total.get(uid, [0] * len(numbers))
        total[uid] = [a + sign * b for a, b in zip(before, numbers, strict=True)]


def counted(
    directory: Directory,
    timings: dict[str, Timing],
    errors: Counter[tuple[str, int]],
    recorder: Recorder | None,
) -> Figures:
    """What this process has counted."""
    figures = Figures(directory.events(), trace_dropped=0 if recorder is None else recorder.dropped)
    figures.deliveries = directory.deliveries()
    figures.timings = {
        name: (list(timing.counts), timing.seconds) for name, timing in timings.items() if any(timing.counts)
    }
    for (operation, status), number in errors.items():
        figures.errors.setdefault(operation, {})[status] = number
    return figures


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Figures).decode
