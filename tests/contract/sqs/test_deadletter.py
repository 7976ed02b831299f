"""Dead letters: after exactly so many deliveries, with their past, and none is lost on the way."""

from contextlib import suppress

import pytest
from botocore.exceptions import ClientError

from tests.contract.sqs.conftest import QueueMaker
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue


def _deliver(service: RunningService, queue: SqsQueue, times: int, timeout: int = 30) -> list[str]:
    """Receive so many times, each after the last has timed out; what came."""
    got = []
    for _ in range(times):
        got += queue.bodies(VisibilityTimeout=timeout)
        service.advance(timeout)
    return got


@pytest.mark.parametrize("after", [1, 2, 5])
def test_exactly_so_many_deliveries(service: RunningService, make: QueueMaker, after: int) -> None:
    dead, queue = make(), make()
    queue.redrive_to(dead, after)
    sent = queue.send("poison")
    assert _deliver(service, queue, after) == ["poison"] * after
    assert dead.counts() == (0, 0, 0)
    assert queue.receive() == []
    assert (queue.counts(), dead.counts()) == ((0, 0, 0), (1, 0, 0))
    message = dead.receive_one(MessageSystemAttributeNames=["All"])
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], "poison")
    # Documented: the count is of receives "across all queues".
    assert message["Attributes"]["ApproximateReceiveCount"] == str(after + 1)
    assert message["Attributes"]["DeadLetterQueueSourceArn"] == queue.arn


def test_a_timeout_of_zero_counts_as_a_delivery_too(make: QueueMaker) -> None:
    dead, queue = make(), make()
    queue.redrive_to(dead, 2)
    queue.send("poison")
    assert [queue.bodies(VisibilityTimeout=0) for _ in range(3)] == [["poison"], ["poison"], []]
    assert dead.bodies() == ["poison"]


