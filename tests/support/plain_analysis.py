"""The figures of an analysis, computed plainly from a list of events: slow, obvious, and without Spark or numpy."""

import math
from bisect import bisect_left
from collections import defaultdict
from datetime import datetime
from typing import Any, NamedTuple

Event = dict[str, Any]
ASKED = ("send", "receive", "delete", "change_visibility")


def analyse(events: list[Event]) -> dict[str, Any]:
    """What `summary.json` says of events with the columns of a trace; those that are not known are left out."""
    first, last = min(e["event_time"] for e in events), max(e["event_time"] for e in events)
    span_s = (last - first).total_seconds()
    by_queue: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_queue[event["queue"]].append(event)
    tallies = {name: _Tally(found) for name, found in by_queue.items()}
    return {
        "overall": figures(list(tallies.values()), span_s),
        "queues": {name: figures([tally], span_s) for name, tally in tallies.items()},
        "drained": {name: tally.drained for name, tally in tallies.items()},
    }


def figures(tallies: "list[_Tally]", span_s: float) -> dict[str, Any]:
    def total(name: str) -> Any:
        return sum(getattr(tally, name) for tally in tallies)

    ordered = sum(len(tally.ranks) for tally in tallies)
    wrong = sum(len(tally.ranks) - longest(tally.ranks) for tally in tallies)
    moved = sum(abs(place - rank) for tally in tallies for place, rank in enumerate(tally.ranks))
    return {
        **{name: total(name) for name in ("sent", "received", "deleted", "expired", "dead_lettered", "purged")},
        "duplicates": total("receives") - total("received"),
        "lost": total("lost"),
        "duplication_rate": share(total("receives") - total("received"), total("sent")),
        "loss_rate": share(total("lost") + total("damaged"), total("sent")),
        "out_of_order_rate": share(wrong, ordered),
        "displacement": share(moved, ordered),
        "send_rate": share(total("sent"), span_s),
        "receive_delete_rate": share(total("deleted"), span_s),
        "response_ms": percentiles([value for tally in tallies for value in tally.responses]),
        "delivery_ms": percentiles([value for tally in tallies for value in tally.deliveries]),
        "miss_ratio": share(total("misses"), total("misses") + total("hits")),
        "messages_per_hit": share(total("receives"), total("hits")),
        "utilisation": share(total("busy_s"), span_s * len(tallies)),
    }


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def percentiles(values: list[int]) -> dict[str, float | None]:
    """Nearest rank, of microseconds, in milliseconds."""
    ordered = sorted(values)
    ranks = {at: max(math.ceil(len(ordered) * at / 100) - 1, 0) for at in (50, 95, 99)}
    return {f"p{at}": ordered[rank] / 1000 if ordered else None for at, rank in ranks.items()}


def longest(values: list[int]) -> int:
    tails: list[int] = []
    for value in values:
        place = bisect_left(tails, value)
        tails[place : place + 1] = [value]
    return len(tails)


def microseconds(begin: datetime, end: datetime) -> int:
    return max(round((end - begin).total_seconds() * 1e6), 0)


