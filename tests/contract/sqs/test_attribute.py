"""GetQueueAttributes and SetQueueAttributes: exactly what AWS returns, what can be set, and what can be taken away."""

import json
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.contract.sqs.test_create import RANGES
from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue, redrive

STANDARD = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}
FIFO = STANDARD | {
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoQueue": "true",
    "FifoThroughputLimit": "perQueue",
}
POLICY = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}],
    }
)


def _fixed(queue: SqsQueue, service: RunningService) -> dict[str, str]:
    """What is different for every queue."""
    now = str(int(service.now_s))
    arn = f"arn:aws:sqs:us-east-1:000000000000:{queue.name}"
    return {"QueueArn": arn, "CreatedTimestamp": now, "LastModifiedTimestamp": now}


def test_all_of_a_standard_queue_is_exactly_this(service: RunningService, queue: SqsQueue) -> None:
    assert queue.attributes("All") == STANDARD | _fixed(queue, service)


def test_all_of_a_fifo_queue_is_exactly_this(service: RunningService, make: QueueMaker) -> None:
    queue = make.fifo(ContentBasedDeduplication="false")
    assert queue.attributes("All") == FIFO | _fixed(queue, service)


def test_what_was_set_is_returned_too(make: QueueMaker) -> None:
    target = make()
    extra = {
        "Policy": POLICY,
        "RedrivePolicy": redrive(target.arn, 5),
        "RedriveAllowPolicy": json.dumps({"redrivePermission": "allowAll"}),
        "RockdoveOrderHint": "7",
        "RockdovePhysicalQueues": "2",
    }
    told = make(**extra).attributes("All")
    assert told.keys() == STANDARD.keys() | _FIXED | extra.keys()
    assert {name: told[name] for name in ("RockdoveOrderHint", "RockdovePhysicalQueues")} == {
        "RockdoveOrderHint": "7",
        "RockdovePhysicalQueues": "2",
    }
    for name in ("Policy", "RedrivePolicy", "RedriveAllowPolicy"):
        assert json.loads(told[name]) == json.loads(extra[name])


_FIXED = {"QueueArn", "CreatedTimestamp", "LastModifiedTimestamp"}


def test_names_choose(queue: SqsQueue) -> None:
    assert queue.attributes("VisibilityTimeout", "DelaySeconds") == {"VisibilityTimeout": "30", "DelaySeconds": "0"}
    assert queue.attributes("VisibilityTimeout", "VisibilityTimeout") == {"VisibilityTimeout": "30"}
    assert queue.attributes("QueueArn", "All").keys() == queue.attributes("All").keys()


def test_what_was_not_set_is_left_out(queue: SqsQueue) -> None:
    assert queue.attributes("Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId") == {}
    assert queue.attributes("Policy", "DelaySeconds") == {"DelaySeconds": "0"}


def test_ours_are_returned_by_name_whether_set_or_not(queue: SqsQueue) -> None:
    ours = {"RockdoveOrderHint": "1", "RockdovePhysicalQueues": "1"}
    assert queue.attributes(*ours) == ours


def test_a_request_for_nothing_gets_nothing(queue: SqsQueue) -> None:
    """Documented: "if you don't specify values for this parameter, the request returns empty results"."""
    assert queue.attributes() == {}
    assert queue.sqs.get_queue_attributes(QueueUrl=queue.url).get("Attributes", {}) == {}


@pytest.mark.parametrize("name", ["Foobar", "visibilityTimeout", "", "all", "SenderId", "RockdoveNothing"])
def test_an_unknown_name_is_refused(queue: SqsQueue, name: str) -> None:
    with refused("InvalidAttributeName", f"Unknown Attribute {name}."):
        queue.attributes("QueueArn", name)


def test_timestamps_are_seconds_and_the_second_moves_with_changes(service: RunningService, queue: SqsQueue) -> None:
    created = int(service.now_s)
    service.advance(100)
    queue.send()
    queue.receive()
    names = ("CreatedTimestamp", "LastModifiedTimestamp")
    assert queue.attributes(*names) == dict.fromkeys(names, str(created))
    queue.set(DelaySeconds="1")
    assert queue.attributes(*names) == {
        "CreatedTimestamp": str(created),
        "LastModifiedTimestamp": str(int(service.now_s)),
    }


@pytest.mark.parametrize(("name", "least", "most", "default"), RANGES)
def test_numbers_can_be_set_within_their_range(queue: SqsQueue, name: str, least: int, most: int, default: int) -> None:
    for value in (str(least), str(most), str(default)):
        queue.set(**{name: value})
        assert queue.attributes(name) == {name: value}
    for value in (str(least - 1), str(most + 1), "", "x", "7.0"):
        with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}. Reason:"):
            queue.set(**{name: value})
    assert queue.attributes(name) == {name: str(default)}


