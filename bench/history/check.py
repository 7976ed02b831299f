"""Checks a history. Each check gives the violations that it finds, and none where a client cannot know."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import msgspec

from bench.history.call import Call, History, Outcome

# Seconds: faults so long before what a violation is about are told with it.
NEAR_S = 5.0
# Seconds within which a front-end that has answered a receive tells the owner so; it takes one round of its loop.
TOLD_S = 0.25


class Violation(msgspec.Struct, frozen=True):
    """``rule`` is the check's name, ``text`` says what happened."""

    rule: str
    text: str


def check(history: History) -> list[Violation]:
    """All violations, by rule."""
    record = _Record(history)
    found = []
    for rule in RULES:
        found += [Violation(rule.__name__, text) for text in rule(record)]
    return found


class _Delivery(msgspec.Struct, frozen=True):
    """One message of one receive."""

    call: Call
    body: str
    message_id: str


class _Record:
    """A history, sorted for the checks."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.by_op: defaultdict[str, list[Call]] = defaultdict(list)
        for call in history.calls:
            self.by_op[call.op].append(call)
        self.sends = {body: _together(calls) for body, calls in _by_body(self.by_op["send"]).items()}
        self.deletes = _by_body(_taken(self.by_op["delete"]))
        self.hides = _by_body(_taken(self.by_op["hide"]))
        # In which queues messages were met.
        self.seen: defaultdict[str, set[str]] = defaultdict(set)
        for call in history.calls:
            if call.op in ("receive", "drain", "lease"):
                for got in call.got:
                    self.seen[got.body].add(call.queue)
        self.deliveries: defaultdict[str, list[_Delivery]] = defaultdict(list)
        for call in sorted(self.by_op["receive"], key=lambda call: call.end_s):
            for got in call.got:
                self.deliveries[got.body].append(_Delivery(call, got.body, got.message_id))
        self.drained = Counter(got.body for call in self.by_op["drain"] for got in call.got)
        # By whom a message was given for the first time: by a receive, or else by the drain.
        self.given: dict[str, list[_Delivery]] = dict(self.deliveries)
        for call in self.by_op["drain"]:
            for got in call.got:
                if got.body not in self.deliveries:
                    self.given[got.body] = [_Delivery(call, got.body, got.message_id)]
        self.purges: defaultdict[str, list[Call]] = defaultdict(list)
        for call in self.by_op["purge"]:
            if call.outcome is not Outcome.REFUSED:
                self.purges[call.queue].append(call)
        # What a lease held that was acknowledged, or may have been.
        through = {call.queue: -1 for call in self.by_op["lease"]}
        for call in self.by_op["ack"]:
            if call.outcome is not Outcome.REFUSED:
                through[call.queue] = max(through.get(call.queue, -1), call.sequence)
        self.acked = {
            got.body for call in self.by_op["lease"] for got in call.got if call.sequence <= through[call.queue]
        }
        self.jumps = [fault for fault in history.faults if fault.jump_s]

    def may_be_purged(self, send: Call) -> bool:
        """Whether a purge may have met a message: one that ended before the send began has not."""
        return any(purge.outcome is Outcome.UNKNOWN or purge.end_s >= send.begin_s for purge in self.purges[send.queue])

    def was_short(self, begin_s: float, end_s: float) -> bool:
        """Whether the disk was full, or broken, in that time, or a process was killed."""
        return any(
            fault.kind.startswith(("full", "broken", "kill")) and fault.begin_s <= end_s and fault.end_s >= begin_s
            for fault in self.history.faults
        )

    def may_be_given_back(self, receive: Call) -> bool:
        """Whether the front-end may have died that has answered, before it told the owner that it had.

        What it had claimed is visible again at once then: docs/explanation/durability.md.
        """
        deaths = (fault for fault in self.history.faults if fault.kind == "kill_front_end")
        return any(death.begin_s <= receive.end_s + TOLD_S and death.end_s >= receive.begin_s for death in deaths)

    def hidden_until(self, call: Call) -> float:
        """Until when what a call has hidden stays so, whichever service looks, by its own clock."""
        return call.begin_s + call.timeout_s - self.history.skew_s

    def may_follow(self, first: Call, second: Call) -> bool:
        """Whether the second receive may have got a message when the first one's timeout was over."""
        return second.end_s >= self.hidden_until(first)

    def jumped(self, begin_s: float, end_s: float) -> bool:
        """Whether the service's clock was set in that time."""
        return any(fault.begin_s <= end_s and fault.end_s >= begin_s for fault in self.jumps)


