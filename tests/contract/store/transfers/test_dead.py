"""Entries that have had their deliveries, and their way to a dead-letter queue."""

import pytest

from rockdove.core.errors import StoreError
from rockdove.core.message import Entry, Extra
from rockdove.store.base import MOST_DEAD, Appended, Draft
from tests.support.store import Bench, Queue, bodies, message


def draft_of(entry: Entry, visible_us: int) -> Draft:
    return Draft(message(entry.message.text, entry.message.sent_us, extra=entry.message.extra), visible_us)


def transfer(source: Queue, ids: list[int], target: Queue, drafts: list[Draft]) -> list[Appended]:
    moved: list[Appended] = source.bench.do(
        source.bench.transfers.transfer, source.physical(), ids, target.physical(), drafts
    )
    return moved


@pytest.mark.parametrize("fifo", [False, True])
def test_dead_after_so_many_receives(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    queue.send("a", group="g" if fifo else None)
    for number in range(3):
        claimed = queue.claim(timeout_s=10, max_receives=3)
        assert [entry.receive_count for entry in claimed.entries] == [number + 1]
        assert claimed.dead == []
        bench.advance(10)
    claimed = queue.claim(timeout_s=10, max_receives=3)
    assert claimed.entries == []
    (dead,) = claimed.dead
    assert (dead.message.text, dead.receive_count) == ("a", 3)
    assert dead.visible_us == bench.now_us + 10_000_000
    # Hidden like a claimed one until it is transferred, and found again if that never happens.
    assert queue.count() == (0, 1, 0)
    assert queue.claim(max_receives=3).dead == []
    bench.advance(10)
    assert bodies(queue.claim(max_receives=3).dead) == ["a"]


@pytest.mark.parametrize("fifo", [False, True])
def test_never_dead_without_a_limit(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    queue.send("a", group="g" if fifo else None)
    for number in range(20):
        claimed = queue.claim(timeout_s=0)
        assert [entry.receive_count for entry in claimed.entries] == [number + 1]
        assert claimed.dead == []


def test_the_living_come_with_the_dead(bench: Bench, queue: Queue) -> None:
    queue.send("a", "b")
    queue.take(timeout_s=0)
    queue.send("c", "d")
    claimed = queue.claim(2, max_receives=1)
    # Nothing tells a client about the dead: an empty answer while there are living ones would be wrong.
    assert bodies(claimed.entries) == ["c", "d"]
    assert bodies(claimed.dead) == ["a", "b"]
    assert queue.count() == (0, 4, 0)


@pytest.mark.parametrize("group", [None, "g"])
def test_the_dead_take_nobodys_place(queue: Queue, group: str | None) -> None:
    queue.send("a", group=group)
    queue.take(timeout_s=0)
    queue.send("b", "c", group=group)
    claimed = queue.claim(2, timeout_s=0, max_receives=1)
    assert (bodies(claimed.dead), bodies(claimed.entries)) == (["a"], ["b", "c"])


def test_many_dead_before_the_living(bench: Bench, queue: Queue) -> None:
    queue.send(*(str(number) for number in range(300)))
    assert len(queue.take(300, timeout_s=0)) == 300
    queue.send("living")
    got: list[str] = []
    dead: list[str] = []
    for _ in range(301):
        claimed = queue.claim(1, max_receives=1)
        got += bodies(claimed.entries)
        dead += bodies(claimed.dead)
        assert claimed.entries or claimed.dead or got
        if not (claimed.entries or claimed.dead):
            break
    assert got == ["living"]
    assert sorted(dead, key=int) == [str(number) for number in range(300)]


@pytest.mark.parametrize("kind", ["plain", "fair", "fifo"])
def test_a_claim_stops_at_many_dead(bench: Bench, kind: str) -> None:
    queue = bench.queue(kind == "fifo")
    for number in range(4 * MOST_DEAD):
        queue.send(str(number), group=None if kind == "plain" else f"g{number}")
    assert len(queue.take(4 * MOST_DEAD, timeout_s=5)) == 4 * MOST_DEAD
    bench.advance(5)
    found: list[str] = []
    while dead := queue.claim(10, max_receives=1).dead:
        assert len(dead) <= MOST_DEAD + 10
        found += bodies(dead)
    assert sorted(found, key=int) == [str(number) for number in range(4 * MOST_DEAD)]


def test_many_dead_before_the_living_with_groups(bench: Bench, queue: Queue) -> None:
    for number in range(50):
        queue.send(str(number), group=f"g{number % 7}")
    queue.take(100, timeout_s=0)
    queue.send("living", group="g1")
    assert bodies(queue.claim(1, max_receives=1).entries) == ["living"]


def test_with_groups_on_a_standard_queue(bench: Bench, queue: Queue) -> None:
    queue.send("a", group="g")
    queue.send("b", group="h")
    queue.take(timeout_s=0)
    queue.send("c", group="g")
    claimed = queue.claim(max_receives=1)
    assert bodies(claimed.entries) == ["c"]
    assert bodies(claimed.dead) == ["a", "b"]


def test_a_dead_fifo_message_holds_its_group_back(bench: Bench, fifo: Queue) -> None:
    fifo.send("a1", group="a")
    fifo.take(1, timeout_s=0)
    fifo.send("a2", "a3", group="a")
    fifo.send("b1", "b2", group="b")
    claimed = fifo.claim(max_receives=1)
    assert bodies(claimed.dead) == ["a1"]
    assert bodies(claimed.entries) == ["b1", "b2"]
    assert fifo.claim(max_receives=1).entries == []
    assert fifo.remove(claimed.dead[0].id)
    assert bodies(fifo.claim(max_receives=1).entries) == ["a2", "a3"]


def test_a_dead_fifo_message_in_the_middle(bench: Bench, fifo: Queue) -> None:
    """The first was given back unread, the second has had its delivery."""
    fifo.send("a1", "a2", "a3", group="a")
    a1, a2, a3 = fifo.take(timeout_s=10)
    fifo.release(a1, a3)
    bench.advance(10)
    claimed = fifo.claim(max_receives=1)
    assert bodies(claimed.entries) == ["a1"]
    assert "a3" not in bodies(claimed.entries)
    # Whether the dead one is already told or only once it is first: it is never delivered, nor passed.
    assert fifo.remove_held(claimed.entries[0])
    dead = claimed.dead or fifo.claim(max_receives=1).dead
    assert bodies(dead) == ["a2"]
    assert fifo.claim(max_receives=1).entries == []
    assert fifo.remove(a2.id)
    assert bodies(fifo.claim(max_receives=1).entries) == ["a3"]


@pytest.mark.parametrize("target_fifo", [False, True])
@pytest.mark.parametrize("source_fifo", [False, True])
def test_transfer(bench: Bench, source_fifo: bool, target_fifo: bool) -> None:
    source, target = bench.queue(source_fifo), bench.queue(target_fifo)
    source.send("a", "b", "c", group="g")
    claimed = source.take(2)
    drafts = [draft_of(entry, bench.now_us) for entry in claimed]
    moved = transfer(source, [entry.id for entry in claimed], target, drafts)
    assert source.count() == (1, 0, 0)
    assert target.count() == (2, 0, 0)
    got = target.take()
    assert [entry.id for entry in got] == [appended.id for appended in moved]
    assert [entry.message for entry in got] == [entry.message for entry in claimed]
    assert [entry.receive_count for entry in got] == [1, 1]
    assert source.read() == ["c"]


def test_transfer_keeps_the_message_id_it_is_given(bench: Bench) -> None:
    source, target = bench.queue(), bench.queue()
    (id,) = source.send("a")
    draft = target.draft("a", extra=Extra(message_id="first name"))
    assert [appended.message_id for appended in transfer(source, [id], target, [draft])] == ["first name"]


@pytest.mark.parametrize("fifo", [False, True])
def test_transfer_without_what_is_gone(bench: Bench, fifo: bool) -> None:
    source, target = bench.queue(fifo), bench.queue(fifo)
    ids = source.send("a", "b", "c", group="g")
    assert source.remove(ids[1])
    moved = transfer(source, ids, target, [target.draft(body, group="g") for body in "abc"])
    assert len(moved) == 2
    assert bodies(target.peek()) == ["a", "c"]
    assert transfer(source, ids, target, [target.draft(body, group="g") for body in "abc"]) == []
    assert target.count() == (2, 0, 0)


@pytest.mark.parametrize("fifo", [False, True])
def test_transfer_of_nothing(bench: Bench, fifo: bool) -> None:
    source, target = bench.queue(fifo), bench.queue(fifo)
    assert transfer(source, [], target, []) == []
    assert target.count() == (0, 0, 0)


def test_transfer_in_any_state(bench: Bench) -> None:
    source, target = bench.queue(), bench.queue()
    (visible,) = source.send("visible")
    (delayed,) = source.send("delayed", delay_s=100)
    moved = transfer(source, [visible, delayed], target, [target.draft("visible"), target.draft("delayed", delay_s=5)])
    assert len(moved) == 2
    assert source.count() == (0, 0, 0)
    assert target.count() == (1, 0, 1)


def test_transfer_frees_the_group(bench: Bench) -> None:
    source, target = bench.queue(fifo=True), bench.queue(fifo=True)
    source.send("a", "b", group="g")
    (a,) = source.take(1)
    assert source.read() == []
    transfer(source, [a.id], target, [draft_of(a, bench.now_us)])
    assert source.read() == ["b"]
    assert target.read() == ["a"]


def test_transfer_of_groups_to_a_queue_that_had_none(bench: Bench) -> None:
    source, target = bench.queue(), bench.queue()
    target.send("plain")
    (id,) = source.send("grouped", group="g")
    transfer(source, [id], target, [target.draft("grouped", group="g")])
    assert target.read() == ["plain", "grouped"]
    assert target.count() == (0, 2, 0)


def test_transfer_to_a_queue_that_is_gone_loses_nothing(bench: Bench) -> None:
    source, target = bench.queue(), bench.queue()
    (id,) = source.send("a")
    gone, draft = target.physical(), target.draft("a")
    target.drop()
    with pytest.raises(StoreError):
        bench.do(bench.transfers.transfer, source.physical(), [id], gone, [draft])
    assert source.count() == (1, 0, 0)
    assert source.read() == ["a"]


def test_transfer_survives(durable: Bench) -> None:
    source, target = durable.queue(), durable.queue(fifo=True)
    ids = source.send("a", "b")
    transfer(source, ids[:1], target, [target.draft("a", group="g")])
    durable.crash()
    assert source.read() == ["b"]
    assert target.read() == ["a"]
