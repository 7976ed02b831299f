"""ReceiveMessage: how many, in which order, for how long, and what it tells of each message."""

from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def test_one_message_is_the_default(queue: SqsQueue) -> None:
    queue.send_all("1", "2")
    assert len(queue.sqs.receive_message(QueueUrl=queue.url)["Messages"]) == 1


@pytest.mark.parametrize("most", [1, 2, 9, 10])
def test_as_many_as_asked_for(queue: SqsQueue, most: int) -> None:
    queue.send_all(*map(str, range(12)))
    assert queue.bodies(most) == [str(number) for number in range(most)]
    assert queue.counts() == (12 - most, most, 0)


def test_fewer_if_there_are_fewer(queue: SqsQueue) -> None:
    queue.send_all("1", "2", "3")
    assert queue.bodies(10) == ["1", "2", "3"]
    assert queue.receive() == []


@pytest.mark.parametrize("most", [0, 11, -1, 100])
def test_one_to_ten_can_be_asked_for(queue: SqsQueue, most: int) -> None:
    text = f"Value {most} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
    with refused("InvalidParameterValue", text):
        queue.receive(most)


@pytest.mark.parametrize("wait", [-1, 21])
def test_waiting_is_up_to_twenty_seconds(queue: SqsQueue, wait: int) -> None:
    text = f"Value {wait} for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."
    with refused("InvalidParameterValue", text):
        queue.receive(WaitTimeSeconds=wait)


@pytest.mark.parametrize("timeout", [-1, 43_201])
def test_hiding_is_up_to_twelve_hours(queue: SqsQueue, timeout: int) -> None:
    text = (
        f"Value {timeout} for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided."
    )
    with refused("InvalidParameterValue", text):
        queue.receive(VisibilityTimeout=timeout)


def test_an_empty_queue_gives_nothing(queue: SqsQueue) -> None:
    assert queue.receive() == []
    assert queue.receive(WaitTimeSeconds=0) == []


def test_messages_come_in_the_order_of_sending(queue: SqsQueue) -> None:
    """More than SQS promises: our order hint is 1."""
    bodies = [str(number) for number in range(50)]
    queue.send_all(*bodies)
    got = []
    while messages := queue.bodies(7):
        got += messages
    assert got == bodies


def test_a_received_message_is_hidden_for_the_queues_timeout(service: RunningService, make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="10")
    queue.send("x")
    first = queue.receive_one()
    service.advance(9.9)
    assert queue.receive() == []
    service.advance(0.1)
    second = queue.receive_one()
    assert first["MessageId"] == second["MessageId"]
    assert first["ReceiptHandle"] != second["ReceiptHandle"]


@pytest.mark.parametrize("timeout", [1, 100, 43_200])
def test_a_receive_may_bring_its_own_timeout(service: RunningService, queue: SqsQueue, timeout: int) -> None:
    queue.send("x")
    queue.receive_one(VisibilityTimeout=timeout)
    service.advance(timeout - 0.5)
    assert queue.receive() == []
    service.advance(0.5)
    queue.receive_one()
    service.advance(29)
    assert queue.receive() == []


def test_a_timeout_of_zero_hides_nothing(queue: SqsQueue) -> None:
    queue.send("x")
    handles = {queue.receive_one(VisibilityTimeout=0)["ReceiptHandle"] for _ in range(3)}
    assert len(handles) == 3
    assert queue.counts() == (1, 0, 0)


def test_a_timeout_of_zero_gives_no_message_twice_in_one_receive(queue: SqsQueue) -> None:
    queue.send_all("1", "2", "3")
    assert sorted(queue.bodies(10, VisibilityTimeout=0)) == ["1", "2", "3"]


def test_a_queue_may_have_no_timeout(make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="0")
    queue.send("x")
    assert [queue.bodies() for _ in range(3)] == [["x"]] * 3


def test_what_comes_back_goes_before_what_became_visible_later(service: RunningService, queue: SqsQueue) -> None:
    queue.send("1")
    queue.receive_one(VisibilityTimeout=3)
    service.advance(1)
    queue.send("2", DelaySeconds=5)
    service.advance(10)
    assert queue.bodies() == ["1", "2"]


