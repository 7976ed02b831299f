"""FIFO queues: a receive repeated with the same attempt id gets the same messages."""

from tests.support.store import Bench, Queue, bodies


def test_the_same_again_with_visibility_renewed(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    fifo.send("c", group="h")
    first = fifo.take(3, timeout_s=30, attempt="x")
    bench.advance(20)
    again = fifo.take(3, timeout_s=30, attempt="x")
    assert [entry.id for entry in again] == [entry.id for entry in first]
    # The same receive, so that its handles are still good.
    assert [entry.receive_count for entry in again] == [1, 1, 1]
    assert {entry.visible_us for entry in again} == {bench.now_us + 30_000_000}
    assert fifo.count() == (0, 3, 0)
    bench.advance(29.999999)
    assert fifo.read() == []
    bench.advance(0.000001)
    assert len(fifo.take()) == 3


def test_again_and_again(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    first_us = bench.now_us
    for _ in range(5):
        claimed = fifo.claim(timeout_s=30, attempt="x")
        (entry,) = claimed.entries
        assert (entry.receive_count, entry.visible_us) == (1, bench.now_us + 30_000_000)
        assert claimed.claimed_us == first_us, "when the claim was made first"
        bench.advance(20)


def test_another_attempt_is_another_receive(fifo: Queue) -> None:
    fifo.send("a", group="g")
    fifo.send("b", group="h")
    assert fifo.read(1, attempt="x") == ["a"]
    assert fifo.read(1, attempt="y") == ["b"]
    assert fifo.read(1) == []
    assert fifo.read(1, attempt="x") == ["a"]


def test_five_minutes(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    fifo.take(timeout_s=1_000, attempt="x")
    bench.advance(299.999999)
    assert fifo.read(timeout_s=1_000, attempt="x") == ["a"]


def test_no_longer(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    fifo.take(timeout_s=1_000, attempt="x")
    bench.advance(300)
    assert fifo.read(timeout_s=1_000, attempt="x") == []


def test_one_was_deleted(fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    fifo.send("c", group="h")
    a, _ = fifo.take(2, attempt="x")
    assert fifo.remove_held(a)
    assert fifo.read(attempt="x") == ["c"]


def test_one_was_changed(fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    fifo.send("c", group="h")
    a, _ = fifo.take(2, attempt="x")
    assert fifo.move(a, 60, a.receive_count)
    assert fifo.read(attempt="x") == ["c"]


def test_one_has_become_visible(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    assert fifo.read(timeout_s=10, attempt="x") == ["a"]
    bench.advance(10)
    (again,) = fifo.take(timeout_s=10, attempt="x")
    assert again.receive_count == 2


def test_one_was_received_by_another(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    fifo.take(timeout_s=10, attempt="x")
    bench.advance(10)
    assert fifo.read(timeout_s=100) == ["a"]
    assert fifo.read(attempt="x") == []


def test_one_was_received_by_another_until_the_same_moment(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", group="g")
    (entry,) = fifo.take(timeout_s=10, attempt="x")
    assert fifo.move(entry, 0, entry.receive_count)
    bench.advance(5)
    assert fifo.read(timeout_s=5) == ["a"]
    assert fifo.read(attempt="x") == []


def test_released(fifo: Queue) -> None:
    fifo.send("a", group="g")
    claimed = fifo.take(attempt="x")
    fifo.release(*claimed)
    (again,) = fifo.take(attempt="x")
    assert again.receive_count == 1


def test_nothing_is_not_remembered(bench: Bench, fifo: Queue) -> None:
    assert fifo.read(attempt="x") == []
    fifo.send("a", group="g")
    assert fifo.read(attempt="x") == ["a"]


def test_the_next_claim_of_an_attempt_counts(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    (a,) = fifo.take(1, attempt="x")
    assert fifo.remove_held(a)
    assert fifo.read(attempt="x") == ["b"]
    assert fifo.read(attempt="x") == ["b"]


def test_not_over_other_queues(bench: Bench) -> None:
    one, other = bench.queue(fifo=True), bench.queue(fifo=True)
    one.send("a", group="g")
    other.send("b", group="g")
    assert one.read(attempt="x") == ["a"]
    assert other.read(attempt="x") == ["b"]


def test_gone_with_a_purge(fifo: Queue) -> None:
    fifo.send("a", group="g")
    assert fifo.read(attempt="x") == ["a"]
    fifo.purge()
    assert fifo.read(attempt="x") == []
    fifo.send("b", group="g")
    assert fifo.read(attempt="x") == ["b"]


def test_survives_reopening(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    first = fifo.take(1, attempt="x")
    bench.reopen()
    again = fifo.take(1, attempt="x")
    assert [(entry.id, entry.receive_count) for entry in again] == [(first[0].id, 1)]
    assert bodies(again) == ["a"]


def test_means_nothing_on_standard_queues(queue: Queue) -> None:
    queue.send("a", "b")
    assert queue.read(1, attempt="x") == ["a"]
    assert queue.read(1, attempt="x") == ["b"]
