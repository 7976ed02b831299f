"""Messages that come to a listener by themselves."""

from tests.jms.conftest import NewQueue, Start

EMPTY = (0, 0, 0)


def test_a_listener_hears_what_is_sent_while_it_waits(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue()
    scenario = start("listen", queue.name)
    scenario.wait_for("listening=true")
    for body in ("one", "two", "three"):
        queue.send(body)
    seen = scenario.report()
    assert sorted(seen["heard"]) == ["one", "three", "two"]
    assert seen["elsewhere"] == ["true"] * 3
    assert queue.counts() == EMPTY


def test_a_message_comes_again_when_its_listener_has_failed(start: Start, new_queue: NewQueue) -> None:
    queue = new_queue("hard")
    seen = start("listen-twice", queue.name).report()
    assert seen["heard"] == ["hard", "hard"]
    assert seen["redelivered"] == ["false", "true"]
    assert queue.counts() == EMPTY