def test_system_attributes(service: RunningService, queue: SqsQueue) -> None:
    sent_ms = int(service.now_s * 1000)
    queue.send("x")
    service.advance(3)
    first_ms = int(service.now_s * 1000)
    expected = {
        "SenderId": "000000000000",
        "SentTimestamp": str(sent_ms),
        "ApproximateReceiveCount": "1",
        "ApproximateFirstReceiveTimestamp": str(first_ms),
    }
    assert queue.receive_one(MessageSystemAttributeNames=["All"])["Attributes"] == expected
    service.advance(30)
    again = queue.receive_one(MessageSystemAttributeNames=["All"])["Attributes"]
    assert again == expected | {"ApproximateReceiveCount": "2"}


def test_receives_are_counted(service: RunningService, queue: SqsQueue) -> None:
    queue.send("x")
    for number in range(1, 6):
        message = queue.receive_one(AttributeNames=["ApproximateReceiveCount"])
        assert message["Attributes"] == {"ApproximateReceiveCount": str(number)}
        service.advance(30)


@pytest.mark.parametrize("parameter", ["AttributeNames", "MessageSystemAttributeNames"])
def test_system_attributes_are_chosen_by_name(queue: SqsQueue, parameter: str) -> None:
    """AttributeNames is the old name of the parameter."""
    queue.send("x")
    choose: Any = {parameter: ["SenderId"]}
    assert queue.receive_one(VisibilityTimeout=0, **choose)["Attributes"] == {"SenderId": "000000000000"}
    # SequenceNumber belongs to FIFO queues, and is then not there.
    choose = {parameter: ["SenderId", "SequenceNumber"]}
    assert queue.receive_one(VisibilityTimeout=0, **choose)["Attributes"] == {"SenderId": "000000000000"}
    choose = {parameter: ["SenderId", "All"]}
    assert len(queue.receive_one(VisibilityTimeout=0, **choose)["Attributes"]) == 4
    assert "Attributes" not in queue.receive_one(VisibilityTimeout=0, **{parameter: []})


def test_both_parameters_add_up(queue: SqsQueue) -> None:
    queue.send("x")
    message = queue.receive_one(AttributeNames=["SenderId"], MessageSystemAttributeNames=["ApproximateReceiveCount"])
    assert message["Attributes"].keys() == {"SenderId", "ApproximateReceiveCount"}


@pytest.mark.parametrize("parameter", ["AttributeNames", "MessageSystemAttributeNames"])
@pytest.mark.parametrize("name", ["Foo", "senderId", "QueueArn", "VisibilityTimeout", ""])
def test_unknown_system_attributes_are_refused(queue: SqsQueue, parameter: str, name: str) -> None:
    queue.send("x")
    with refused("InvalidAttributeName", f"Unknown Attribute {name}."):
        queue.sqs.receive_message(QueueUrl=queue.url, **{parameter: ["SenderId", name]})
    assert queue.counts() == (1, 0, 0)


def test_fifo_messages_have_more_attributes(fifo: SqsQueue) -> None:
    sent = fifo.send("x", MessageGroupId="g", MessageDeduplicationId="d")
    attributes = fifo.receive_one(MessageSystemAttributeNames=["All"])["Attributes"]
    assert attributes.keys() == {
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "MessageGroupId",
        "MessageDeduplicationId",
        "SequenceNumber",
    }
    assert attributes["MessageGroupId"] == "g"
    assert attributes["MessageDeduplicationId"] == "d"
    assert attributes["SequenceNumber"] == sent["SequenceNumber"]


@pytest.mark.parametrize("parts", ["2", "7"])
def test_several_physical_queues_look_like_one(make: QueueMaker, parts: str) -> None:
    queue = make(RockdovePhysicalQueues=parts)
    bodies = {str(number) for number in range(40)}
    queue.send_all(*sorted(bodies))
    got: list[str] = []
    for _ in range(4):
        received = queue.bodies(10)
        assert len(received) == 10, "a receive gives as many as it can, wherever they are"
        got += received
    assert sorted(got) == sorted(bodies)
    assert queue.receive() == []


def test_large_messages_come_a_few_at_a_time_as_xml(web: Web, url: str) -> None:
    """A character may become six there: an answer with ten such messages would keep others waiting."""
    for _ in range(4):
        web.call("AmazonSQS.SendMessage", {"QueueUrl": url, "MessageBody": '"' * 1_000_000})
    sizes = []
    for _ in range(2):
        reply = web.post("/", Action="ReceiveMessage", QueueUrl=url, MaxNumberOfMessages="10")
        assert reply.status == 200
        sizes.append(reply.text.count("<Message>"))
    assert sum(sizes) == 4
    assert max(sizes) < 4
