"""RedrivePolicy and RedriveAllowPolicy: what they may be, and who may use whom."""

import json
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue, redrive


def _invalid(value: str, reason: str) -> str:
    return f"Value {value} for parameter RedrivePolicy is invalid. Reason: {reason}"


def test_the_policy_comes_back_as_a_document(make: QueueMaker) -> None:
    dead = make()
    queue = make(RedrivePolicy=redrive(dead.arn, 10))
    told = json.loads(queue.attributes("RedrivePolicy")["RedrivePolicy"])
    assert told == {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 10}


@pytest.mark.parametrize("count", ["1", 1, 1000, "1000"])
def test_counts_that_are_taken(make: QueueMaker, count: int | str) -> None:
    dead = make()
    queue = make(RedrivePolicy=redrive(dead.arn, count))
    told = json.loads(queue.attributes("RedrivePolicy")["RedrivePolicy"])
    assert str(told["maxReceiveCount"]) == str(count)


@pytest.mark.parametrize("count", [0, -1, 1001, "", "invalid", 1.5, None, True, [1]])
def test_counts_that_are_refused(make: QueueMaker, count: Any) -> None:
    dead, queue = make(), make()
    with refused("InvalidParameterValue"):
        queue.set(RedrivePolicy=redrive(dead.arn, count))
    assert queue.attributes("RedrivePolicy") == {}


@pytest.mark.parametrize(
    "policy",
    [
        "nonsense",
        "[]",
        "{}",
        "null",
        '"x"',
        '{"maxReceiveCount": 5}',
        '{"deadLetterTargetArn": 5, "maxReceiveCount": 5}',
    ],
)
def test_what_is_no_redrive_policy_is_refused(queue: SqsQueue, policy: str) -> None:
    with refused("InvalidParameterValue"):
        queue.set(RedrivePolicy=policy)


def test_both_members_must_be_there_and_no_other(make: QueueMaker) -> None:
    dead, queue = make(), make()
    value = json.dumps({"deadLetterTargetArn": dead.arn})
    text = _invalid(value, "Redrive policy does not contain mandatory attribute: maxReceiveCount.")
    with refused("InvalidParameterValue", text):
        queue.set(RedrivePolicy=value)
    with refused("InvalidParameterValue"):
        queue.set(RedrivePolicy=json.dumps({"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1, "extra": 1}))


@pytest.mark.parametrize("arn", ["dummy", "", "arn:aws:sns:us-east-1:000000000000:x", "arn:aws:sqs:us-east-1:x"])
def test_a_target_that_is_no_arn(queue: SqsQueue, arn: str) -> None:
    value = redrive(arn, 42)
    with refused("InvalidParameterValue", _invalid(value, "Invalid value for deadLetterTargetArn.")):
        queue.set(RedrivePolicy=value)


def test_a_target_that_is_not_there(queue: SqsQueue, make: QueueMaker) -> None:
    value = redrive("arn:aws:sqs:us-east-1:000000000000:never-made", 1)
    text = _invalid(value, "Dead letter target does not exist.")
    with refused("InvalidParameterValue", text):
        queue.set(RedrivePolicy=value)
    with refused("InvalidParameterValue", text):
        make(RedrivePolicy=value)


def test_a_target_of_the_other_kind(make: QueueMaker) -> None:
    """Documented: the dead-letter queue of a FIFO queue "must also be a FIFO queue", and so for standard ones."""
    standard, fifo = make(), make.fifo()
    with refused("InvalidParameterValue"):
        standard.redrive_to(fifo, 1)
    with refused("InvalidParameterValue"):
        fifo.redrive_to(standard, 1)


def test_the_region_of_a_target_does_not_matter(make: QueueMaker) -> None:
    """One service is one region: another one in an ARN names the same queue."""
    dead, queue = make(), make(VisibilityTimeout="0")
    queue.set(RedrivePolicy=redrive(dead.arn.replace("us-east-1", "eu-central-1"), 1))
    queue.send("x")
    queue.receive_one()
    assert queue.receive() == []
    assert dead.bodies() == ["x"]


# Who may use a queue for its dead letters.


def _allow(permission: str, *arns: str) -> str:
    return json.dumps({"redrivePermission": permission} | ({"sourceQueueArns": arns} if arns else {}))


def test_all_may_unless_it_is_said_otherwise(make: QueueMaker) -> None:
    dead = make()
    make().redrive_to(dead, 1)
    dead.set(RedriveAllowPolicy=_allow("allowAll"))
    make().redrive_to(dead, 1)


def test_none_may(make: QueueMaker) -> None:
    dead, queue = make(RedriveAllowPolicy=_allow("denyAll")), make()
    with refused("InvalidParameterValue") as fault:
        queue.redrive_to(dead, 1)
    assert queue.name in fault["Message"]
    with refused("InvalidParameterValue"):
        make(RedrivePolicy=redrive(dead.arn, 1))
    dead.set(RedriveAllowPolicy="")
    queue.redrive_to(dead, 1)


def test_some_may(make: QueueMaker) -> None:
    friend, stranger = make(), make()
    foreign = friend.arn.replace("us-east-1", "eu-west-1")
    dead = make(RedriveAllowPolicy=_allow("byQueue", foreign, "arn:aws:sqs:us-east-1:000000000000:another"))
    friend.redrive_to(dead, 1)
    with refused("InvalidParameterValue"):
        stranger.redrive_to(dead, 1)


def test_a_permission_that_was_taken_back_moves_nothing_and_loses_nothing(make: QueueMaker) -> None:
    dead, queue = make(), make(VisibilityTimeout="0")
    queue.redrive_to(dead, 1)
    queue.send("x")
    dead.set(RedriveAllowPolicy=_allow("denyAll"))
    for _ in range(3):
        queue.receive()
    assert queue.counts()[0] + dead.counts()[0] == 1


@pytest.mark.parametrize(
    "policy",
    [
        "nonsense",
        "[]",
        "{}",
        '{"redrivePermission": "maybe"}',
        '{"redrivePermission": "byQueue"}',
        '{"redrivePermission": "byQueue", "sourceQueueArns": []}',
        '{"redrivePermission": "byQueue", "sourceQueueArns": "arn:aws:sqs:us-east-1:000000000000:x"}',
        '{"redrivePermission": "byQueue", "sourceQueueArns": ["dummy"]}',
        '{"redrivePermission": "byQueue", "sourceQueueArns": [5]}',
        '{"redrivePermission": "allowAll", "sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:x"]}',
        '{"redrivePermission": "denyAll", "sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:x"]}',
        '{"sourceQueueArns": ["arn:aws:sqs:us-east-1:000000000000:x"]}',
        '{"redrivePermission": "allowAll", "extra": 1}',
    ],
)
def test_what_is_no_redrive_allow_policy_is_refused(queue: SqsQueue, policy: str) -> None:
    with refused("InvalidParameterValue"):
        queue.set(RedriveAllowPolicy=policy)
    assert queue.attributes("RedriveAllowPolicy") == {}


def test_up_to_ten_sources_are_named(queue: SqsQueue) -> None:
    arns = [f"arn:aws:sqs:us-east-1:000000000000:source-{number}" for number in range(11)]
    queue.set(RedriveAllowPolicy=_allow("byQueue", *arns[:10]))
    with refused("InvalidParameterValue"):
        queue.set(RedriveAllowPolicy=_allow("byQueue", *arns))