def _together(calls: list[Call]) -> Call:
    """A message that was sent again: from when on it may be there, and whether it is."""
    first = min(calls, key=lambda call: call.begin_s)
    done = [call for call in calls if call.outcome is Outcome.DONE]
    unknown = [call for call in calls if call.outcome is Outcome.UNKNOWN]
    return msgspec.structs.replace((done or unknown or calls)[0], begin_s=first.begin_s)


def _by_body(calls: Iterable[Call]) -> defaultdict[str, list[Call]]:
    found: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        for body in call.bodies:
            found[body].append(call)
    return found


def _taken(calls: Iterable[Call]) -> list[Call]:
    """Without those that were refused: they have done nothing."""
    return [call for call in calls if call.outcome is not Outcome.REFUSED]


def lost(record: _Record) -> Iterator[str]:
    """What was acknowledged is there at the end, unless somebody deleted it, or tried to."""
    for body, send in record.sends.items():
        gone = body in record.deletes or body in record.acked or record.may_be_purged(send)
        if send.outcome is Outcome.DONE and not gone and not record.drained[body]:
            yield f"{body} was sent to {send.queue} and is gone"
    for call in record.by_op["publish"]:
        for body in call.bodies:
            if call.outcome is Outcome.DONE and not record.drained[body]:
                yield f"{body} was published in {call.queue} and is gone"
        there = sum(record.drained[body] > 0 for body in call.bodies)
        if 0 < there < len(call.bodies):
            yield f"of a publication in {call.queue} {there} of {len(call.bodies)} messages are there"


def refused(record: _Record) -> Iterator[str]:
    """What was refused, or never asked for, has not happened."""
    asked = {body: _together(calls) for body, calls in _by_body(record.by_op["publish"]).items()} | record.sends
    moving = record.history.renaming
    for body, queues in record.seen.items():
        for queue in queues:
            if body not in asked:
                yield f"{body} is in {queue}, and nobody has sent it"
            elif asked[body].outcome is Outcome.REFUSED:
                yield f"{body} was refused, and is in {queue}"
            elif asked[body].queue != queue and not {asked[body].queue, queue} <= moving:
                yield f"{body} was sent to {asked[body].queue}, and is in {queue}"


def _acknowledged(record: _Record) -> dict[str, float]:
    """What was surely in a lease that was acknowledged, and when that was."""
    found: dict[str, float] = {}
    for queue in {call.queue for call in record.by_op["lease"]}:
        acks = [(ack.sequence, ack.end_s) for ack in record.by_op["ack"] if _is_done(ack, queue)]
        held = [lease for lease in record.by_op["lease"] if _is_done(lease, queue)]
        acks.sort()
        # From the last lease to the first: each is over with the first acknowledgement of it, or of a later one.
        ended_s = math.inf
        for lease in sorted(held, key=lambda lease: -lease.sequence):
            while acks and acks[-1][0] >= lease.sequence:
                ended_s = min(ended_s, acks.pop()[1])
            for got in lease.got if ended_s < math.inf else ():
                found[got.body] = min(ended_s, found.get(got.body, ended_s))
    return found


def _is_done(call: Call, queue: str) -> bool:
    return (call.queue, call.outcome) == (queue, Outcome.DONE)


def back(record: _Record) -> Iterator[str]:
    """What was deleted, or acknowledged, is gone for good."""
    leased = [(got.body, call.begin_s) for call in record.by_op["lease"] for got in call.got]
    acknowledged = _acknowledged(record)
    again = {body for body, begin_s in leased if begin_s > acknowledged.get(body, begin_s)}
    for body in acknowledged:
        if body in again or record.drained[body]:
            yield f"{body} was acknowledged and came back"
    for body, deletes in record.deletes.items():
        ended = [call.end_s for call in deletes if call.outcome is Outcome.DONE]
        if not ended:
            continue
        later = [each.call for each in record.deliveries[body] if each.call.begin_s > min(ended)]
        if later or record.drained[body]:
            yield f"{body} was deleted and came back"
    for body, send in record.sends.items():
        if send.outcome is not Outcome.DONE:
            # Who knows when it was stored?
            continue
        purged = [
            purge.end_s
            for purge in record.purges[send.queue]
            if purge.outcome is Outcome.DONE and purge.begin_s > send.end_s
        ]
        late = [each.call for each in record.deliveries[body] if purged and each.call.begin_s > min(purged)]
        if late or (purged and record.drained[body]):
            yield f"{body} was purged and came back"


