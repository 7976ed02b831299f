"""Looking at all messages, page by page, without disturbing them."""

from rockdove.store.base import MOST_PASSED, Page, Scanned
from tests.support.store import Bench, Queue, bodies


def _all(queue: Queue, limit: int) -> list[list[str]]:
    pages: list[list[str]] = []
    after = 0
    while page := queue.scan(after, limit):
        pages.append(bodies(page))
        after = page[-1].id
    return pages


def test_in_the_order_of_sending_whatever_the_state(bench: Bench, queue: Queue) -> None:
    queue.send("taken")
    queue.take(timeout_s=30)
    queue.send("later", delay_s=60)
    queue.send("now")
    queue.send("grouped", group="g")
    assert _all(queue, 3) == [["taken", "later", "now"], ["grouped"]]
    assert _all(queue, 1) == [["taken"], ["later"], ["now"], ["grouped"]]
    assert queue.scan(limit=0) == []


def test_changes_nothing_and_shows_what_a_peek_shows(bench: Bench, queue: Queue, fifo: Queue) -> None:
    for some in (queue, fifo):
        some.send("a", "b", "c", group="g" if some is fifo else None)
        some.take(1, timeout_s=30)
        before = some.peek()
        assert some.scan() == sorted(before, key=lambda entry: entry.id)
        assert some.peek() == before


def test_what_is_there_throughout_is_met_once(bench: Bench, queue: Queue) -> None:
    """Also if it is received, given back or moved between two pages; what was sent meanwhile comes last."""
    queue.send(*map(str, range(10)))
    first = queue.scan(limit=5)
    taken = queue.take(10, timeout_s=30)
    queue.move(taken[7], 0)
    queue.remove(taken[8].id)
    queue.send("new")
    second = queue.scan(first[-1].id)
    assert bodies(first) == ["0", "1", "2", "3", "4"]
    assert bodies(second) == ["5", "6", "7", "9", "new"]


def test_a_page_ends_with_its_bytes(queue: Queue) -> None:
    queue.send(*("x" * 100 for _ in range(5)))
    assert len(queue.scan(room_bytes=200)) == 2
    assert len(queue.scan(room_bytes=201)) == 3
    assert len(queue.scan(room_bytes=1)) == 1, "or no page could ever follow"


def test_a_deep_queue_beside_others(bench: Bench) -> None:
    before, queue, after = bench.queue(), bench.queue(), bench.queue()
    for number in range(5):
        queue.send(*(str(each) for each in range(number * 500, number * 500 + 500)))
        before.send("before")
        after.send("after")
    assert [len(page) for page in _all(queue, 1_000)] == [1_000, 1_000, 500]
    assert [body for page in _all(queue, 1_000) for body in page] == [str(each) for each in range(2_500)]
    assert queue.scan(before.scan()[-1].id) == queue.scan()
    assert queue.scan(after.scan()[-1].id) == []


def test_a_choice_by_time_and_group(bench: Bench, queue: Queue, fifo: Queue) -> None:
    for some in (queue, fifo):
        times = []
        for number in range(6):
            times.append(bench.clock.now_us())
            some.send(str(number), group="even" if number % 2 == 0 else "odd")
            bench.advance(1)
        assert bodies(some.scanned(Page(0, 9, 10_000, sent_from_us=times[2])).entries) == ["2", "3", "4", "5"]
        assert bodies(some.scanned(Page(0, 9, 10_000, sent_until_us=times[2])).entries) == ["0", "1"]
        assert bodies(some.scanned(Page(0, 9, 10_000, group="odd")).entries) == ["1", "3", "5"]
        both = some.scanned(Page(0, 9, 10_000, times[1], times[5], "odd"))
        assert (bodies(both.entries), both.after) == (["1", "3"], None)
        first = some.scanned(Page(0, 1, 10_000, group="odd"))
        assert first.after is not None
        assert bodies(some.scanned(Page(first.after, 9, 10_000, group="odd")).entries) == ["3", "5"]
        assert bodies(some.scanned(Page(0, 9, 1, group="odd")).entries) == ["1"]
        assert some.scanned(Page(0, 9, 10_000, group="none")) == Scanned([], None)


def test_those_without_a_group_are_of_none(queue: Queue) -> None:
    queue.send("plain")
    assert queue.scanned(Page(0, 9, 10_000, group="g")).entries == []
    queue.send("grouped", group="g")
    assert bodies(queue.scanned(Page(0, 9, 10_000, group="g")).entries) == ["grouped"]


def test_a_choice_passes_over_many_in_several_calls(queue: Queue) -> None:
    """So that nobody waits for it; all that is wanted is found."""
    for begin in range(0, 2 * MOST_PASSED + 500, 500):
        queue.send(*(str(each) for each in range(begin, begin + 500)))
    queue.send("wanted", group="g")
    found, after = [], 0
    for _ in range(5):
        page = queue.scanned(Page(after, 10, 10_000, group="g"))
        found += bodies(page.entries)
        if page.after is None:
            break
        after = page.after
    assert found == ["wanted"]
    assert page.after is None
