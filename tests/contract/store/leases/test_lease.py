"""Leases: made once, given again for ever, ended by their consumer only."""

import asyncio
from collections import Counter
from functools import partial

import pytest

from rockdove.core.lease import LEASED_US, Holder, Holding, Lease, LeaseName
from rockdove.core.message import Extra
from rockdove.store.base.lease import Leased, Outcome
from tests.support.store import Bench, Queue, bodies, call

KINDS = pytest.mark.parametrize("kind", ["plain", "grouped", "fifo"])


def make(bench: Bench, kind: str, physical: int = 1) -> Queue:
    queue = bench.queue(fifo=kind == "fifo", physical=physical)
    if kind == "grouped":
        # From its first message with a group on, a queue is one of groups.
        queue.send("first", group="g")
        queue.remove(queue.take()[0].id)
    return queue


def fill(queue: Queue, kind: str, *texts: str) -> None:
    queue.send(*texts, group=None if kind == "plain" else "a")


@KINDS
def test_asked_again_it_gives_the_same(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, *map(str, range(10)))
    first = queue.lease(5, limit=4)
    assert (first.outcome, bodies(first.entries)) == (Outcome.MADE, ["0", "1", "2", "3"])
    assert {(entry.receive_count, entry.visible_us) for entry in first.entries} == {(1, LEASED_US)}
    bench.advance(100_000)
    again = queue.lease(5, limit=9)
    assert again.outcome is Outcome.AGAIN
    assert (again.entries, again.made_us) == (first.entries, first.made_us)
    assert queue.count() == (6, 4, 0)


@KINDS
def test_it_survives(durable: Bench, kind: str) -> None:
    queue = make(durable, kind)
    fill(queue, kind, *map(str, range(10)))
    first, empty = queue.lease(5, limit=4), queue.lease(1, limit=4, shard=1, retention_s=-1)
    assert (bodies(first.entries), empty.entries) == (["0", "1", "2", "3"], [])
    for again in (durable.crash, durable.reopen):
        again()
        assert queue.lease(5, limit=9).entries == first.entries
        assert queue.lease(1, shard=1).outcome is Outcome.AGAIN
        assert queue.count()[1] == 4


