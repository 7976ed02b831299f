"""Standard queues: invisibility, delays, and changes of both."""

from rockdove.core.clock import SECOND_US
from tests.support.store import Bench, Queue


def test_what_is_claimed_is_invisible_until_its_timeout(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    assert queue.read(timeout_s=30) == ["a"]
    bench.advance(29.999999)
    assert queue.read() == []
    bench.advance(0.000001)
    assert queue.read() == ["a"]


def test_delay(bench: Bench, queue: Queue) -> None:
    queue.send("a", delay_s=15)
    assert queue.read() == []
    bench.advance(14.999999)
    assert queue.read() == []
    bench.advance(0.000001)
    assert queue.read() == ["a"]


def test_no_timeout_at_all(bench: Bench, queue: Queue) -> None:
    """Visible again at once, but given only once by one claim."""
    queue.send("a", "b")
    first = queue.take(10, timeout_s=0)
    assert [entry.message.text for entry in first] == ["a", "b"]
    assert queue.count() == (2, 0, 0)
    second = queue.take(10, timeout_s=0)
    assert [entry.receive_count for entry in second] == [2, 2]


def test_move_later(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    (entry,) = queue.take(timeout_s=30)
    bench.advance(20)
    assert queue.move(entry, 60)
    bench.advance(59)
    assert queue.read() == []
    bench.advance(1)
    assert queue.read() == ["a"]


def test_move_earlier(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    (entry,) = queue.take(timeout_s=600)
    assert queue.move(entry, 5)
    bench.advance(5)
    (again,) = queue.take()
    assert again.receive_count == 2


def test_move_to_now_makes_visible(bench: Bench, queue: Queue) -> None:
    queue.send("a", "b")
    first, _ = queue.take()
    bench.advance(1)
    assert queue.move(first, 0)
    assert queue.count() == (1, 1, 0)
    assert queue.read() == ["a"]


def test_move_into_the_past_makes_visible(bench: Bench, queue: Queue) -> None:
    queue.send("a", "b")
    first, _ = queue.take()
    assert queue.move(first, -10)
    assert queue.read() == ["a"]


def test_move_back_and_forth(bench: Bench, queue: Queue) -> None:
    """The same time twice must not make two of one."""
    queue.send("a")
    (entry,) = queue.take(timeout_s=10)
    for seconds in (20, 10, 20, 10):
        assert queue.move(entry, seconds)
    assert queue.count() == (0, 1, 0)
    bench.advance(10)
    assert queue.count() == (1, 0, 0)
    assert queue.read(10, timeout_s=1) == ["a"]
    bench.advance(20)
    assert queue.read(10) == ["a"]


def test_move_only_what_was_received(bench: Bench, queue: Queue) -> None:
    queue.send("delayed", delay_s=100)
    queue.send("waiting")
    delayed, waiting = sorted(queue.peek(), key=lambda entry: entry.id)
    assert not queue.move(delayed, 1)
    assert not queue.move(waiting, 1)
    assert queue.count() == (1, 0, 1)
    (entry,) = queue.take(timeout_s=10)
    bench.advance(10)
    assert not queue.move(entry, 30, entry.receive_count), "that receive is over"
    assert queue.count() == (1, 0, 1)
    assert queue.move(entry, 30), "nobody else has it"
    assert queue.count() == (0, 1, 1)
    assert queue.take() == []
    bench.advance(30)
    assert [again.id for again in queue.take()] == [entry.id]
    assert queue.remove(entry.id)
    assert not queue.move(entry, 30), "it is gone"


def test_an_older_handle_still_moves(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    (old,) = queue.take(timeout_s=10)
    bench.advance(10)
    (new,) = queue.take(timeout_s=10)
    assert queue.move(old, 60)
    bench.advance(59)
    assert queue.read() == []
    assert queue.move(new, 0)
    assert queue.read() == ["a"]


def test_release(bench: Bench, queue: Queue) -> None:
    queue.send("a", "b", "c")
    claimed = queue.take(2)
    bench.advance(1)
    queue.release(*claimed)
    assert queue.count() == (3, 0, 0)
    again = queue.take()
    # They became visible now, after the one that was never taken.
    assert [entry.message.text for entry in again] == ["c", "a", "b"]
    assert [entry.receive_count for entry in again] == [1, 1, 1]
    assert [entry.first_received_us for entry in again] == [bench.now_us] * 3


def test_release_after_an_earlier_receive(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    (first,) = queue.take(timeout_s=1)
    bench.advance(1)
    (second,) = queue.take()
    queue.release(second)
    (peeked,) = queue.peek()
    assert (peeked.receive_count, peeked.first_received_us) == (1, first.first_received_us)
    assert peeked.visible_us == bench.now_us
    assert queue.count() == (1, 0, 0)
    assert queue.take()[0].receive_count == 2


def test_release_to_never_received_counts_as_visible_not_in_flight(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    queue.release(*queue.take())
    (peeked,) = queue.peek()
    assert (peeked.receive_count, peeked.first_received_us) == (0, 0)
    assert not queue.move(peeked, 10)


def test_release_leaves_alone_what_others_did(bench: Bench, queue: Queue) -> None:
    queue.send("removed", "received", "moved")
    removed, received, moved = queue.take(timeout_s=10)
    assert queue.remove(removed.id)
    assert queue.move(moved, 100)
    bench.advance(10)
    (other,) = queue.take(timeout_s=50)
    assert other.id == received.id
    queue.release(removed, received, moved)
    assert queue.count() == (0, 2, 0)
    assert sorted((entry.message.text, entry.receive_count) for entry in queue.peek()) == [
        ("moved", 1),
        ("received", 2),
    ]


def test_release_nothing(queue: Queue, fifo: Queue) -> None:
    queue.release()
    fifo.release()


def is_next(bench: Bench, next_us: int | None, seconds: int) -> bool:
    """On Cassandra, who has not received for a while may only know that it is not before, and look again then."""
    due_us = bench.now_us + seconds * SECOND_US
    if bench.kind == "cassandra":
        return next_us is not None and bench.now_us < next_us <= due_us
    return next_us == due_us


def test_next_us(bench: Bench, queue: Queue) -> None:
    queue.send("a", delay_s=50)
    queue.send("b", delay_s=20)
    assert is_next(bench, queue.claim().next_us, 20)
    bench.advance(20)
    assert queue.read(timeout_s=10) == ["b"]
    assert is_next(bench, queue.claim().next_us, 10)
    (entry,) = [entry for entry in queue.peek() if entry.message.text == "b"]
    assert queue.move(entry, 100)
    assert is_next(bench, queue.claim().next_us, 30)
    for entry in queue.peek():
        assert queue.remove(entry.id)
    assert bench.kind == "cassandra" or queue.claim().next_us is None


def test_next_us_behind_a_deep_queue(bench: Bench, queue: Queue) -> None:
    queue.send("last", delay_s=900)
    for _ in range(6):
        queue.send(*"x" * 1_000)
    for _ in range(60):
        assert len(queue.take(100, timeout_s=600)) == 100
    bench.advance(1)
    assert is_next(bench, queue.claim().next_us, 599)


def test_may_have_visible(bench: Bench, queue: Queue) -> None:
    assert not queue.may_have_visible()
    queue.send("a", delay_s=10)
    assert not queue.may_have_visible()
    assert queue.may_have_visible(bench.now_us + 10_000_000)
    # Asking about the future changes nothing now.
    assert queue.read() == []
    assert queue.count() == (0, 0, 1)
    bench.advance(10)
    assert queue.may_have_visible()
    queue.take(timeout_s=30)
    assert not queue.may_have_visible()
    assert queue.may_have_visible(bench.now_us + 30_000_000)


def test_may_have_visible_in_a_deep_queue_after_reopening(bench: Bench, queue: Queue) -> None:
    for _ in range(6):
        queue.send(*"x" * 1_000)
    bench.reopen()
    for _ in range(60):
        assert queue.may_have_visible()
        assert len(queue.take(100)) == 100
