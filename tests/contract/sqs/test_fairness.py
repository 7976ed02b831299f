"""Fair queues: a tenant with many messages does not make the others wait."""

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def _noisy(queue: SqsQueue, waiting: int, in_flight: int) -> None:
    """A noisy group: so many in flight, and so many more waiting."""
    queue.send_all(*(f"noisy {number}" for number in range(waiting + in_flight)), MessageGroupId="noisy")
    held = 0
    while held < in_flight:
        held += len(queue.receive(min(10, in_flight - held)))
    assert queue.counts() == (waiting, in_flight, 0)


@pytest.mark.parametrize("parts", ["1", "3"])
def test_a_quiet_groups_message_comes_within_two_receives_of_ten(make_json: QueueMaker, parts: str) -> None:
    queue = make_json(RockdovePhysicalQueues=parts)
    _noisy(queue, waiting=1000, in_flight=30)
    queue.send("quiet", MessageGroupId="quiet")
    assert "quiet" in queue.bodies() + queue.bodies()


def test_several_quiet_groups(make_json: QueueMaker) -> None:
    queue = make_json()
    _noisy(queue, waiting=100, in_flight=30)
    quiet = {f"quiet {number}" for number in range(10)}
    for body in sorted(quiet):
        queue.send(body, MessageGroupId=body.replace(" ", "-"))
    assert quiet <= {*queue.bodies(), *queue.bodies()}


def test_messages_without_a_group_are_quiet_too(make_json: QueueMaker) -> None:
    queue = make_json()
    _noisy(queue, waiting=100, in_flight=30)
    queue.send("of nobody")
    assert "of nobody" in queue.bodies() + queue.bodies()


def test_the_noisy_group_is_served_when_the_others_have_nothing(make_json: QueueMaker) -> None:
    queue = make_json()
    _noisy(queue, waiting=40, in_flight=30)
    queue.send("quiet", MessageGroupId="quiet")
    got: list[str] = []
    while bodies := queue.bodies():
        got += bodies
    assert len(got) == len({*got}) == 41
    assert "quiet" in got


def test_thirty_in_flight_make_noise(make_json: QueueMaker) -> None:
    queue = make_json()
    _noisy(queue, waiting=30, in_flight=30)
    queue.send("quiet", MessageGroupId="quiet")
    assert "quiet" in queue.bodies()


def test_twenty_nine_make_none_and_the_order_is_that_of_sending(make_json: QueueMaker) -> None:
    queue = make_json()
    _noisy(queue, waiting=30, in_flight=29)
    queue.send("quiet", MessageGroupId="quiet")
    assert queue.bodies() == [f"noisy {number}" for number in range(29, 39)]


def test_a_tenth_of_what_is_in_flight_makes_none(make_json: QueueMaker) -> None:
    """Thirty of three hundred are no more than a tenth."""
    queue = make_json()
    for number in range(27):
        queue.send_all(*["other"] * 10, MessageGroupId=f"other-{number}")
    assert sum(len(queue.receive()) for _ in range(27)) == 270
    queue.send_all(*(f"large {number}" for number in range(60)), MessageGroupId="large")
    assert sum(len(queue.receive()) for _ in range(3)) == 30
    queue.send("quiet", MessageGroupId="quiet")
    assert queue.bodies() == [f"large {number}" for number in range(30, 40)]
    # Now it has forty of three hundred and ten.
    assert "quiet" in queue.bodies()


def test_the_noise_ends_with_the_visibility_timeout(service: RunningService, make_json: QueueMaker) -> None:
    queue = make_json()
    _noisy(queue, waiting=0, in_flight=30)
    service.advance(30)
    queue.send("quiet", MessageGroupId="quiet")
    assert "quiet" not in queue.bodies()


def test_deleting_ends_the_noise(make_json: QueueMaker) -> None:
    queue = make_json()
    queue.send_all(*(f"noisy {number}" for number in range(60)), MessageGroupId="noisy")
    held = [message for _ in range(3) for message in queue.receive()]
    for message in held[:5]:
        queue.delete(message)
    queue.send("quiet", MessageGroupId="quiet")
    assert queue.bodies() == [f"noisy {number}" for number in range(30, 40)]


def test_the_group_is_told(make_json: QueueMaker) -> None:
    queue = make_json()
    queue.send("x", MessageGroupId="tenant-7")
    message = queue.receive_one(MessageSystemAttributeNames=["MessageGroupId"])
    assert message["Attributes"] == {"MessageGroupId": "tenant-7"}


def test_messages_of_one_group_are_received_in_parallel(make_json: QueueMaker) -> None:
    """Documented: unlike in FIFO queues."""
    queue = make_json()
    queue.send_all("1", "2", "3", MessageGroupId="tenant")
    assert [queue.bodies(1) for _ in range(3)] == [["1"], ["2"], ["3"]]
