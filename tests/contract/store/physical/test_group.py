"""FIFO queues: order within a group, and its lock."""

import pytest

from tests.support.store import Bench, Queue, bodies


def test_a_group_in_the_order_of_sending(fifo: Queue) -> None:
    for body in "abcdef":
        fifo.send(body, group="g")
    assert fifo.read(4) == ["a", "b", "c", "d"]


def test_locked_while_one_is_in_flight(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    (a,) = fifo.take(1)
    assert fifo.read() == []
    assert fifo.remove_held(a)
    assert fifo.read() == ["b", "c"]


def test_locked_until_the_last_in_flight_is_gone(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    a, b = fifo.take(2)
    assert fifo.remove_held(a)
    assert fifo.read() == []
    assert fifo.remove_held(b)
    assert fifo.read() == ["c"]


def test_groups_do_not_wait_for_each_other(fifo: Queue) -> None:
    fifo.send("a1", "a2", group="a")
    fifo.send("b1", group="b")
    assert fifo.read(1) == ["a1"]
    assert fifo.read() == ["b1"]
    fifo.send("c1", group="c")
    assert fifo.read() == ["c1"]


def test_several_groups_in_one_claim(fifo: Queue) -> None:
    for number in range(3):
        for group in "abc":
            fifo.send(f"{group}{number}", group=group)
    claimed = fifo.read(9)
    assert sorted(claimed) == sorted(f"{group}{number}" for group in "abc" for number in range(3))
    for group in "abc":
        assert [body for body in claimed if body[0] == group] == [f"{group}{number}" for number in range(3)]


def test_the_group_that_waits_longest_goes_first(bench: Bench, fifo: Queue) -> None:
    for group in "cab":
        fifo.send(group, group=group)
        bench.advance(1)
    assert [fifo.read(1) for _ in range(3)] == [["c"], ["a"], ["b"]]


def test_comes_back_in_order_when_the_timeout_is_over(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    fifo.take(2, timeout_s=10)
    bench.advance(9.999999)
    assert fifo.read() == []
    bench.advance(0.000001)
    again = fifo.take()
    assert bodies(again) == ["a", "b", "c"]
    assert [entry.receive_count for entry in again] == [2, 2, 1]


def test_the_first_expires_while_a_later_one_is_in_flight(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    a, b = fifo.take(2, timeout_s=10)
    assert fifo.move(b, 30, b.receive_count)
    bench.advance(10)
    assert fifo.read(timeout_s=15) == ["a"], "b holds back what stands behind it"
    assert fifo.count() == (1, 2, 0)
    assert not fifo.remove_held(a), "that receive is over"
    bench.advance(15)
    assert fifo.read(1, timeout_s=15) == ["a"]
    bench.advance(5)
    assert fifo.read() == [], "b is visible again, and stands behind a"
    bench.advance(10)
    assert fifo.read() == ["a", "b", "c"]


def test_one_between_two_in_flight_has_its_turn_when_the_first_is_deleted(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", "d", group="g")
    a, b, c = fifo.take(3, timeout_s=100)
    assert fifo.move(b, 0, b.receive_count)
    assert fifo.read() == []
    assert fifo.remove_held(a)
    assert fifo.read() == ["b"]
    assert fifo.remove_held(c)
    assert fifo.read() == []
    bench.advance(30)
    assert fifo.read() == ["b", "d"]


def test_the_first_expires_and_the_later_one_is_deleted(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    _, b = fifo.take(2, timeout_s=10)
    assert fifo.move(b, 30, b.receive_count)
    bench.advance(10)
    assert fifo.remove_held(b)
    assert fifo.read() == ["a", "c"]


def test_a_later_one_expires_while_the_first_is_in_flight(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    a, b = fifo.take(2, timeout_s=10)
    assert fifo.move(a, 30, a.receive_count)
    bench.advance(10)
    assert fifo.read() == []
    assert fifo.count() == (2, 1, 0)
    assert not fifo.remove_held(b)
    assert fifo.remove_held(a)
    assert fifo.read() == ["b", "c"]


def test_delete_the_middle_one(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", "d", group="g")
    _, b, _ = fifo.take(3, timeout_s=10)
    assert fifo.remove_held(b)
    assert fifo.count() == (1, 2, 0)
    bench.advance(10)
    assert fifo.read() == ["a", "c", "d"]


def test_delete_one_that_waits(bench: Bench, fifo: Queue) -> None:
    ids = fifo.send("a", "b", "c", group="g")
    assert fifo.remove(ids[1])
    assert fifo.remove(ids[0])
    assert fifo.read() == ["c"]
    assert fifo.remove(ids[2])
    assert fifo.claim().next_us is None


def test_move_to_now_frees_the_group(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    (a,) = fifo.take(1)
    assert fifo.move(a, 0, a.receive_count)
    assert fifo.count() == (2, 0, 0)
    assert fifo.read() == ["a", "b"]


def test_move_one_of_two_to_now(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    a, b = fifo.take(2)
    assert fifo.move(b, 0, b.receive_count)
    assert fifo.count() == (2, 1, 0)
    assert fifo.read() == []
    assert fifo.move(a, 0, a.receive_count)
    assert fifo.read() == ["a", "b", "c"]


def test_extend_the_lock(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    (a,) = fifo.take(1, timeout_s=10)
    assert fifo.move(a, 60, a.receive_count)
    bench.advance(59)
    assert fifo.read() == []
    bench.advance(1)
    assert fifo.read() == ["a", "b"]


def test_a_handle_ends_with_its_receive(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    (old,) = fifo.take(timeout_s=10)
    bench.advance(10)
    assert not fifo.move(old, 10, old.receive_count)
    assert not fifo.remove_held(old)
    (new,) = fifo.take(timeout_s=10)
    assert not fifo.move(old, 10, old.receive_count)
    assert not fifo.remove_held(old)
    assert fifo.count() == (0, 1, 0)
    assert fifo.move(new, 20, new.receive_count)
    assert fifo.remove_held(new)
    assert not fifo.remove_held(new)


def test_release(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    claimed = fifo.take(2)
    bench.advance(1)
    fifo.release(*claimed)
    assert fifo.count() == (3, 0, 0)
    again = fifo.take()
    assert bodies(again) == ["a", "b", "c"]
    assert [entry.receive_count for entry in again] == [1, 1, 1]
    assert [entry.first_received_us for entry in again] == [bench.now_us] * 3


def test_release_one_of_two(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    a, b = fifo.take(2)
    fifo.release(a)
    assert fifo.count() == (2, 1, 0)
    (a,) = fifo.take()
    assert a.message.text == "a"
    assert fifo.remove_held(b)
    assert fifo.read() == []
    assert fifo.remove_held(a)
    assert fifo.read() == ["c"]


def test_expired_ones_before_do_not_change_the_order(bench: Bench, fifo: Queue) -> None:
    fifo.send("m1", "m2", group="g")
    bench.advance(50)
    fifo.send("m3", "m4", group="g")
    m1, m2, m3, m4 = fifo.take(4, timeout_s=1_000)
    for entry in (m2, m3):
        fifo.move(entry, 0, 1)
    assert fifo.read() == []
    for entry in (m1, m4):
        fifo.move(entry, 0, 1)
    assert [entry.message.text for entry in fifo.claim(1, retention_s=40).entries] == ["m3"]


def test_no_timeout_at_all(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    assert fifo.read(1, timeout_s=0) == ["a"]
    assert fifo.count() == (2, 0, 0)
    again = fifo.take(timeout_s=0)
    assert [(entry.message.text, entry.receive_count) for entry in again] == [("a", 2), ("b", 1)]
    assert fifo.read(timeout_s=10) == ["a", "b"]


def test_retention_removes_the_head(bench: Bench, fifo: Queue) -> None:
    fifo.send("old", group="g")
    bench.advance(50)
    fifo.send("young", group="g")
    bench.advance(11)
    assert fifo.expire(60) == 1
    assert fifo.read() == ["young"]


def test_retention_frees_the_group(bench: Bench, fifo: Queue) -> None:
    fifo.send("old", group="g")
    fifo.take(timeout_s=1_000)
    bench.advance(50)
    fifo.send("young", group="g")
    bench.advance(11)
    assert fifo.read() == []
    assert fifo.expire(60) == 1
    assert fifo.read() == ["young"]


def test_delay_of_the_queue(bench: Bench) -> None:
    fifo = bench.queue(fifo=True, attributes={"DelaySeconds": "10"})
    fifo.send("a", group="g")
    bench.advance(4)
    fifo.send("b", group="g")
    fifo.send("c", group="h")
    assert fifo.count() == (0, 0, 3)
    bench.advance(5.999999)
    assert fifo.read() == []
    bench.advance(0.000001)
    assert fifo.count() == (1, 0, 2)
    (a,) = fifo.take()
    assert a.message.text == "a"
    bench.advance(4)
    assert fifo.count() == (2, 1, 0)
    assert fifo.read() == ["c"]
    assert fifo.remove_held(a)
    assert fifo.read() == ["b"]


def test_a_delayed_one_is_not_given_with_its_group(bench: Bench) -> None:
    fifo = bench.queue(fifo=True, attributes={"DelaySeconds": "10"})
    fifo.send("a", group="g")
    bench.advance(5)
    fifo.send("b", group="g")
    bench.advance(5)
    claimed = fifo.take(timeout_s=1)
    assert bodies(claimed) == ["a"]
    bench.advance(1)
    # What was received once has had its delay.
    assert fifo.read(timeout_s=1) == ["a"]
    bench.advance(4)
    assert fifo.read() == ["a", "b"]


def test_a_longer_delay_holds_for_what_waits(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    fifo.send("c", group="h")
    (taken,) = fifo.take(1, timeout_s=5)
    fifo.set_delay(20)
    assert fifo.count() == (0, 1, 2)
    assert fifo.read() == []
    bench.advance(5)
    assert fifo.count() == (1, 0, 2)
    again = fifo.take(timeout_s=5)
    assert bodies(again) == ["a"], "received already: no delay any more, but it does not bring its followers along"
    assert fifo.remove_held(again[0])
    bench.advance(14.999999)
    assert fifo.read() == []
    bench.advance(0.000001)
    assert fifo.count() == (2, 0, 0)
    assert sorted(fifo.read()) == ["b", "c"]
    assert taken.id == again[0].id


def test_a_shorter_delay_holds_for_what_waits(bench: Bench) -> None:
    fifo = bench.queue(fifo=True, attributes={"DelaySeconds": "100"})
    fifo.send("a", "b", group="g")
    bench.advance(10)
    assert fifo.read() == []
    fifo.set_delay(10)
    assert fifo.count() == (2, 0, 0)
    assert fifo.may_have_visible()
    assert fifo.read() == ["a", "b"]


def test_a_new_delay_survives_reopening(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    fifo.set_delay(20)
    bench.reopen()
    assert fifo.count() == (0, 0, 2)
    bench.advance(20)
    assert fifo.count() == (2, 0, 0)
    assert fifo.read() == ["a", "b"]


def test_retime_leaves_standard_queues_alone(bench: Bench, queue: Queue) -> None:
    queue.send("now")
    queue.send("later", delay_s=10)
    bench.do(bench.upkeep.retime, queue.physical(), 60_000_000)
    assert queue.count() == (1, 0, 1)
    assert queue.read() == ["now"]
    bench.advance(10)
    assert queue.read() == ["later"]


def test_next_us(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    (a,) = fifo.take(1, timeout_s=10)
    assert fifo.claim().next_us == bench.now_us + 10_000_000
    assert fifo.move(a, 25, a.receive_count)
    assert fifo.claim().next_us == bench.now_us + 25_000_000
    assert fifo.remove_held(a)
    (b,) = fifo.take()
    assert fifo.remove_held(b)
    assert fifo.claim().next_us is None


def test_next_us_of_a_delay(bench: Bench) -> None:
    fifo = bench.queue(fifo=True, attributes={"DelaySeconds": "10"})
    fifo.send("a", group="g")
    assert fifo.claim().next_us == bench.now_us + 10_000_000
    bench.advance(3)
    fifo.send("b", group="h")
    assert fifo.claim().next_us == bench.now_us + 7_000_000


def test_may_have_visible_never_denies(bench: Bench, fifo: Queue) -> None:
    assert not fifo.may_have_visible()
    fifo.send("a", "b", group="g")
    assert fifo.may_have_visible()
    (a,) = fifo.take(1, timeout_s=10)
    assert fifo.may_have_visible(bench.now_us + 10_000_000)
    assert fifo.remove_held(a)
    assert fifo.may_have_visible()
    (b,) = fifo.take(1)
    assert fifo.remove_held(b)
    assert not fifo.may_have_visible()


def test_the_lock_survives_reopening(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", "c", group="g")
    fifo.send("d", group="h")
    a, b = fifo.take(2, timeout_s=10)
    bench.reopen()
    assert fifo.count() == (2, 2, 0)
    assert fifo.read() == ["d"]
    assert fifo.remove_held(a)
    assert fifo.read() == []
    assert fifo.move(b, 5, b.receive_count)
    bench.reopen()
    bench.advance(5)
    assert fifo.read() == ["b", "c"]


def test_messages_without_a_group_share_one(fifo: Queue) -> None:
    """The wire demands a group; a store must still not fall over one that is missing."""
    fifo.send("a", "b")
    assert fifo.read(1) == ["a"]
    assert fifo.read() == []


def test_many_groups(fifo: Queue) -> None:
    for number in range(3):
        fifo.append([fifo.draft(f"{group} {number}", group=f"group {group}") for group in range(1_000)])
    received: dict[str, list[str]] = {}
    while claimed := fifo.take(100):
        for entry in claimed:
            name, place = entry.message.text.split()
            received.setdefault(name, []).append(place)
            assert fifo.remove_held(entry)
    assert len(received) == 1_000
    assert all(places == ["0", "1", "2"] for places in received.values())


@pytest.mark.parametrize("groups", [1, 10])
def test_a_deep_backlog_behind_locked_groups(fifo: Queue, groups: int) -> None:
    """Whatever waits behind locked groups, a free one is found."""
    for group in range(groups):
        fifo.send(*(str(number) for number in range(6_000 // groups)), group=f"deep {group}")
    for _ in range(groups):
        assert len(fifo.take(1, timeout_s=1_000)) == 1
    fifo.send("free", group="free")
    assert fifo.read() == ["free"]
    assert fifo.read() == []
    assert fifo.count() == (6_000 - groups, groups + 1, 0)