@KINDS
def test_an_empty_one_stays_empty(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    assert queue.lease(0).outcome is Outcome.MADE
    fill(queue, kind, "late")
    assert queue.leased(0) == []
    assert queue.leased(1) == ["late"]


def test_without_messages_it_is_made_only_if_told(queue: Queue) -> None:
    assert queue.lease(0, even_empty=False).outcome is Outcome.NOTHING
    queue.send("late")
    assert queue.leased(0, even_empty=False) == ["late"]
    assert queue.lease(1, limit=0).outcome is Outcome.NOTHING


@KINDS
def test_an_acknowledgement_deletes_and_ends(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, *map(str, range(4)))
    first = queue.lease(0, limit=2)
    second = queue.lease(1, limit=1) if kind != "fifo" else queue.lease(1)
    ids = sorted(entry.id for entry in first.entries + second.entries)
    assert queue.ack(1) == (2, len(ids), ids)
    assert queue.ack(1) == (0, 0, [])
    assert queue.count() == (4 - len(ids), 0, 0)
    for sequence in (0, 1):
        assert queue.lease(sequence).outcome is Outcome.ENDED
        assert queue.lease(sequence, shard=7).outcome is Outcome.ENDED, "of all shards"
    assert queue.leased(2) == ["0", "1", "2", "3"][len(ids) :]


def test_one_shard_may_be_acknowledged(queue: Queue) -> None:
    queue.send("a", "b", "c", "d")
    assert [queue.leased(3, limit=1, shard=shard) for shard in (0, 1)] == [["a"], ["b"]]
    assert queue.leased(4, limit=1) == ["c"]
    assert queue.ack(3, shard=0)[:2] == (1, 1)
    assert queue.lease(3, shard=0).outcome is Outcome.ENDED
    assert queue.leased(3, shard=1) == ["b"]
    assert queue.leased(4) == ["c"]
    assert queue.ack(shard=1)[:2] == (1, 1)
    assert queue.lease(3, shard=1).outcome is Outcome.ENDED
    assert queue.leased(4, shard=1) == ["d"]


def test_everything_may_be_acknowledged(queue: Queue) -> None:
    queue.send("a", "b", "c")
    assert [queue.leased(9, limit=1, shard=shard) for shard in (0, 1)] == [["a"], ["b"]]
    assert queue.ack()[:2] == (2, 2)
    assert queue.ack() == (0, 0, [])
    assert queue.lease(9, shard=5).outcome is Outcome.ENDED
    assert queue.leased(10) == ["c"]


def test_what_was_never_asked_for_can_be_acknowledged(queue: Queue) -> None:
    queue.lease(0)
    queue.send("a")
    assert queue.ack(7)[1:] == (0, [])
    assert queue.lease(7).outcome is Outcome.ENDED
    assert queue.leased(8) == ["a"]


def test_nothing_is_remembered_of_a_consumer_that_never_leased(queue: Queue) -> None:
    queue.send("a")
    assert queue.ack(7) == queue.ack(8, shard=3) == (0, 0, [])
    assert queue.lease(7).outcome is Outcome.MADE


@KINDS
def test_what_is_released_is_visible(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, *map(str, range(4)))
    queue.lease(2, limit=3)
    bench.advance(1)
    assert queue.give_back() == (1, 3)
    assert queue.give_back() == (0, 0)
    assert queue.count() == (4, 0, 0)
    assert queue.lease(2).outcome is Outcome.ENDED
    assert queue.lease(1, shard=9).outcome is Outcome.ENDED
    entries = queue.take()
    assert bodies(entries) == (["3", "0", "1", "2"] if kind != "fifo" else ["0", "1", "2", "3"])
    assert {entry.message.text: entry.receive_count for entry in entries} == {"0": 2, "1": 2, "2": 2, "3": 1}


def test_a_forgotten_consumer_may_begin_again(queue: Queue) -> None:
    queue.send("a", "b")
    queue.lease(0, limit=1)
    assert queue.ack(0)[1] == 1
    assert queue.give_back(forget=True) == (0, 0)
    assert queue.leased(0) == ["b"]


def test_consumers_do_not_meet(bench: Bench, queue: Queue) -> None:
    other = bench.queue()
    queue.send("a", "b")
    other.send("other")
    assert queue.leased(0, limit=1, consumer="one") == ["a"]
    assert queue.leased(0, limit=1, consumer="two") == ["b"]
    assert other.leased(0, consumer="one") == ["other"]
    assert queue.ack(0, consumer="one")[1] == 1
    assert queue.leased(0, consumer="two") == ["b"]
    assert other.leased(0, consumer="one") == ["other"]


@KINDS
def test_neither_time_nor_retention_ends_it(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, "old", "older")
    queue.lease(0)
    bench.advance(1_000)
    fill(queue, kind, "late")
    bench.advance(1_000)
    assert queue.expire(1_500) == 0
    assert queue.expire(100) == 1
    assert queue.leased(0) == ["old", "older"]
    assert queue.take() == []
    assert queue.oldest() == 2_000
    queue.give_back()
    assert queue.expire(1_500) == 2


@KINDS
def test_an_older_handle_does_not_reach_it(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, "a")
    [held] = queue.take(timeout_s=1)
    bench.advance(2)
    assert queue.leased(0) == ["a"]
    count = held.receive_count if kind == "fifo" else None
    assert not queue.move(held, 0, count)
    queue.release(held)
    assert queue.take() == []
    assert queue.leased(0) == ["a"]
    assert queue.count() == (0, 1, 0)


@KINDS
def test_a_delete_wins(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, "a", "b", "c")
    entries = queue.lease(0).entries
    assert queue.remove(entries[1].id)
    assert queue.leased(0) == ["a", "c"]
    assert queue.lease(0).number == 3
    assert queue.count() == (0, 2, 0)
    assert queue.ack(0)[:2] == (1, 2)
    assert queue.count() == (0, 0, 0)


@KINDS
def test_a_purge_wins(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, "a", "b")
    queue.lease(0)
    queue.purge()
    assert queue.lease(0).outcome is Outcome.AGAIN
    assert queue.leased(0) == []
    fill(queue, kind, "new")
    assert queue.leased(1) == ["new"]
    assert queue.ack(1)[:2] == (2, 1)


def test_a_number_that_is_given_out_again_is_not_mistaken(durable: Bench) -> None:
    """When a physical queue goes, its number is free, and with it the ids of its messages."""
    queue = durable.queue(physical=2)
    queue.send("kept", at=0)
    (id,) = queue.send("gone", at=1)
    assert queue.leased(0) == ["kept", "gone"]
    kept, gone = queue.record.physical
    assert queue.remove(id)
    queue.record.physical = [kept]
    durable.put_queue(queue.record)
    for _ in range(5):
        # What is emptied in the background goes through the same thread.
        queue.count()
    durable.reopen()
    (new,) = durable.reserve()
    # On Redis servers and Cassandra a number is free again when all others were given out, or never.
    assert new.number == gone.number or durable.kind in ("redis", "cassandra")
    queue.record.physical = [kept, new]
    durable.put_queue(queue.record)
    queue.send("new", at=1)
    assert queue.leased(1) == ["new"]
    assert queue.leased(0) == ["kept"]
    assert queue.ack(0)[:2] == (1, 1)
    assert queue.leased(1) == ["new"]


def test_a_deleted_queue_takes_its_leases_along(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    queue.lease(0)
    queue.drop()
    assert bench.do(bench.leases.holdings) == {}


@KINDS
def test_the_dead_are_not_leased(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, "worn")
    queue.take(timeout_s=0)
    fill(queue, kind, "fresh")
    leased = queue.lease(0, max_receives=1)
    dead = [entry for _, claimed in leased.claims for entry in claimed.dead]
    assert bodies(dead) == ["worn"]
    assert {entry.visible_us for entry in dead} == {bench.now_us + 30_000_000}
    if kind == "fifo":
        assert leased.outcome is Outcome.NOTHING, "what stands behind it must wait, and is no reason for an empty lease"
    else:
        assert bodies(leased.entries) == ["fresh"]
    bench.advance(31)
    assert bodies(queue.take(max_receives=2))[0] == "worn", "it comes back if nobody has buried it"


@KINDS
def test_the_expired_are_removed(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, "old")
    bench.advance(10)
    fill(queue, kind, "new")
    leased = queue.lease(0, retention_s=5)
    assert bodies(leased.entries) == ["new"]
    assert [len(claimed.expired) for _, claimed in leased.claims] == [1]
    assert queue.count() == (0, 1, 0)


def test_a_group_with_a_leased_message_is_blocked(fifo: Queue) -> None:
    fifo.send("a1", "a2", "a3", group="a")
    fifo.send("b1", group="b")
    assert fifo.leased(0, limit=2) == ["a1", "a2"]
    assert fifo.leased(1) == ["b1"]
    assert fifo.read() == []
    fifo.ack(0)
    assert fifo.leased(2) == ["a3"]


def test_a_group_that_was_received_before_goes_on(bench: Bench, fifo: Queue) -> None:
    """What waits behind a leased message and was received before counts rightly when its turn comes."""
    fifo.send("a1", "a2", group="a")
    fifo.take(timeout_s=1)
    bench.advance(2)
    assert fifo.leased(0, limit=1) == ["a1"]
    assert fifo.count() == (1, 1, 0)
    assert fifo.ack(0)[1] == 1
    assert fifo.count() == (1, 0, 0)
    assert fifo.read() == ["a2"]


def test_long_groups_come_in_order(bench: Bench, fifo: Queue) -> None:
    """Also if one in the middle stands in the index by time and those before it do not."""
    texts = [f"{at:03d}" for at in range(200)]
    fifo.send(*texts, group="a")
    held = fifo.take(100, timeout_s=100)
    for entry in held[1:]:
        fifo.move(entry, 0, 1)
    assert fifo.read() == []
    fifo.move(held[0], 0, 1)
    assert fifo.leased(0, limit=150) == texts[:150]
    fifo.ack(0)
    assert fifo.leased(1) == texts[150:]


def test_an_acknowledged_lease_lets_the_next_of_its_group_go(bench: Bench, fifo: Queue) -> None:
    """Also if one behind that is in flight."""
    fifo.send("a", "b", "c", "d", group="g")
    a, b, _ = fifo.take(3, timeout_s=100)
    fifo.move(a, 0, 1)
    assert fifo.leased(0, limit=1) == ["a"]
    fifo.move(b, 0, 1)
    assert fifo.read() == []
    fifo.ack(0)
    assert fifo.read() == ["b"]


@KINDS
def test_its_size_is_bounded(bench: Bench, kind: str) -> None:
    queue = make(bench, kind)
    fill(queue, kind, *["x" * 1_000] * 10)
    size = 1_000 if kind == "plain" else 1_000 + len('{"group_id":"a"}')
    assert len(queue.leased(0, room_bytes=1)) == 1
    if kind == "fifo":
        queue.ack(0)
    assert len(queue.leased(1, room_bytes=3 * size)) == 3
    if kind == "fifo":
        queue.ack(1)
    assert len(queue.leased(2, room_bytes=3 * size + 1)) == 4
    assert queue.count()[0] == 2


@KINDS
def test_its_size_is_that_of_all_physical_queues_together(bench: Bench, kind: str) -> None:
    queue = make(bench, kind, physical=3)
    for at in range(3):
        queue.send(*["x" * 1_000] * 3, at=at, group=None if kind == "plain" else f"g{at}")
    assert len(queue.leased(0, room_bytes=3_500)) == 4
    assert [queue.count(at)[1] for at in range(3)] == [3, 1, 0]


def test_attributes_count_towards_its_size(queue: Queue) -> None:
    for _ in range(3):
        queue.append([queue.draft("b", extra=Extra(sender_id="s" * 1_000))])
    assert queue.leased(0, room_bytes=1_000) == ["b"]


@KINDS
def test_it_takes_from_all_physical_queues_in_turn(bench: Bench, kind: str) -> None:
    queue = make(bench, kind, physical=3)
    for at in range(3):
        queue.send(f"{at}a", f"{at}b", at=at, group=None if kind == "plain" else f"g{at}")
    leased = queue.lease(0, limit=5)
    assert bodies(leased.entries) == ["0a", "0b", "1a", "1b", "2a"]
    assert queue.lease(0).entries == leased.entries
    assert [queue.count(at)[1] for at in range(3)] == [2, 2, 1]
    assert queue.ack(0)[:2] == (1, 5)
    assert [queue.count(at) for at in range(3)] == [(0, 0, 0), (0, 0, 0), (1, 0, 0)]


def test_many_ask_for_one_at_once(bench: Bench, queue: Queue) -> None:
    """Each gets the same; and those who ask for others get other messages."""
    queue.send(*map(str, range(100)))

    async def scenario() -> list[Leased]:
        lease = bench.leases.lease
        parts = [queue.physical()]
        names = [LeaseName(queue.record.uid, "reader", shard, 0) for shard in (0, 1, 2) for _ in range(5)]
        calls = [call(partial(lease, name, parts, queue.want(10, room_bytes=10_000), True)) for name in names]
        received = [call(queue.physical().claim, queue.want(5)) for _ in range(4)]
        answers = await asyncio.gather(*calls, *received)
        given = [entry.id for claimed in answers[15:] for entry in claimed.entries]
        leased = [entry.id for answer in answers[:15:5] for entry in answer.entries]
        assert len(given) == len(set(given)) == 20
        assert len(leased) == 30
        assert not set(given) & set(leased)
        return answers[:15]

    answers = bench.run(scenario())
    for start in (0, 5, 10):
        same = answers[start : start + 5]
        assert Counter(answer.outcome for answer in same) == {Outcome.MADE: 1, Outcome.AGAIN: 4}
        assert all(answer.entries == same[0].entries for answer in same)
    assert queue.count() == (50, 50, 0)


def test_receives_go_on_beside_it(queue: Queue) -> None:
    queue.send(*map(str, range(6)))
    assert queue.read(1) == ["0"]
    assert queue.leased(0, limit=2) == ["1", "2"]
    assert queue.read(1) == ["3"]
    queue.send("6")
    assert queue.read() == ["4", "5", "6"]
    assert queue.count() == (0, 7, 0)


def test_who_holds_what_since_when(bench: Bench, queue: Queue) -> None:
    leases = bench.leases
    uid, start_us = queue.record.uid, bench.now_us
    queue.send("a", "b", "c")
    queue.lease(0, limit=2, consumer="one")
    bench.advance(10)
    queue.lease(0, consumer="two")
    queue.lease(1, shard=3, consumer="two")
    later_us = bench.now_us
    everything = [
        Lease("one", 0, 0, 2, start_us),
        Lease("two", 0, 0, 1, later_us),
        Lease("two", 3, 1, 0, later_us),
    ]
    assert bench.do(leases.page, uid, None, None, 10) == everything
    assert bench.do(leases.page, uid, None, ("two", 0, 0), 10) == everything[2:]
    assert bench.do(leases.page, uid, None, None, 2) == everything[:2]
    assert bench.do(leases.page, uid, "two", None, 10) == everything[1:]
    holders = [Holder("one", 1, 2, start_us), Holder("two", 2, 1, later_us)]
    assert bench.do(leases.holders, uid, None, 10) == holders
    assert bench.do(leases.holders, uid, "two", 10) == holders[1:]
    assert bench.do(leases.holdings) == {uid: Holding(2, 3, 3, start_us)}
    assert bench.do(leases.silent, later_us) == [(uid, "one")]
    bench.advance(10)
    queue.lease(0, consumer="one")
    assert bench.do(leases.silent, bench.now_us) == [(uid, "two")]
    queue.ack(5, consumer="one")
    assert bench.do(leases.holdings) == {uid: Holding(1, 2, 1, later_us)}
