"""Looking without disturbing."""

from tests.support.store import Bench, Queue, bodies


def test_in_the_order_in_which_they_become_visible(bench: Bench, queue: Queue) -> None:
    queue.send("taken")
    queue.take(timeout_s=30)
    queue.send("later", delay_s=60)
    queue.send("soon", delay_s=10)
    queue.send("now")
    assert bodies(queue.peek()) == ["now", "soon", "taken", "later"]
    assert bodies(queue.peek(2)) == ["now", "soon"]
    assert queue.peek(0) == []


def test_changes_nothing(bench: Bench, queue: Queue, fifo: Queue) -> None:
    for some in (queue, fifo):
        some.send("a", "b", group="g" if some is fifo else None)
        some.take(1, timeout_s=30)
        before = some.peek()
        assert some.peek() == before
        assert some.count() == (1, 1, 0)
        assert sorted(entry.receive_count for entry in some.peek()) == [0, 1]
        assert some.read() == ([] if some is fifo else ["b"])


def test_a_fifo_group_in_its_order(bench: Bench, fifo: Queue) -> None:
    fifo.send(*"abcde", group="g")
    assert bodies(fifo.peek()) == ["a", "b", "c", "d", "e"]
    assert bodies(fifo.peek(3)) == ["a", "b", "c"]


def test_fifo_times_are_times(bench: Bench, fifo: Queue) -> None:
    """Whoever waits behind others of its group has a time of its own, and it is shown."""
    fifo.send("a", "b", "c", group="g")
    assert [entry.visible_us for entry in fifo.peek()] == [bench.now_us] * 3
    fifo.take(1, timeout_s=30)
    times = {entry.message.text: entry.visible_us for entry in fifo.peek()}
    assert times == {"a": bench.now_us + 30_000_000, "b": bench.now_us, "c": bench.now_us}


def test_a_fifo_message_that_was_received_is_not_delayed_again(bench: Bench, fifo: Queue) -> None:
    fifo.send("a", "b", group="g")
    _, b = fifo.take(timeout_s=10)
    assert fifo.move(b, 0, b.receive_count)
    assert fifo.read() == [], "a still locks the group"
    fifo.set_delay(20)
    assert fifo.count() == (1, 1, 0)
    times = {entry.message.text: entry.visible_us for entry in fifo.peek()}
    assert times["b"] <= bench.now_us


def test_with_groups(bench: Bench, queue: Queue) -> None:
    queue.send("b", group="y", delay_s=1)
    queue.send("a", group="x")
    queue.send("c", delay_s=2)
    assert bodies(queue.peek()) == ["a", "b", "c"]


def test_a_deep_queue(queue: Queue) -> None:
    for start in range(0, 6_000, 1_000):
        queue.send(*(str(number) for number in range(start, start + 1_000)))
    assert bodies(queue.peek(5_000)) == [str(number) for number in range(5_000)]


def test_what_is_gone_since_it_was_seen_is_left_out(bench: Bench, queue: Queue) -> None:
    first, second = queue.send("a", "b")
    queue.remove(first)
    assert bodies(bench.do(bench.browsing.read, queue.physical(), [first, second])) == ["b"]
