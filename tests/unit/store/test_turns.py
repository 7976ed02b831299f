"""Claims in turns: what they bring together is bounded, and no queue holds up the others."""

from functools import cache

import pytest

from rockdove.core.message import Attribute, Entry, Extra
from rockdove.store.base import Claimed, Want
from rockdove.store.common import turns
from rockdove.store.common.turns import (
    LEAST_BYTES,
    MOST_BYTES,
    MOST_CLAIMS,
    UNKNOWN_BYTES,
    ClaimTurns,
    claimed_bytes,
    within,
)
from rockdove.store.remote.asked import ClaimEntries
from tests.support.store import message

AT_FIRST = MOST_BYTES // UNKNOWN_BYTES
LARGE_BYTES = 250 * 1024


@cache
def claimed(size_bytes: int) -> Claimed:
    return Claimed([Entry(1, 0, message("x" * size_bytes, 0))] if size_bytes else [], [])


def test_all_that_a_message_has_counts() -> None:
    extra = Extra(attributes={"a": Attribute("String", "x" * 5_000)}, trace_header=Attribute("String", "y" * 500))
    many = Claimed([Entry(1, 0, message("body", 0, extra=extra))], [Entry(2, 0, message("body", 0, extra=extra))])
    assert 2 * 5_504 < claimed_bytes(many) < 2 * 5_704


class Desk:
    """Begins claims, and lets them have their outcomes."""

    def __init__(self) -> None:
        self.begun: list[tuple[ClaimEntries, int]] = []
        self.turns: ClaimTurns[ClaimEntries] = ClaimTurns(lambda verb, size: self.begun.append((verb, size)))

    def ask(self, number: int, physical: int = 1) -> None:
        for _ in range(number):
            self.turns.ask(ClaimEntries(0, physical, Want(1, 0)))

    def land(self, size_bytes: int) -> None:
        """All that are under way, and none of those that begin then."""
        begun, self.begun = self.begun, []
        for verb, size in begun:
            self.turns.landed(verb.physical, size, claimed(size_bytes))

    @property
    def queues(self) -> list[int]:
        return [verb.physical for verb, _ in self.begun]


def test_what_a_queue_brings_decides_how_many_begin() -> None:
    desk = Desk()
    desk.ask(1_000)
    assert len(desk.begun) == AT_FIRST
    desk.land(LARGE_BYTES)
    assert len(desk.begun) <= MOST_BYTES // LARGE_BYTES + 1
    while desk.begun:
        desk.land(LARGE_BYTES)
    # Small ones make room again.
    desk.ask(2_000)
    while desk.begun:
        desk.land(100)
    desk.ask(1_000)
    assert len(desk.begun) == MOST_CLAIMS


def test_to_find_nothing_tells_little() -> None:
    desk = Desk()
    for _ in range(1_000):
        desk.ask(1)
        desk.land(0)
    desk.ask(1_000)
    assert len(desk.begun) == MOST_BYTES // LEAST_BYTES


def test_what_a_claim_may_bring_is_bounded_whatever_was_brought_before() -> None:
    assert within(Want(10, 0), 100, is_alone=False).room_bytes == LEAST_BYTES
    assert within(Want(10, 0), MOST_BYTES, is_alone=False).room_bytes == MOST_BYTES
    assert within(Want(10, 0, room_bytes=7), MOST_BYTES, is_alone=False).room_bytes == 7
    # One message is always given, however large; and to one who is alone as many as he wants.
    assert within(Want(1, 0), 100, is_alone=False).room_bytes == 0
    assert within(Want(10, 0), 100, is_alone=True).room_bytes == 0


def test_a_claim_that_had_no_room_is_followed_by_larger_ones() -> None:
    desk = Desk()
    sizes = []
    desk.ask(1)
    desk.land(1_000)
    for _ in range(8):
        desk.ask(1)
        (_, size) = desk.begun[0]
        sizes.append(size)
        desk.land(max(size, LEAST_BYTES))
    assert sizes == sorted(sizes)
    assert MOST_BYTES // 2 < sizes[-1] < MOST_BYTES


def test_queues_take_turns() -> None:
    desk = Desk()
    for physical in (1, 2):
        desk.ask(1, physical)
        desk.land(LARGE_BYTES)
    desk.ask(1_000, physical=1)
    desk.ask(3, physical=2)
    desk.land(LARGE_BYTES)
    assert desk.queues[:4] == [1, 2, 1, 2]


def test_one_that_is_larger_than_all_room_begins_alone() -> None:
    desk = Desk()
    desk.ask(1)
    desk.land(2 * MOST_BYTES)
    desk.ask(2)
    assert len(desk.begun) == 1
    desk.land(2 * MOST_BYTES)
    assert len(desk.begun) == 1


def test_outcomes_at_once_do_not_pile_up() -> None:
    """As from a queue that is gone: thousands that wait have their outcomes while they begin."""
    begun: list[int] = []

    def begin(verb: ClaimEntries, size: int) -> None:
        begun.append(size)
        if len(begun) > 1:
            made.landed(verb.physical, size, None)

    made = ClaimTurns(begin)
    for _ in range(5_000):
        made.ask(ClaimEntries(0, 1, Want(1, 0)))
    assert len(begun) == 1
    made.landed(1, begun[0], None)
    assert len(begun) == 5_000


def test_queues_that_nobody_waits_on_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOST_KNOWN", 100)
    desk = Desk()
    desk.ask(AT_FIRST + 1, physical=0)
    for number in range(1, 300):
        desk.ask(1, physical=number)
    landed = 0
    while desk.begun:
        landed += len(desk.begun)
        desk.land(10)
    assert landed == AT_FIRST + 300
    for number in range(300, 500):
        desk.ask(1, physical=number)
        desk.land(10)
    assert len(desk.turns._lines) <= 100