def test_a_number_is_returned_as_sqs_writes_it(make: QueueMaker) -> None:
    queue = make(DelaySeconds="007", RockdoveOrderHint="+3", KmsMasterKeyId="007")
    queue.set(VisibilityTimeout="0000")
    got = queue.attributes("DelaySeconds", "VisibilityTimeout", "RockdoveOrderHint", "KmsMasterKeyId")
    assert got == {
        "DelaySeconds": "7",
        "VisibilityTimeout": "0",
        "RockdoveOrderHint": "3",
        "KmsMasterKeyId": "007",
    }


def test_setting_some_leaves_the_others(make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="20", ReceiveMessageWaitTimeSeconds="10")
    before = queue.attributes("All")
    queue.set(VisibilityTimeout="69", MaximumMessageSize="2048")
    assert queue.attributes("All") == before | {"VisibilityTimeout": "69", "MaximumMessageSize": "2048"}


def test_one_bad_value_and_nothing_is_set(queue: SqsQueue) -> None:
    before = queue.attributes("All")
    with refused("InvalidAttributeValue"):
        queue.set(DelaySeconds="5", VisibilityTimeout="43201")
    with refused("InvalidAttributeName"):
        queue.set(DelaySeconds="5", Foo="1")
    assert queue.attributes("All") == before


@pytest.mark.parametrize(
    "name", ["Foo", "", "All", "QueueArn", "CreatedTimestamp", "LastModifiedTimestamp", "ApproximateNumberOfMessages"]
)
def test_what_cannot_be_set_is_unknown(queue: SqsQueue, name: str) -> None:
    with refused("InvalidAttributeName", f"Unknown Attribute {name}."):
        queue.set(**{name: "1"})


def test_a_queue_cannot_change_its_kind(queue: SqsQueue, fifo: SqsQueue) -> None:
    """Recorded from SQS: the attribute is unknown to standard queues, and on FIFO queues only `true` is no change."""
    with refused("InvalidAttributeName", "Unknown Attribute FifoQueue."):
        queue.set(FifoQueue="true")
    fifo.set(FifoQueue="true")
    text = "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
    with refused("InvalidAttributeValue", text):
        fifo.set(FifoQueue="false")
    assert fifo.attributes("FifoQueue") == {"FifoQueue": "true"}


def test_deduplication_can_be_changed_on_fifo_queues_only(queue: SqsQueue, fifo: SqsQueue) -> None:
    fifo.set(ContentBasedDeduplication="false")
    assert fifo.attributes("ContentBasedDeduplication") == {"ContentBasedDeduplication": "false"}
    fifo.set(ContentBasedDeduplication="true")
    with refused("InvalidAttributeName", "Unknown Attribute ContentBasedDeduplication."):
        queue.set(ContentBasedDeduplication="true")


def test_high_throughput_can_be_switched_on_and_off(fifo: SqsQueue) -> None:
    high = {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
    with refused("InvalidAttributeValue"):
        fifo.set(FifoThroughputLimit="perMessageGroupId")
    fifo.set(**high)
    assert fifo.attributes(*high) == high
    with refused("InvalidAttributeValue"):
        fifo.set(DeduplicationScope="queue")
    fifo.set(DeduplicationScope="queue", FifoThroughputLimit="perQueue")
    assert fifo.attributes(*high) == {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("Policy", POLICY), ("RedriveAllowPolicy", '{"redrivePermission": "denyAll"}'), ("RedrivePolicy", "")],
)
def test_an_empty_value_takes_a_document_away(make: QueueMaker, name: str, value: str) -> None:
    queue = make()
    queue.set(**{name: value or redrive(make().arn, 2)})
    assert name in queue.attributes("All")
    queue.set(**{name: ""})
    assert name not in queue.attributes("All")
    queue.set(**{name: ""})
    assert queue.attributes(name) == {}


def test_a_new_visibility_timeout_holds_for_the_next_receive(service: RunningService, queue: SqsQueue) -> None:
    queue.send_all("1", "2")
    queue.receive_one()
    queue.set(VisibilityTimeout="5")
    queue.receive_one()
    service.advance(5)
    assert len(queue.receive(VisibilityTimeout=0)) == 1
    service.advance(25)
    assert len(queue.receive()) == 2


def test_settings_survive_a_restart(services: Any, new_name: Any) -> None:
    service = services("sqlite")
    web = Web(service.port)
    name = new_name()
    url = web.create(name, VisibilityTimeout="77", RockdoveOrderHint="3")
    web.call("TagQueue", {"QueueUrl": url, "Tags": {"a": "b"}})
    before = web.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["All"]}).json
    web.close()
    service.restart()
    web = Web(service.port)
    assert web.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["All"]}).json == before
    assert web.call("ListQueueTags", {"QueueUrl": url}).json["Tags"] == {"a": "b"}
    web.close()
