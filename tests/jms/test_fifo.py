"""Message groups: order, sequence numbers and deduplication."""

from tests.jms.conftest import FIFO, NewQueue, Start

EMPTY = (0, 0, 0)


def test_a_group_keeps_its_order_and_a_message_is_taken_once(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(**FIFO)
    seen = start("groups", queue.name).report()
    sent, received = ([line.split() for line in seen[name]] for name in ("sent", "received"))
    # The seventh repeats the first: it gets the same number, and is not received.
    assert len(sent) == 7
    assert sent[6] == sent[0]
    assert sorted(received) == sorted(sent[:6])
    for group in ("a", "b"):
        numbers = [int(number) for of, number, _ in received if of == group]
        assert [text for of, _, text in received if of == group] == [f"{group}{number}" for number in range(3)]
        assert numbers == sorted(set(numbers))
    assert queue.counts() == EMPTY


def test_a_group_keeps_its_order_when_messages_are_given_back(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(**FIFO)
    seen = start("groups-recover", queue.name).report()
    assert seen["given back"] == ["a1"]
    assert seen["received"] == seen["sent"][1:]
    assert queue.counts() == EMPTY
