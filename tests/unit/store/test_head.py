"""The cached head against a plain list of all entries: whatever happens while a fetch is under way, nothing is lost."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rockdove.core.message import Attribute, Entry, Extra, Message
from rockdove.store.common import head as module
from rockdove.store.common.head import START, Fetch, Head

MESSAGE = Message(0, b"x" * 10, "")


class HeadMachine(RuleBasedStateMachine):
    """``disk`` is the truth. A fetch sees it as it was at some moment between its beginning and its end."""

    def __init__(self) -> None:
        super().__init__()
        self.patched = {name: getattr(module, name) for name in ("MOST", "KEPT", "LOW")}
        module.MOST, module.KEPT, module.LOW = 8, 4, 2
        self.head = Head(START)
        self.disk: dict[int, Entry] = {}
        self.now = 0
        self.next_id = 0
        self.fetch: Fetch | None = None
        self.seen: list[Entry] | None = None

    def teardown(self) -> None:
        for name, value in self.patched.items():
            setattr(module, name, value)

    @rule(delay=st.integers(0, 20), number=st.integers(1, 6))
    def append(self, delay: int, number: int) -> None:
        for _ in range(number):
            entry = Entry(self.next_id, self.now + delay, MESSAGE)
            self.next_id += 1
            self.disk[entry.id] = entry
            self.head.put_new([entry])

    @rule(by=st.integers(0, 10))
    def time_passes(self, by: int) -> None:
        self.now += by

    @rule(limit=st.integers(1, 4), timeout=st.integers(0, 15), spread=st.sampled_from([1, 1, 3, 0]))
    def claim(self, limit: int, timeout: int, spread: int) -> None:
        taken = self.head.take(self.now, limit, spread, Random(1))
        order = sorted((entry.visible_us, entry.id) for entry in self.disk.values() if entry.visible_us <= self.now)
        keys = [(entry.visible_us, entry.id) for entry in taken]
        assert all(self.disk[entry.id].visible_us == entry.visible_us for entry in taken)
        assert keys == sorted(keys)
        if spread == 1:
            assert keys == order[: len(keys)]
        elif spread:
            assert set(keys) <= set(order[: limit + spread - 1])
        if self.head.bound is None:
            assert len(keys) == min(limit, len(order))
        for entry in taken:
            moved = Entry(entry.id, self.now + timeout, MESSAGE, entry.receive_count + 1)
            self.disk[entry.id] = moved
            self.head.put(moved)

    @precondition(lambda self: self.disk)
    @rule(data=st.data(), t=st.integers(0, 30))
    def move(self, data: st.DataObject, t: int) -> None:
        id = data.draw(st.sampled_from(sorted(self.disk)))
        self.disk[id] = Entry(id, self.now + t, MESSAGE, 1)
        self.head.put(self.disk[id])

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.disk)))
        del self.disk[id]
        self.head.discard(id)

    @rule()
    def abandon(self) -> None:
        self.head.abandon()

    @precondition(lambda self: self.fetch is None and self.head.bound is not None and not self.head.fetching)
    @rule()
    def fetch_begins(self) -> None:
        self.fetch, self.seen = self.head.fetch(), None

    @precondition(lambda self: self.fetch is not None and self.seen is None)
    @rule()
    def fetch_reads(self) -> None:
        assert self.fetch is not None
        rows = sorted(
            (entry for entry in self.disk.values() if (entry.visible_us, entry.id) >= self.fetch.start),
            key=lambda entry: (entry.visible_us, entry.id),
        )
        self.seen = rows[: module.KEPT + 1]

    @precondition(lambda self: self.seen is not None)
    @rule()
    def fetch_ends(self) -> None:
        assert self.seen is not None
        assert self.fetch is not None
        more = len(self.seen) > module.KEPT
        bound = (self.seen[-1].visible_us, self.seen[-1].id) if more else None
        self.head.fetched(self.fetch, self.seen[: module.KEPT], bound)
        self.fetch = self.seen = None

    @invariant()
    def everything_before_the_bound_is_cached(self) -> None:
        bound = self.head.bound
        for entry in self.disk.values():
            before = bound is None or (entry.visible_us, entry.id) < bound
            cached = self.head.get(entry.id)
            assert (cached is not None) == before
            assert cached is None or cached.visible_us == entry.visible_us

    @invariant()
    def nothing_else_is_cached(self) -> None:
        assert all(self.head.get(id) is None for id in range(self.next_id) if id not in self.disk)
        assert self.head.bytes == 10 * sum(self.head.get(id) is not None for id in self.disk)

    @invariant()
    def the_next_time_is_known(self) -> None:
        first = min((entry.visible_us for entry in self.disk.values()), default=None)
        known = self.head.next_us()
        if first is None:
            assert known is None or self.head.bound is not None
        else:
            assert known is not None
            assert known <= first


TestHead = HeadMachine.TestCase
TestHead.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("put", [Head.put, lambda head, entry: head.put_new([entry])])
@pytest.mark.parametrize("bound", [None, (15, 0)])
def test_what_came_back_before_the_bound_during_a_fetch_is_its_newest(
    put: Callable[[Head, Entry], None], bound: tuple[int, int] | None
) -> None:
    head = Head((10, 0))
    fetch = head.fetch()
    behind = Entry(1, 20, MESSAGE)
    head.put(behind)
    put(head, Entry(1, 5, MESSAGE, 1))
    head.fetched(fetch, [] if bound else [behind], bound)
    now = head.get(1)
    assert now is not None
    assert now.visible_us == 5


def test_a_cut_head_keeps_the_first_entries() -> None:
    head = Head(None)
    for id in range(module.MOST + 1):
        head.put_new([Entry(id, 1_000_000 - id, MESSAGE)])
    assert head.bound == (1_000_000 - (module.MOST - module.KEPT), module.MOST - module.KEPT)
    assert head.get(module.MOST) is not None
    assert head.get(0) is None


def test_large_bodies_cut_a_head_too() -> None:
    large = Message(0, b"x" * 1_000_000, "")
    head = Head(None)
    for id in range(8):
        head.put_new([Entry(id, id, large)])
    assert head.bytes <= module.MOST_BYTES
    assert head.get(0) is not None


def test_behind_an_entry_that_stays_the_heap_does_not_grow() -> None:
    head = Head(None)
    # Held for long, and first of all in the heap: nothing behind it is ever looked at.
    head.put_new([Entry(0, 1, MESSAGE)])
    for id in range(1, 20_000):
        head.put_new([Entry(id, 2 + id, MESSAGE)])
        head.discard(id)
    assert len(head._heap) < 1_000
    assert [entry.id for entry in head.take(30_000, 2, 1, Random(1))] == [0]


def test_all_that_a_message_has_counts() -> None:
    head = Head(None)
    extra = Extra(attributes={"a": Attribute("String", "x" * 1024 * 1024)})
    for id in range(1, 201):
        head.put(Entry(id, id, Message(0, b"x", "", extra)))
    assert 0 < len(head.take(10**6, 200, 1, Random(1))) <= module.MOST_BYTES / 1024 / 1024
