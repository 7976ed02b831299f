"""Deduplication in FIFO queues: by id, by content, for exactly five minutes, by queue or by group."""

import hashlib

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.digest import md5
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


@pytest.fixture
def plain(make: QueueMaker) -> SqsQueue:
    """Deduplicates by id only."""
    return make.fifo(ContentBasedDeduplication="false")


def test_an_id_is_needed_unless_content_serves(plain: SqsQueue) -> None:
    text = (
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )
    with refused("InvalidParameterValue", text):
        plain.send("x", MessageGroupId="g")
    plain.set(ContentBasedDeduplication="true")
    plain.send("x", MessageGroupId="g")
    plain.set(ContentBasedDeduplication="false")
    with refused("InvalidParameterValue", text):
        plain.send("x", MessageGroupId="g")


def test_a_second_message_with_the_id_is_accepted_and_not_delivered(plain: SqsQueue) -> None:
    first = plain.send("first", MessageGroupId="g", MessageDeduplicationId="same")
    second = plain.send("second", MessageGroupId="g", MessageDeduplicationId="same")
    assert second["MessageId"] == first["MessageId"]
    assert second["SequenceNumber"] == first["SequenceNumber"]
    assert second["MD5OfMessageBody"] == md5("second")
    assert plain.bodies() == ["first"]
    assert plain.counts() == (0, 1, 0)


def test_another_id_is_another_message(plain: SqsQueue) -> None:
    for number in ("1", "2"):
        plain.send("same body", MessageGroupId="g", MessageDeduplicationId=number)
    assert plain.bodies() == ["same body", "same body"]


def test_content_serves_as_an_id(fifo: SqsQueue) -> None:
    attributes = {"a": {"DataType": "String", "StringValue": "not the same"}}
    fifo.send("same", MessageGroupId="g")
    fifo.send("same", MessageGroupId="g", MessageAttributes=attributes)
    fifo.send("other", MessageGroupId="g")
    assert fifo.bodies() == ["same", "other"]


def test_the_id_made_of_content_is_its_sha256(fifo: SqsQueue) -> None:
    """Documented: of the body, and one that is given comes before it."""
    digest = hashlib.sha256("ä body".encode()).hexdigest()
    fifo.send("ä body", MessageGroupId="g")
    fifo.send("another body", MessageGroupId="g", MessageDeduplicationId=digest)
    message = fifo.receive_one(MessageSystemAttributeNames=["MessageDeduplicationId"])
    assert message["Attributes"] == {"MessageDeduplicationId": digest}
    assert fifo.counts() == (0, 1, 0)


def test_an_id_given_comes_before_content(fifo: SqsQueue) -> None:
    fifo.send("same", MessageGroupId="g", MessageDeduplicationId="1")
    fifo.send("same", MessageGroupId="g", MessageDeduplicationId="2")
    fifo.send("not the same", MessageGroupId="g", MessageDeduplicationId="2")
    assert fifo.bodies() == ["same", "same"]


def test_five_minutes_exactly(service: RunningService, plain: SqsQueue) -> None:
    def send(body: str) -> None:
        plain.send(body, MessageGroupId="g", MessageDeduplicationId="same")

    send("first")
    service.advance(299.9)
    send("too early")
    service.advance(0.1)
    send("second")
    assert plain.bodies() == ["first", "second"]
    service.advance(299.9)
    send("too early again")
    assert plain.bodies() == ["first", "second"]


def test_a_duplicate_does_not_prolong_the_five_minutes(service: RunningService, plain: SqsQueue) -> None:
    for _ in range(3):
        plain.send("x", MessageGroupId="g", MessageDeduplicationId="same")
        service.advance(100)
    plain.send("x", MessageGroupId="g", MessageDeduplicationId="same")
    assert plain.counts()[0] == 2


@pytest.mark.parametrize("by_content", ["true", "false"])
def test_receiving_and_deleting_changes_nothing(make: QueueMaker, by_content: str) -> None:
    """Documented: SQS "continues to keep track of the message deduplication ID even after ... deleted"."""
    fifo = make.fifo(ContentBasedDeduplication=by_content)
    ids = {} if by_content == "true" else {"MessageDeduplicationId": "d"}
    first = fifo.send("x", MessageGroupId="g", **ids)
    fifo.delete(fifo.receive_one())
    second = fifo.send("x", MessageGroupId="g", **ids)
    assert second["MessageId"] == first["MessageId"]
    assert fifo.receive() == []
    assert fifo.counts() == (0, 0, 0)


