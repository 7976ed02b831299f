"""Appending: ids, message ids, and messages that come back as they were sent."""

import pytest

from rockdove.core import ids
from rockdove.core.message import Attribute, Extra
from tests.support.store import Bench, Queue, bodies


def test_ids_grow_in_the_order_given(queue: Queue) -> None:
    first = queue.send("a", "b", "c")
    second = queue.send("d")
    assert first + second == sorted({*first, *second})
    assert bodies(queue.take()) == ["a", "b", "c", "d"]


def test_ids_carry_the_number_of_the_physical_queue(queue: Queue) -> None:
    (id,) = queue.send("a")
    assert ids.physical_of(id) == queue.physical().record.number == queue.record.physical[0].number


def test_message_id_comes_from_the_prefix(queue: Queue) -> None:
    (appended,) = queue.append([queue.draft("a")])
    assert appended.message_id == ids.message_id(queue.record.physical[0].prefix, appended.id)


def test_a_message_that_was_moved_keeps_its_message_id(queue: Queue) -> None:
    moved, own = queue.append([queue.draft("a", extra=Extra(message_id="kept", group_id="g")), queue.draft("b")])
    assert moved.message_id == "kept"
    assert own.message_id == ids.message_id(queue.record.physical[0].prefix, own.id)


def test_a_message_that_was_moved_keeps_its_message_id_on_fifo(fifo: Queue) -> None:
    (moved,) = fifo.append([fifo.draft("a", extra=Extra(message_id="kept", group_id="g"))])
    assert moved.message_id == "kept"


def test_nothing_appended(queue: Queue, fifo: Queue) -> None:
    for empty in (queue, fifo):
        assert empty.append([]) == []
        assert empty.count() == (0, 0, 0)
        claimed = empty.claim()
        assert (claimed.entries, claimed.dead, claimed.next_us) == ([], [], None)
        assert empty.peek() == []


def test_a_fresh_entry(bench: Bench, queue: Queue) -> None:
    (id,) = queue.send("a", delay_s=3)
    (entry,) = queue.peek()
    assert (entry.id, entry.visible_us) == (id, bench.now_us + 3_000_000)
    assert (entry.receive_count, entry.first_received_us) == (0, 0)


EXTRA = Extra(
    attributes={
        "text": Attribute("String", string_value="größe 数 🕊"),
        "number": Attribute("Number.int", string_value="-17"),
        "bytes": Attribute("Binary", binary_value=bytes(range(256))),
        "empty": Attribute("Binary", binary_value=b""),
    },
    attributes_md5="0" * 32,
    trace_header=Attribute("String", string_value="Root=1-2-3"),
    group_id="tenant-é",
    deduplication_id="once",
    sender_id="111122223333",
    message_id="m",
    dead_letter_source="arn:aws:sqs:us-east-1:000000000000:q",
)


@pytest.mark.parametrize("fifo", [False, True])
def test_extra_comes_back_as_it_was(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    draft = queue.draft("a", extra=EXTRA)
    queue.append([draft])
    bench.reopen()
    assert [entry.message for entry in queue.peek()] == [draft.message]
    assert [entry.message for entry in queue.take()] == [draft.message]


@pytest.mark.parametrize(
    "body",
    ["", " ", "\t\r\n", "größe 数 🕊", "\ufffd", "\"\\'%_;--", "{}", "x" * 1_048_576, "🕊" * 262_144],
    ids=["empty", "blank", "white", "unicode", "replacement", "quotes", "json", "megabyte", "wide-megabyte"],
)
@pytest.mark.parametrize("fifo", [False, True])
def test_bodies_come_back_as_they_were(bench: Bench, fifo: bool, body: str) -> None:
    queue = bench.queue(fifo)
    draft = queue.draft(body, group="g" if fifo else None)
    queue.append([draft, queue.draft("next", group="g" if fifo else None)])
    bench.reopen()
    assert [entry.message for entry in queue.take(1)] == [draft.message]


def test_many_large_bodies(queue: Queue) -> None:
    """More than any cache of bodies may hold."""
    sent = [f"{number:03}" + "x" * 500_000 for number in range(60)]
    for body in sent:
        queue.send(body)
    received: list[str] = []
    while got := queue.read(10):
        received += got
    assert received == sent


@pytest.mark.parametrize("fifo", [False, True])
def test_a_big_batch(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    sent = [str(number) for number in range(3_000)]
    appended = queue.send(*sent, group="g" if fifo else None)
    assert appended == sorted(set(appended))
    assert queue.count() == (3_000, 0, 0)
    got: list[str] = []
    while claimed := queue.take(100):
        got += bodies(claimed)
        for entry in claimed:
            assert queue.remove(entry.id)
    assert got == sent
    assert queue.count() == (0, 0, 0)
