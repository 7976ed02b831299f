"""From what the service and the workers tell to what a rule decides by."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from rockdove.capacity.scaling.measured import Measured, Member, Rates
from rockdove.capacity.scaling.trend import Trend
from rockdove.elastic.provision.base import Seen

# What was learned of the work counts half as much after so many messages more.
HALF = 500.0


class Part(Struct, frozen=True):
    """A physical queue, as the service tells of it. ``load``: those that can be received."""

    number: int
    state: str
    weight: float
    reachable: bool
    load: int
    in_flight: int
    delayed: int

    @property
    def leaves(self) -> bool:
        return self.state == "leaving"

    @property
    def held(self) -> int:
        return self.load + self.in_flight + self.delayed


# What a watch tells of this moment, with seconds of work of a message; None: nothing.
Watched = Callable[[float], Rates | None]


class Measure:
    """Round by round. Work that nobody tells of is not known.

    ``known``: from a calibration. What is ``watched`` goes before what the service and the workers tell. Of both, the
    work is that of a message, of which a worker has ``concurrency`` at a time.
    """

    def __init__(self, concurrency: int, known: Rates | None = None, watched: Watched = lambda now_s: None) -> None:
        self._concurrency = concurrency
        self._known = known or Rates()
        self._watched = watched
        # Whether the last round went by a watch.
        self.is_watched = False
        self._trend = Trend()
        self._before: Mapping[int, tuple[str, int]] = {}
        self._held: int | None = None
        self._at_s = 0.0
        self._tried = self._failed = self._busy_s = 0.0
        self._last: Mapping[int, tuple[str, int, int, float]] = {}

    def look(
        self,
        now_s: float,
        period_s: float,
        parts: Sequence[Part],
        joined: frozenset[int],
        seen: Sequence[Seen],
        start_s: float,
    ) -> Measured:
        """``joined``: physical queues that take messages, or did."""
        consumed = self._consumed(seen)
        self._count(now_s, parts, consumed, all(each.done is not None for each in seen))
        ready = {each.number for each in seen if each.is_ready and not each.is_draining}
        whole = sum(part.weight for part in parts if part.number in joined) or 1.0
        members = tuple(
            Member(
                part.number,
                float(part.load),
                float(part.in_flight + part.delayed),
                float(consumed.get(part.number, 0)),
                part.weight / whole,
                part.reachable and part.state == "up" and part.number in ready,
            )
            for part in parts
            if part.number in joined
        )
        staying = [part for part in parts if not part.leaves]
        starting = sum(part.number not in joined for part in staying)
        return Measured(now_s, period_s, members, starting, self._rates(now_s, start_s))

    def _consumed(self, seen: Sequence[Seen]) -> dict[int, int]:
        """What each has done since the last round; one that was started again has done all that it tells."""
        consumed = {}
        last = {}
        for each in seen:
            if each.done is None:
                continue
            life, done, failed, busy_s = self._last.get(each.number, (each.life, 0, 0, 0.0))
            if life != each.life:
                done, failed, busy_s = 0, 0, 0.0
            consumed[each.number] = each.done - done
            last[each.number] = (each.life, each.done, each.failed, each.busy_s)
            self._learn(each.done - done, each.failed - failed, each.busy_s - busy_s)
        self._last = last
        return consumed

    def _learn(self, done: int, failed: int, busy_s: float) -> None:
        kept = 0.5 ** ((done + failed) / HALF)
        self._tried = self._tried * kept + done + failed
        self._failed = self._failed * kept + failed
        self._busy_s = self._busy_s * kept + busy_s

    def _count(self, now_s: float, parts: Sequence[Part], consumed: Mapping[int, int], all_tell: bool) -> None:
        """What came is what is there more than before, and what was done."""
        if any(not part.reachable for part in parts):
            # Nobody knows what they hold.
            self._held = None
            return
        held = sum(part.held for part in parts)
        if self._held is not None and all_tell:
            came = held - self._held + sum(consumed.values())
            self._trend.count(self._at_s, now_s, float(max(came, 0)))
        self._held, self._at_s = held, now_s

    def _rates(self, now_s: float, start_s: float) -> Rates:
        found = self._watched(now_s)
        self.is_watched = found is not None
        watched = found or Rates()
        arrival, growth = watched.arrival, watched.growth
        if arrival is None:
            arrival, growth = self._trend.at(now_s)
        if arrival is None:
            arrival, growth = self._known.arrival, self._known.growth
        work = next((each for each in (watched, self._known) if each.service_s is not None), None)
        service_s, failure = None, 0.0
        if work is not None and work.service_s is not None:
            service_s, failure = work.service_s, work.failure
        elif self._tried >= 1 and self._busy_s > 0:
            service_s, failure = self._busy_s / self._tried, self._failed / self._tried
        if service_s is not None:
            service_s /= self._concurrency
        # All may have failed, and none been done.
        return Rates(arrival, growth, service_s, min(failure, 0.99), start_s)