@pytest.mark.parametrize("parts", ["1", "4"])
def test_the_whole_queue_is_the_scope(make: QueueMaker, parts: str) -> None:
    fifo = make.fifo(RockdovePhysicalQueues=parts)
    sent = {fifo.send("same", MessageGroupId=f"group-{number}")["MessageId"] for number in range(8)}
    assert len(sent) == 1
    assert fifo.counts() == (1, 0, 0)


@pytest.mark.parametrize("parts", ["1", "4"])
def test_the_group_is_the_scope_if_so_chosen(make: QueueMaker, parts: str) -> None:
    fifo = make.fifo(DeduplicationScope="messageGroup", RockdovePhysicalQueues=parts)
    for _ in range(2):
        for number in range(8):
            fifo.send("same", MessageGroupId=f"group-{number}")
    assert fifo.counts() == (8, 0, 0)


def test_scopes_do_not_mix_up_groups_and_ids(make: QueueMaker) -> None:
    fifo = make.fifo(DeduplicationScope="messageGroup")
    fifo.send("1", MessageGroupId="a", MessageDeduplicationId="b-c")
    fifo.send("2", MessageGroupId="a-b", MessageDeduplicationId="c")
    fifo.send("3", MessageGroupId="ab", MessageDeduplicationId="c")
    fifo.send("4", MessageGroupId="a", MessageDeduplicationId="bc")
    assert fifo.counts() == (4, 0, 0)


@pytest.mark.parametrize("parts", ["1", "4"])
def test_duplicates_within_one_batch(make: QueueMaker, parts: str) -> None:
    fifo = make.fifo(RockdovePhysicalQueues=parts)
    entries = [
        {"Id": str(number), "MessageBody": f"body {number % 3}", "MessageGroupId": f"g{number}"} for number in range(9)
    ]
    answer = fifo.sqs.send_message_batch(QueueUrl=fifo.url, Entries=entries)
    assert len(answer["Successful"]) == 9
    assert len({entry["MessageId"] for entry in answer["Successful"]}) == 3
    assert fifo.counts() == (3, 0, 0)


@pytest.mark.parametrize("parts", ["1", "4"])
def test_the_first_of_a_batch_is_the_one_that_counts(make: QueueMaker, parts: str) -> None:
    fifo = make.fifo(RockdovePhysicalQueues=parts)
    # The third message has the group of the first one, whose place is served first.
    for key, group in enumerate(("b", "c", "d", "e", "f")):
        entries = [
            {"Id": "1", "MessageBody": f"other {key}", "MessageGroupId": "a", "MessageDeduplicationId": f"other-{key}"},
            {"Id": "2", "MessageBody": f"first {key}", "MessageGroupId": group, "MessageDeduplicationId": f"key-{key}"},
            {"Id": "3", "MessageBody": f"again {key}", "MessageGroupId": "a", "MessageDeduplicationId": f"key-{key}"},
        ]
        sent = fifo.sqs.send_message_batch(QueueUrl=fifo.url, Entries=entries)["Successful"]
        assert len({entry["MessageId"] for entry in sent}) == 2
    assert sorted(fifo.bodies()) == sorted([f"{word} {key}" for word in ("other", "first") for key in range(5)])


def test_queues_do_not_share_ids(make: QueueMaker) -> None:
    for fifo in (make.fifo(), make.fifo()):
        fifo.send("same", MessageGroupId="g", MessageDeduplicationId="d")
        assert fifo.bodies() == ["same"]


def test_a_refused_message_leaves_no_id_behind(make: QueueMaker) -> None:
    fifo = make.fifo(MaximumMessageSize="1024")
    with refused("InvalidParameterValue"):
        fifo.send("x" * 1025, MessageGroupId="g", MessageDeduplicationId="d")
    fifo.send("x", MessageGroupId="g", MessageDeduplicationId="d")
    assert fifo.bodies() == ["x"]
