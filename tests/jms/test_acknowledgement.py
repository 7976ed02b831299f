"""Which messages an acknowledgement deletes, and which come back to be received again at once."""

from tests.jms.conftest import NewQueue, Start

FOUR = ["one", "two", "three", "four"]
EMPTY = (0, 0, 0)


def test_automatic_deletes_what_was_received(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(*FOUR)
    seen = start("auto", queue.name).report()["received"]
    assert queue.counts() == (2, 0, 0)
    assert sorted([*seen, *queue.bodies()]) == sorted(FOUR)


def test_a_client_acknowledges_all_that_it_has_received_so_far(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(*FOUR)
    seen = start("client", queue.name).report()["received"]
    assert len(seen) == 3
    # The third came back when the session closed; the fourth was never received.
    assert queue.counts() == (2, 0, 0)
    assert sorted(queue.bodies()) == sorted(set(FOUR) - set(seen[:2]))


def test_unordered_deletes_the_one_message(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(*FOUR)
    seen = start("unordered", queue.name).report()["received"]
    assert len(seen) == 3
    assert queue.counts() == (3, 0, 0)
    assert sorted(queue.bodies()) == sorted(set(FOUR) - {seen[1]})


def test_recover_gives_back_what_was_not_acknowledged(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(*FOUR)
    seen = start("recover", queue.name).report()
    assert sorted(seen["received"][:4]) == sorted(FOUR)
    assert sorted(seen["received"][4:]) == sorted(seen["received"][1:4])
    assert seen["redelivered"] == ["true"] * 3
    assert seen["deliveries"] == ["2"] * 3
    assert queue.counts() == EMPTY


def test_what_a_session_has_fetched_comes_back_when_it_closes(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue(*FOUR)
    [received] = start("close", queue.name).report()["received"]
    assert queue.counts() == (4, 0, 0)
    messages = queue.receive(AttributeNames=["ApproximateReceiveCount"])
    assert sorted(message["Body"] for message in messages) == sorted(FOUR)
    [again] = [message for message in messages if message["Body"] == received]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
