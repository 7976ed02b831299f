"""FIFO queues: five minutes of deduplication on the logical queue."""

from tests.support.store import Bench, Queue, bodies


def test_a_duplicate_stores_nothing_and_reports_the_first(fifo: Queue) -> None:
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")])
    (second,) = fifo.append([fifo.draft("b", group="g", key="k")])
    assert second == first
    assert fifo.count() == (1, 0, 0)
    assert fifo.read() == ["a"]


def test_for_exactly_five_minutes(bench: Bench, fifo: Queue) -> None:
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")])
    bench.advance(299.999999)
    assert fifo.append([fifo.draft("b", group="g", key="k")]) == [first]
    bench.advance(0.000001)
    (third,) = fifo.append([fifo.draft("c", group="g", key="k")])
    assert third.id > first.id
    assert third.message_id != first.message_id
    assert fifo.read() == ["a", "c"]
    # The new one counts from its own time, and the duplicate in between did not count at all.
    bench.advance(299.999999)
    assert fifo.append([fifo.draft("d", group="g", key="k")]) == [third]
    bench.advance(0.000001)
    assert fifo.append([fifo.draft("e", group="g", key="k")])[0].id > third.id


def test_within_one_append(fifo: Queue) -> None:
    drafts = [fifo.draft(body, group="g", key=key) for body, key in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "2")]]
    a, b, c, d = fifo.append(drafts)
    assert (c, d) == (a, b)
    assert a.id < b.id
    assert fifo.read() == ["a", "b"]


def test_whatever_became_of_the_first(bench: Bench, fifo: Queue) -> None:
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")])
    (entry,) = fifo.take()
    assert fifo.append([fifo.draft("b", group="g", key="k")]) == [first]
    assert fifo.remove_held(entry)
    assert fifo.append([fifo.draft("c", group="g", key="k")]) == [first]
    assert fifo.count() == (0, 0, 0)


def test_in_any_group(fifo: Queue) -> None:
    """The scope is in the key: the caller builds it so."""
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")])
    assert fifo.append([fifo.draft("b", group="h", key="k")]) == [first]
    assert fifo.append([fifo.draft("c", group="h", key="h k")]) != [first]
    assert fifo.count() == (2, 0, 0)


def test_over_all_physical_queues(bench: Bench) -> None:
    fifo = bench.queue(fifo=True, physical=2)
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")], at=0)
    assert fifo.append([fifo.draft("b", group="h", key="k")], at=1) == [first]
    assert (fifo.count(0), fifo.count(1)) == ((1, 0, 0), (0, 0, 0))


def test_not_over_other_queues(bench: Bench) -> None:
    one, other = bench.queue(fifo=True), bench.queue(fifo=True)
    one.append([one.draft("a", group="g", key="k")])
    other.append([other.draft("b", group="g", key="k")])
    assert other.read() == ["b"]


def test_no_key_no_deduplication(fifo: Queue) -> None:
    fifo.send("a", "a", group="g")
    assert fifo.read() == ["a", "a"]


def test_ends_with_a_purge(fifo: Queue) -> None:
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")])
    fifo.purge()
    assert fifo.append([fifo.draft("b", group="g", key="k")]) != [first]
    assert fifo.read() == ["b"]


def test_outlives_one_of_several_physical_queues(bench: Bench) -> None:
    queue = bench.queue(fifo=True, physical=2)
    (first,) = queue.append([queue.draft("a", group="g", key="k")], at=0)
    del queue.record.physical[1]
    bench.put_queue(queue.record)
    assert queue.append([queue.draft("b", group="g", key="k")], at=0) == [first]


def test_goes_with_the_queue(bench: Bench, fifo: Queue) -> None:
    fifo.append([fifo.draft("a", group="g", key="k")])
    fifo.drop()
    fifo.record.physical = bench.reserve()
    bench.put_queue(fifo.record)
    fifo.append([fifo.draft("b", group="g", key="k")])
    assert fifo.read() == ["b"]


def test_survives_reopening(bench: Bench, fifo: Queue) -> None:
    (first,) = fifo.append([fifo.draft("a", group="g", key="k")])
    bench.advance(150)
    bench.reopen()
    bench.advance(149.999)
    assert fifo.append([fifo.draft("b", group="g", key="k")]) == [first]
    bench.advance(0.001)
    assert fifo.append([fifo.draft("c", group="g", key="k")]) != [first]
    assert bodies(fifo.peek()) == ["a", "c"]


def test_many_keys(bench: Bench, fifo: Queue) -> None:
    def send_all() -> None:
        for start in range(0, 3_000, 500):
            fifo.append([fifo.draft("x", group="g", key=str(start + number)) for number in range(500)])

    send_all()
    send_all()
    assert fifo.count() == (3_000, 0, 0)
    bench.advance(300)
    send_all()
    assert fifo.count() == (6_000, 0, 0)