class _Tally:
    """One queue."""

    def __init__(self, events: list[Event]) -> None:
        self.sent = self.received = self.receives = self.deleted = self.expired = self.dead_lettered = 0
        self.lost = self.damaged = self.purged = 0
        self.responses: list[int] = []
        self.deliveries: list[int] = []
        self._asks: set[Any] = set()
        self._moved: list[Event] = []
        self._work: list[tuple[datetime, datetime]] = []
        good = [event for event in events if 200 <= (event["status"] or 0) < 300]
        self._purges = sorted(e["event_time"] for e in good if e["op"] == "purge")
        by_message: dict[str, list[Event]] = defaultdict(list)
        for event in good:
            if event["message_id"] is not None:
                by_message[event["message_id"]].append(event)
        copies: dict[Any, list[_Fate]] = defaultdict(list)
        for name, found in by_message.items():
            known = [e for e in events if e["message_id"] == name and e["enqueued_at"] is not None]
            numbers = [(e["sender"], e["seq"]) for e in events if e["message_id"] == name and e["sender"] is not None]
            # What was sent again under the same number is one message.
            copies[numbers[0] if numbers else name].append(self._message(name, found, known))
        order = []
        for fates in copies.values():
            self.sent += any(fate.sent for fate in fates)
            self.received += any(fate.received for fate in fates)
            self.lost += any(fate.lost for fate in fates) and not any(fate.safe for fate in fates)
            self.damaged += any(fate.damaged for fate in fates) and not any(fate.whole for fate in fates)
            order += sorted((fate.order for fate in fates if fate.order), key=lambda place: (place[2], place))[:1]
        misses = [event for event in good if event["op"] == "miss"]
        client = any(e["side"] == "client" and e["op"] in ("receive", "miss") for e in events)
        self.misses = sum(event["side"] == ("client" if client else "server") for event in misses)
        self.hits = len(self._asks)
        last = max((time(e) for e in self._moved), default=None)
        empty = max((e["event_time"] for e in misses), default=None)
        self.drained = empty is not None and (last is None or empty >= last)
        self.busy_s = _joined(self._work)
        # Received at the same moment: taken as in order.
        places = sorted(order)
        self.ranks = sorted(range(len(places)), key=lambda rank: (places[rank][2], rank))

    def _message(self, name: str, events: list[Event], known: list[Event]) -> "_Fate":
        counted = []
        for op in {event["op"] for event in events}:
            of_op = [event for event in events if event["op"] == op]
            by_client = [event for event in of_op if event["side"] == "client"]
            counted += by_client or of_op
        counted.sort(key=lambda event: (time(event), ORDER.index(event["op"])))
        found = {op: [event for event in counted if event["op"] == op] for op in ORDER}
        # Sent once more, it was taken for a copy: nothing came into the queue.
        self._moved += found["send"][:1] + found["receive"]
        self.responses += [e["latency_us"] for e in counted if e["op"] in ASKED and e["latency_us"] is not None]
        self._asks |= {(e["node"], e["receiver"], e["latency_us"], time(e)) for e in found["receive"]}
        self.receives += len(found["receive"])
        self.deleted += bool(found["delete"])
        left = sorted(found["expire"] + found["dead_letter"] + found["redrive"], key=lambda e: counted.index(e))
        if left:
            self.expired += left[0]["op"] == "expire"
            self.dead_lettered += left[0]["op"] == "dead_letter"
        enqueued = [e for e in known if e["side"] == "server"] or known
        self._settle(found)
        received = found["receive"]
        # A send that was taken for a copy of an earlier one has a later time.
        first = min((e["enqueued_at"] for e in enqueued), default=None)
        entered = time(found["send"][0]) if found["send"] else first
        seen = max([at for at in (entered, *map(time, received)) if at is not None], default=None)
        stays = entered is not None and not left and not found["delete"]
        purged = stays and any(at >= seen for at in self._purges)
        self.purged += purged
        safe = bool(received or left or found["delete"] or purged)
        whole = any(event["checksum_ok"] is not False for event in received)
        return _Fate(
            sent=bool(found["send"]),
            received=bool(received),
            lost=bool(found["send"]) and not safe,
            damaged=bool(found["send"] and received) and not whole,
            whole=whole,
            safe=safe,
            order=(first, name, time(received[0])) if received and first else None,
        )

    def _settle(self, found: dict[str, list[Event]]) -> None:
        if found["receive"]:
            first = found["receive"][0]
            born = first["sent_at"] or first["enqueued_at"]
            if born is None and found["send"] and time(found["send"][0]) <= time(first):
                born = found["send"][0]["sent_at"] or found["send"][0]["enqueued_at"]
            if born is not None:
                self.deliveries.append(microseconds(born, time(first)))
        if found["delete"]:
            end = time(found["delete"][0])
            held = [time(e) for e in found["receive"] if time(e) <= end]
            self._work += [(held[-1], end)] if held else []


class _Fate(NamedTuple):
    """What became of one message, and its place in the order: when and under which id it was sent, when received."""

    sent: bool
    received: bool
    lost: bool
    damaged: bool
    whole: bool
    safe: bool
    order: tuple[datetime, str, datetime] | None


ORDER = ("send", "receive", "miss", "delete", "change_visibility", "expire", "dead_letter", "redrive", "purge")


def time(event: Event) -> datetime:
    """When it was received, for a receive; when it was answered, for the others."""
    found: datetime = event["event_time"]
    return event["dequeued_at"] or found if event["op"] == "receive" else found


def _joined(spells: list[tuple[datetime, datetime]]) -> float:
    total, until = 0.0, None
    for begin, end in sorted(spells):
        begin = begin if until is None else max(begin, until)
        total += max((end - begin).total_seconds(), 0)
        until = end if until is None else max(until, end)
    return total