def test_what_is_deleted_in_time_stays_out(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make(), make()
    queue.redrive_to(dead, 2)
    queue.send("good")
    queue.receive_one()
    service.advance(30)
    queue.delete(queue.receive_one())
    service.advance(30)
    assert queue.receive() == []
    assert dead.counts() == (0, 0, 0)


def test_good_messages_come_with_the_receive_that_buries_the_dead(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make(), make()
    queue.redrive_to(dead, 1)
    queue.send_all("poison 1", "poison 2", "poison 3")
    queue.receive()
    service.advance(30)
    queue.send("good")
    assert queue.bodies(1) == ["good"]
    queue.receive()
    assert sorted(dead.bodies()) == ["poison 1", "poison 2", "poison 3"]


def test_everything_of_a_message_goes_along(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make(), make()
    queue.redrive_to(dead, 1)
    attributes = {"a": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
    header = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
    sent_ms = int(service.now_s * 1000)
    sent = queue.send("x", MessageAttributes=attributes, MessageSystemAttributes=header, MessageGroupId="tenant")
    service.advance(1)
    queue.receive_one()
    service.advance(30)
    queue.receive()
    message = dead.receive_one(MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"])
    assert message["MessageAttributes"] == attributes
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    told = message["Attributes"]
    assert told["AWSTraceHeader"] == header["AWSTraceHeader"]["StringValue"]
    assert (told["SentTimestamp"], told["MessageGroupId"]) == (str(sent_ms), "tenant")


def test_dead_letters_are_not_delayed(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make(), make(DelaySeconds="5")
    queue.redrive_to(dead, 1)
    queue.send("x")
    service.advance(5)
    _deliver(service, queue, 2)
    assert dead.bodies() == ["x"]


def test_retention_counts_from_the_original_sending(service: RunningService, make: QueueMaker) -> None:
    """Documented in the developer guide, for standard queues: the enqueue timestamp "is unchanged"."""
    dead, queue = make(MessageRetentionPeriod="200"), make(MessageRetentionPeriod="200")
    queue.redrive_to(dead, 1)
    queue.send("x")
    queue.receive_one(VisibilityTimeout=100)
    service.advance(100)
    assert queue.receive() == []
    assert dead.bodies(VisibilityTimeout=0) == ["x"]
    service.advance(99)
    assert dead.bodies(VisibilityTimeout=0) == ["x"]
    service.advance(2)
    assert dead.receive() == []


def test_fifo_retention_counts_from_the_move(service: RunningService, make: QueueMaker) -> None:
    """Documented in the developer guide, for FIFO queues: the enqueue timestamp "resets"."""
    dead, queue = make.fifo(MessageRetentionPeriod="200"), make.fifo(MessageRetentionPeriod="200")
    queue.redrive_to(dead, 1)
    queue.post("g", "x")
    queue.receive_one(VisibilityTimeout=100)
    service.advance(100)
    assert queue.receive() == []
    service.advance(199)
    assert dead.bodies(VisibilityTimeout=0) == ["x"]
    service.advance(2)
    assert dead.receive() == []


def test_fifo_keeps_group_and_order(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make.fifo(), make.fifo(VisibilityTimeout="0")
    queue.redrive_to(dead, 2)
    sent = queue.send("1", MessageGroupId="g")
    queue.post("g", "2", "3")
    assert [queue.bodies() for _ in range(2)] == [["1", "2", "3"]] * 2
    for _ in range(3):
        assert queue.receive() == []
    messages = dead.receive(MessageSystemAttributeNames=["All"])
    assert [message["Body"] for message in messages] == ["1", "2", "3"]
    assert {message["Attributes"]["MessageGroupId"] for message in messages} == {"g"}
    assert {message["Attributes"]["DeadLetterQueueSourceArn"] for message in messages} == {queue.arn}
    assert messages[0]["MessageId"] == sent["MessageId"]


def test_a_fifo_group_goes_on_behind_its_dead(service: RunningService, make: QueueMaker) -> None:
    dead, queue = make.fifo(), make.fifo()
    queue.redrive_to(dead, 1)
    queue.post("g", "poison", "good")
    assert queue.bodies(1) == ["poison"]
    service.advance(30)
    assert queue.bodies() == ["good"]
    assert dead.bodies() == ["poison"]


def test_fifo_dead_letters_are_not_taken_for_duplicates(service: RunningService, make: QueueMaker) -> None:
    dead, first, second = make.fifo(), make.fifo(VisibilityTimeout="0"), make.fifo(VisibilityTimeout="0")
    for queue in (first, second):
        queue.redrive_to(dead, 1)
        queue.post("g", "same body")
        assert queue.bodies() == ["same body"]
        assert queue.receive() == []
    assert dead.counts() == (2, 0, 0)


@pytest.mark.parametrize("parts", ["3"])
def test_several_physical_queues(service: RunningService, make: QueueMaker, parts: str) -> None:
    dead, queue = make(RockdovePhysicalQueues=parts), make(RockdovePhysicalQueues=parts, VisibilityTimeout="0")
    queue.redrive_to(dead, 1)
    bodies = [str(number) for number in range(9)]
    queue.send_all(*bodies)
    assert sorted(queue.bodies()) == bodies
    assert queue.receive() == []
    assert sorted(dead.bodies()) == bodies


def test_a_chain_of_queues(make: QueueMaker) -> None:
    last, middle, first = make(), make(VisibilityTimeout="0"), make(VisibilityTimeout="0")
    middle.redrive_to(last, 2)
    first.redrive_to(middle, 1)
    sent = first.send("x")
    assert first.bodies() == ["x"]
    assert first.receive() == []
    assert [middle.bodies() for _ in range(3)] == [["x"], ["x"], []]
    message = last.receive_one(MessageSystemAttributeNames=["All"])
    assert message["MessageId"] == sent["MessageId"]
    assert message["Attributes"]["DeadLetterQueueSourceArn"] == middle.arn
    assert message["Attributes"]["ApproximateReceiveCount"] == "4"


def test_a_lowered_count_holds_for_what_was_received_before(make: QueueMaker) -> None:
    dead, queue = make(), make(VisibilityTimeout="0")
    queue.redrive_to(dead, 10)
    queue.send("x")
    for _ in range(4):
        queue.receive_one()
    queue.redrive_to(dead, 4)
    assert queue.receive() == []
    assert dead.bodies() == ["x"]


def test_without_a_policy_a_message_is_delivered_for_ever(make: QueueMaker) -> None:
    dead, queue = make(), make(VisibilityTimeout="0")
    queue.redrive_to(dead, 1)
    queue.send("x")
    queue.receive_one()
    queue.set(RedrivePolicy="")
    assert [queue.bodies() for _ in range(5)] == [["x"]] * 5


def test_no_message_is_lost_when_the_dead_letter_queue_is_deleted(make: QueueMaker) -> None:
    dead, queue = make(), make(VisibilityTimeout="0")
    queue.redrive_to(dead, 1)
    queue.send("x")
    dead.sqs.delete_queue(QueueUrl=dead.url)
    assert [queue.bodies() for _ in range(3)] == [["x"]] * 3


def test_a_queue_that_is_its_own_dead_letter_queue_harms_nobody(make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="0")
    # AWS does not say whether it may be.
    with suppress(ClientError):
        queue.redrive_to(queue, 1)
    queue.send("x")
    for _ in range(5):
        queue.receive()
    assert queue.counts() == (1, 0, 0)


def test_dead_letters_survive_a_restart(services: Services) -> None:
    service = services("sqlite")
    sqs = service.client()
    dead = SqsQueue(sqs, sqs.create_queue(QueueName="dead")["QueueUrl"])
    queue = SqsQueue(sqs, sqs.create_queue(QueueName="queue", Attributes={"VisibilityTimeout": "0"})["QueueUrl"])
    queue.redrive_to(dead, 2)
    sent = queue.send("x")
    queue.receive_one()
    service.restart()
    sqs = service.client()
    queue, dead = SqsQueue(sqs, queue.url), SqsQueue(sqs, dead.url)
    assert queue.bodies() == ["x"]
    assert queue.receive() == []
    service.restart()
    dead = SqsQueue(service.client(), dead.url)
    message = dead.receive_one(MessageSystemAttributeNames=["All"])
    assert message["MessageId"] == sent["MessageId"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "3"