def twice(record: _Record) -> Iterator[str]:
    """One send is one message: also one that was sent again under its deduplication id, or published again."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for call in record.history.calls:
        if call.op in ("receive", "drain", "lease") and call.queue not in record.history.renaming:
            for got in call.got:
                ids[got.body].add(got.message_id)
    for body, found in ids.items():
        if len(found) > 1:
            yield f"{body} is {len(found)} messages"
    for body, number in record.drained.items():
        if number > 1:
            yield f"{body} was drained {number} times"


def early(record: _Record) -> Iterator[str]:
    """Nobody gets a message while it is hidden from him."""
    for call in record.by_op["receive"]:
        for body, number in Counter(got.body for got in call.got).items():
            if number > 1:
                yield f"{body} was given {number} times by one receive"
    for body, deliveries in record.deliveries.items():
        if deliveries and deliveries[0].call.queue in record.history.shared:
            continue
        for first, second in pairwise(deliveries):
            if second.call is first.call or record.may_follow(first.call, second.call):
                continue
            # Of two that overlap, the one that ended later may have been the first.
            overlap = second.call.begin_s < first.call.end_s
            if overlap and record.may_follow(second.call, first.call):
                continue
            earlier = second if overlap and second.call.begin_s < first.call.begin_s else first
            if not _was_changed(record, earlier, max(first.call.end_s, second.call.end_s)):
                yield f"{body} was received again before its timeout of {earlier.call.timeout_s:g} s was over"
        yield from _within_hides(record, body, deliveries)


def _within_hides(record: _Record, body: str, deliveries: list[_Delivery]) -> Iterator[str]:
    """What a client has hidden anew is hidden for as long as it said."""
    changes = record.hides[body] + record.deletes[body]
    for hide in record.hides[body]:
        if hide.outcome is not Outcome.DONE or not hide.timeout_s:
            continue
        until_s = record.hidden_until(hide)
        others = [call for call in changes if call is not hide and _may_come_after(call, hide)]
        for each in deliveries:
            inside = hide.end_s < each.call.begin_s and each.call.end_s < until_s
            if inside and not others and not record.jumped(hide.begin_s, each.call.end_s):
                yield f"{body} was received {until_s - each.call.end_s:.3f} s before it should be shown again"


def _may_come_after(call: Call, other: Call) -> bool:
    return call.outcome is Outcome.UNKNOWN or call.end_s > other.begin_s


def _was_changed(record: _Record, first: _Delivery, end_s: float) -> bool:
    """Whether it may have become visible by other means than its time."""
    for call in record.hides[first.body] + record.deletes[first.body]:
        # What nobody has answered may be carried out later.
        is_over = call.outcome is not Outcome.UNKNOWN and call.end_s < first.call.begin_s
        if call.begin_s <= end_s and not is_over:
            return True
    return record.jumped(first.call.begin_s, end_s) or record.may_be_given_back(first.call)


def order(record: _Record) -> Iterator[str]:
    """Messages of a group are given for the first time in the order in which they were sent, also in one answer."""
    for group, sends in _groups(record).items():
        place = {send.bodies[0]: at for at, send in enumerate(sends)}
        for call in {id(each.call): each.call for body in place for each in record.given.get(body, ())}.values():
            own = [got.body for got in call.got if got.body in place]
            for one, other in pairwise(own):
                if place[one] > place[other]:
                    yield f"{one} of group {group} was given before {other}, in one answer"
        before: tuple[float, str] | None = None
        for send in sends:
            body = send.bodies[0]
            found = record.given.get(body)
            if not found:
                continue
            first = min(found, key=lambda each: each.call.end_s).call
            if before is not None and first.end_s < before[0]:
                yield f"{body} of group {group} was given before {before[1]}"
            if send.outcome is Outcome.DONE:
                begin_s = min(each.call.begin_s for each in found)
                before = max(before or (begin_s, body), (begin_s, body))


def _groups(record: _Record) -> dict[str, list[Call]]:
    """What was sent to each group, in order. A group has one sender."""
    found: defaultdict[str, list[Call]] = defaultdict(list)
    for call in record.by_op["send"]:
        if call.group is not None and call.queue in record.history.fifo and call.outcome is not Outcome.REFUSED:
            found[f"{call.queue} {call.group}"].append(call)
    # One that was sent again counts where it was sent first.
    return {
        group: sorted({call.bodies[0]: record.sends[call.bodies[0]] for call in calls}.values(), key=_begin)
        for group, calls in found.items()
    }


def _begin(call: Call) -> float:
    return call.begin_s


def together(record: _Record) -> Iterator[str]:
    """While a message of a group is held, none behind it is given."""
    for group, sends in _groups(record).items():
        place = {send.bodies[0]: at for at, send in enumerate(sends)}
        given = sorted((each for body in place for each in record.deliveries[body]), key=lambda each: each.call.begin_s)
        for at, first in enumerate(given):
            until_s = record.hidden_until(first.call)
            for second in given[at + 1 :]:
                if second.call.begin_s >= until_s:
                    break
                behind = place[second.body] > place[first.body]
                inside = second.call is not first.call and not _may_come_before(first, second)
                is_held = second.call.end_s < until_s and not _was_changed(record, first, second.call.end_s)
                if behind and inside and is_held:
                    yield f"{second.body} of group {group} was given while {first.body} was held"


def _may_come_before(first: _Delivery, second: _Delivery) -> bool:
    """Whether the second receive, which overlaps with the first, may have been before it, and with reason.

    Whichever was first, nothing behind a message is given without it, unless somebody has deleted it.
    """
    overlap = second.call.begin_s <= first.call.end_s
    return overlap and any(got.body == first.body for got in second.call.got)


def leases(record: _Record) -> Iterator[str]:
    """A lease that is asked for again holds the same; no message is in two."""
    content: dict[tuple[str, int], list[str]] = {}
    place: dict[tuple[str, str], int] = {}
    for call in record.by_op["lease"]:
        if call.outcome is not Outcome.DONE:
            continue
        bodies = [got.body for got in call.got]
        known = content.setdefault((call.queue, call.sequence), bodies)
        if known != bodies:
            yield f"lease {call.sequence} of {call.queue} was {len(known)} messages, and then {len(bodies)} others"
        for body in bodies:
            other = place.setdefault((call.queue, body), call.sequence)
            if other != call.sequence:
                yield f"{body} of {call.queue} is in the leases {other} and {call.sequence}"


def deliveries(record: _Record) -> Iterator[str]:
    """A message goes to the dead-letter queue when it has had its deliveries.

    On a full disk it may have to wait. A delivery that meets the death of its front-end may not be counted.
    """
    for queue, most in record.history.max_receives.items():
        found: defaultdict[tuple[str, str], list[Call]] = defaultdict(list)
        for call in record.by_op["receive"]:
            if call.queue == queue:
                for got in call.got:
                    found[got.body, got.message_id].append(call)
        for (body, _), calls in found.items():
            begin_s, end_s = calls[0].begin_s, max(call.end_s for call in calls)
            if len(calls) > most and not record.was_short(begin_s, end_s):
                yield f"{body} was given {len(calls)} times by {queue}, where {most} are the most"


def counts(record: _Record) -> Iterator[str]:
    """What a queue says it holds is what is in it."""
    drained = Counter(call.queue for call in record.by_op["drain"] for _ in call.got)
    for queue, number in record.history.counts.items():
        if number != drained[queue]:
            yield f"{queue} said that it holds {number} messages, and held {drained[queue]}"


RULES: tuple[Callable[[_Record], Iterator[str]], ...] = (
    lost,
    refused,
    back,
    twice,
    early,
    order,
    together,
    leases,
    deliveries,
    counts,
)


def story(history: History, violation: Violation) -> Iterator[str]:
    """What was done with the messages that a violation names, and to the service meanwhile, in order of time."""
    names = {word.rstrip(",.:") for word in violation.text.split()}
    calls = [call for call in history.calls if names.intersection([*call.bodies, *(got.body for got in call.got)])]
    if not calls:
        return
    zero_s = min(call.begin_s for call in history.calls)
    begin_s, end_s = min(call.begin_s for call in calls), max(call.end_s for call in calls)
    lines = []
    for call in calls:
        words = [call.op, call.outcome.value, *(sorted(names.intersection(got.body for got in call.got)))]
        words += [f"for {call.timeout_s:g} s"] if call.op in ("receive", "hide") else []
        lines.append((call.begin_s, call.end_s, " ".join(words)))
    for fault in history.faults:
        if fault.begin_s <= end_s and fault.end_s >= begin_s - NEAR_S:
            lines.append(
                (fault.begin_s, fault.end_s, f"{fault.kind} {fault.jump_s:+.3f} s" if fault.jump_s else fault.kind)
            )
    for first_s, last_s, text in sorted(lines):
        yield f"  {first_s - zero_s:.3f} to {last_s - zero_s:.3f}: {text}"


def summary(history: History) -> str:
    """How much was done, in one line for each kind."""
    outcomes = Counter((call.op, call.outcome) for call in history.calls)
    faults: Counter[str] = Counter(fault.kind for fault in history.faults)
    lines = []
    for op in sorted({op for op, _ in outcomes}):
        numbers = (f"{outcomes[op, outcome]:,} {outcome.value}" for outcome in Outcome if outcomes[op, outcome])
        lines.append(f"{op}: {', '.join(numbers)}")
    lines.append(f"faults: {', '.join(f'{number} {kind}' for kind, number in sorted(faults.items())) or 'none'}")
    return "\n".join(lines)
