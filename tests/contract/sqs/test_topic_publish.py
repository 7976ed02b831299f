"""What is published to a topic, and what of it gets to which queues."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from rockdove.core import limits
from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.contract.sqs.test_topic import fifo_topic, sns, subscribe, topic
from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sns import attribute, envelopes, texts
from tests.support.sqs_queue import SqsQueue

__all__ = ["fifo_topic", "sns", "topic"]


@pytest.fixture
def make(service: RunningService, new_name: NewName) -> QueueMaker:
    return QueueMaker(service.client(), new_name)


def filtered(sns: Any, topic: str, make: QueueMaker, policy: dict[str, Any], scope: str) -> SqsQueue:
    """A queue that gets only what fits."""
    queue = make()
    wanted = {"FilterPolicy": json.dumps(policy), "FilterPolicyScope": scope, "RawMessageDelivery": "true"}
    subscribe(sns, topic, queue, **wanted)
    return queue


def dead_letters(queue: SqsQueue) -> str:
    return json.dumps({"deadLetterTargetArn": queue.arn})


# What queues get.


def test_every_queue_gets_an_envelope(service: RunningService, sns: Any, topic: str, make: QueueMaker) -> None:
    queues = [make(), make()]
    arns = [subscribe(sns, topic, queue) for queue in queues]
    attributes = {"kind": attribute("a < b"), "size": attribute(5), "raw": attribute(b"\0\xff")}
    published = sns.publish(TopicArn=topic, Message='say "ü"', Subject="news", MessageAttributes=attributes)
    for queue, arn in zip(queues, arns, strict=True):
        [message] = queue.receive(MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])
        assert "MessageAttributes" not in message
        assert message["Attributes"]["SenderId"] == "000000000000"
        envelope = json.loads(message["Body"])
        sent = datetime.fromisoformat(envelope.pop("Timestamp"))
        assert abs(sent.timestamp() - service.now_s) < 1
        unsubscribe = urlsplit(envelope.pop("UnsubscribeURL"))
        assert f"http://{unsubscribe.netloc}" == service.endpoint
        assert arn in unsubscribe.query
        assert envelope == {
            "Type": "Notification",
            "MessageId": published["MessageId"],
            "TopicArn": topic,
            "Subject": "news",
            "Message": 'say "ü"',
            "SignatureVersion": "1",
            "Signature": "",
            "SigningCertURL": "",
            "MessageAttributes": {
                "kind": {"Type": "String", "Value": "a < b"},
                "size": {"Type": "Number", "Value": "5"},
                "raw": {"Type": "Binary", "Value": "AP8="},
            },
        }


def test_the_unsubscribe_url_ends_the_subscription(web: Web, sns: Any, topic: str, make: QueueMaker) -> None:
    queue = make()
    subscribe(sns, topic, queue)
    sns.publish(TopicArn=topic, Message="one")
    [envelope] = envelopes(queue)
    url = urlsplit(envelope["UnsubscribeURL"])
    parameters = dict(pair.split("=", 1) for pair in url.query.split("&"))
    assert web.post("/", {}, **parameters).status == 200
    sns.publish(TopicArn=topic, Message="two")
    assert queue.counts()[0] == 0


def test_raw_messages_are_what_was_published(sns: Any, topic: str, make: QueueMaker) -> None:
    queue = make()
    subscribe(sns, topic, queue, RawMessageDelivery="true")
    attributes = {"kind": attribute("paid"), "raw": attribute(b"\0")}
    sns.publish(TopicArn=topic, Message="plain", Subject="not told", MessageAttributes=attributes)
    [message] = queue.receive(MessageAttributeNames=["All"])
    assert (message["Body"], message["MessageAttributes"]) == ("plain", attributes)


def test_a_message_of_its_own_for_queues(sns: Any, topic: str, make: QueueMaker) -> None:
    queue = make()
    subscribe(sns, topic, queue)
    for texts_by_protocol in ({"default": "all", "sqs": "queues"}, {"default": "all", "email": "people"}):
        sns.publish(TopicArn=topic, Message=json.dumps(texts_by_protocol), MessageStructure="json")
    assert sorted(texts(queue)) == ["all", "queues"]
    for wrong in ("plain", "{}", '{"sqs": "only"}', '{"default": 1}'):
        with refused("InvalidParameter"):
            sns.publish(TopicArn=topic, Message=wrong, MessageStructure="json")
    with refused("InvalidParameter"):
        sns.publish(TopicArn=topic, Message='{"default": "all"}', MessageStructure="xml")


def test_nobody_need_have_subscribed(sns: Any, topic: str) -> None:
    assert sns.publish(TopicArn=topic, Message="m")["MessageId"]
    assert sns.publish(TargetArn=topic, Message="m")["MessageId"]


def test_a_batch(sns: Any, topic: str, make: QueueMaker) -> None:
    queue = make()
    subscribe(sns, topic, queue)
    entries = [{"Id": f"i{n}", "Message": f"m{n}", "Subject": f"s{n}"} for n in range(9)]
    entries.append({"Id": "bad", "Message": "m", "MessageDeduplicationId": "no"})
    answer = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
    assert [each["Id"] for each in answer["Successful"]] == [f"i{n}" for n in range(9)]
    [failed] = answer["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", "InvalidParameter", True)
    found = {each["MessageId"]: each for each in envelopes(queue)}
    assert {found[each["MessageId"]]["Subject"] for each in answer["Successful"]} == {f"s{n}" for n in range(9)}


def test_batches_that_are_refused(sns: Any, topic: str) -> None:
    for entries, code in (
        ([], "EmptyBatchRequest"),
        ([{"Id": f"i{n}", "Message": "m"} for n in range(11)], "TooManyEntriesInBatchRequest"),
        ([{"Id": "a", "Message": "m"}, {"Id": "a", "Message": "n"}], "BatchEntryIdsNotDistinct"),
        ([{"Id": "a b", "Message": "m"}], "InvalidBatchEntryId"),
        ([{"Id": f"i{n}", "Message": "x" * 140_000} for n in range(2)], "BatchRequestTooLong"),
    ):
        with refused(code):
            sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)


@pytest.mark.parametrize(
    "content",
    [
        {"Message": ""},
        {"Message": "x" * (limits.MAX_NOTIFICATION_BYTES + 1)},
        {"Message": "x" * limits.MAX_NOTIFICATION_BYTES, "MessageAttributes": {"a": attribute("b")}},
        {"Message": "m", "Subject": ""},
        {"Message": "m", "Subject": "x" * 101},
        {"Message": "m", "Subject": "a\nb"},
        {"Message": "m", "MessageDeduplicationId": "d"},
        {"Message": "m", "MessageGroupId": "a b"},
        {"Message": "m", "MessageAttributes": {"a": attribute("")}},
        {"Message": "m", "MessageAttributes": {"a": attribute("x", "Number")}},
        {"Message": "m", "MessageAttributes": {"a": attribute("x", "Text")}},
        {"Message": "m", "MessageAttributes": {"AWS.a": attribute("x")}},
    ],
)
def test_messages_that_are_refused(sns: Any, topic: str, make: QueueMaker, content: dict[str, Any]) -> None:
    queue = make()
    subscribe(sns, topic, queue)
    with refused("InvalidParameter"):
        sns.publish(TopicArn=topic, **content)
    assert queue.counts() == (0, 0, 0)


def test_the_largest_message(sns: Any, topic: str, make: QueueMaker) -> None:
    queue = make()
    subscribe(sns, topic, queue)
    text = '"' * limits.MAX_NOTIFICATION_BYTES
    sns.publish(TopicArn=topic, Message=text)
    assert texts(queue) == [text]


def test_where_a_message_is_published_to(sns: Any, topic: str) -> None:
    for target in (
        {},
        {"PhoneNumber": "+4930123456"},
        {"TopicArn": topic, "TargetArn": f"{topic}2"},
        {"TopicArn": "x"},
    ):
        with refused("InvalidParameter"):
            sns.publish(Message="m", **target)


# Filters.


def test_filters_by_attributes(sns: Any, topic: str, make: QueueMaker) -> None:
    paid = filtered(sns, topic, make, {"kind": ["paid"], "total": [{"numeric": [">", 10]}]}, "MessageAttributes")
    other = filtered(sns, topic, make, {"kind": [{"anything-but": "paid"}]}, "MessageAttributes")
    every = make()
    subscribe(sns, topic, every, RawMessageDelivery="true")
    for text, attributes in (
        ("small", {"kind": attribute("paid"), "total": attribute(5)}),
        ("large", {"kind": attribute("paid"), "total": attribute(50)}),
        ("open", {"kind": attribute("open"), "total": attribute(50)}),
        ("plain", {}),
    ):
        sns.publish(TopicArn=topic, Message=text, MessageAttributes=attributes)
    assert paid.bodies() == ["large"]
    assert other.bodies() == ["open"]
    assert sorted(every.bodies()) == ["large", "open", "plain", "small"]


def test_filters_by_the_body(sns: Any, topic: str, make: QueueMaker) -> None:
    policy = {"order": {"items": {"kind": ["book"]}}, "$or": [{"total": [{"numeric": [">", 10]}]}, {"rush": [True]}]}
    queue = filtered(sns, topic, make, policy, "MessageBody")
    book = {"order": {"items": [{"kind": "pen"}, {"kind": "book"}]}}
    fitting = [{**book, "total": 11}, {**book, "rush": True}]
    for document in (
        *fitting,
        book,
        {**book, "total": 1},
        {"order": {"items": {"kind": "pen"}}, "rush": True},
        ["x"],
        5,
    ):
        sns.publish(TopicArn=topic, Message=json.dumps(document))
    sns.publish(TopicArn=topic, Message="no JSON")
    assert sorted(queue.bodies()) == sorted(map(json.dumps, fitting))


def test_a_batch_is_filtered_message_by_message(sns: Any, topic: str, make: QueueMaker) -> None:
    queue = filtered(sns, topic, make, {"n": [1, 3]}, "MessageAttributes")
    entries = [{"Id": str(n), "Message": str(n), "MessageAttributes": {"n": attribute(n)}} for n in range(5)]
    assert len(sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)["Successful"]) == 5
    assert sorted(queue.bodies()) == ["1", "3"]


# What cannot be delivered.


def test_what_a_deleted_queue_would_get(sns: Any, topic: str, make: QueueMaker) -> None:
    gone, dropped, dead, other = make(), make(), make(), make()
    subscribe(sns, topic, gone, RedrivePolicy=dead_letters(dead))
    subscribe(sns, topic, dropped)
    subscribe(sns, topic, other)
    for queue in (gone, dropped):
        queue.sqs.delete_queue(QueueUrl=queue.url)
    sns.publish(TopicArn=topic, Message="m")
    [letter] = dead.receive(MessageAttributeNames=["All"])
    assert json.loads(letter["Body"])["Message"] == "m"
    assert letter["MessageAttributes"]["ErrorCode"]["StringValue"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert "does not exist" in letter["MessageAttributes"]["ErrorMessage"]["StringValue"]
    assert texts(other) == ["m"]


def test_what_a_queue_does_not_take(sns: Any, topic: str, make: QueueMaker) -> None:
    small, dead = make(MaximumMessageSize="1024"), make()
    subscribe(sns, topic, small, RawMessageDelivery="true", RedrivePolicy=dead_letters(dead))
    entries = [{"Id": "s", "Message": "short"}, {"Id": "l", "Message": "x" * 2_000}]
    assert len(sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)["Successful"]) == 2
    assert small.bodies() == ["short"]
    assert dead.bodies() == ["x" * 2_000]


def test_what_has_too_many_attributes_for_a_queue(sns: Any, topic: str, make: QueueMaker) -> None:
    """An envelope has room for them, so the dead-letter queue gets that."""
    raw, enveloped, dead = make(), make(), make()
    subscribe(sns, topic, raw, RawMessageDelivery="true", RedrivePolicy=dead_letters(dead))
    subscribe(sns, topic, enveloped)
    attributes = {f"n{number}": attribute("v") for number in range(11)}
    sns.publish(TopicArn=topic, Message="m", MessageAttributes=attributes)
    assert raw.bodies() == []
    [letter] = dead.receive(MessageAttributeNames=["All"])
    [usual] = enveloped.receive()
    for message in (letter, usual):
        envelope = json.loads(message["Body"])
        assert (envelope["Message"], set(envelope["MessageAttributes"])) == ("m", set(attributes))
    assert letter["MessageAttributes"]["ErrorCode"]["StringValue"] == "InvalidParameterValue"


def test_a_queue_whose_physical_queues_are_down(
    service: RunningService, sns: Any, topic: str, make: QueueMaker
) -> None:
    """For a while it takes nothing: what has a dead-letter queue goes there, else the publisher is told."""
    full, dead = make(), make()
    subscription = subscribe(sns, topic, full, RedrivePolicy=dead_letters(dead))
    web = Web(service.port)
    assert web.call("Rockdove.SetPhysicalQueue", {"QueueUrl": full.url, "Index": 0, "State": "down"}).status == 200
    sns.publish(TopicArn=topic, Message="to the dead letters")
    assert texts(dead) == ["to the dead letters"]
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="RedrivePolicy", AttributeValue="")
    reply = web.call("AmazonSNS.Publish", {"TopicArn": topic, "Message": "refused"})
    assert (reply.status, reply.json["__type"]) == (503, "com.amazon.coral.service#ServiceUnavailable")
    assert web.call("Rockdove.SetPhysicalQueue", {"QueueUrl": full.url, "Index": 0, "State": "up"}).status == 200
    web.close()
    sns.publish(TopicArn=topic, Message="taken")
    assert texts(full) == ["taken"]


# FIFO.


@pytest.fixture
def ordered(sns: Any, new_name: NewName) -> str:
    """A FIFO topic that deduplicates by content."""
    attributes = {"FifoTopic": "true", "ContentBasedDeduplication": "true"}
    arn: str = sns.create_topic(Name=new_name(".fifo"), Attributes=attributes)["TopicArn"]
    return arn


def test_groups_keep_their_order(sns: Any, ordered: str, make: QueueMaker) -> None:
    queues = [make.fifo(), make.fifo(ContentBasedDeduplication="false")]
    for queue in queues:
        subscribe(sns, ordered, queue)
    numbers = [
        int(sns.publish(TopicArn=ordered, Message=f"m{n}", MessageGroupId=f"g{n % 2}")["SequenceNumber"])
        for n in range(10)
    ]
    assert numbers == sorted(set(numbers))
    for queue in queues:
        found = envelopes(queue)
        assert [
            int(each["SequenceNumber"]) for each in found if each["Message"] in {f"m{n}" for n in range(0, 10, 2)}
        ] == (numbers[::2])
        assert len(found) == 10
        assert all("Signature" not in each for each in found)


def test_duplicates_are_published_once(service: RunningService, sns: Any, fifo_topic: str, make: QueueMaker) -> None:
    queue = make.fifo(ContentBasedDeduplication="false")
    subscribe(sns, fifo_topic, queue, RawMessageDelivery="true")
    for text in ("first", "second"):
        sns.publish(TopicArn=fifo_topic, Message=text, MessageGroupId="g", MessageDeduplicationId="same")
    assert queue.bodies() == ["first"]
    assert queue.counts() == (0, 1, 0)


def test_standard_queues_get_what_fifo_topics_publish(sns: Any, ordered: str, make: QueueMaker) -> None:
    queue = make()
    subscribe(sns, ordered, queue, RawMessageDelivery="true")
    sns.publish(TopicArn=ordered, Message="m", MessageGroupId="g")
    [message] = queue.receive(MessageSystemAttributeNames=["All"])
    assert (message["Body"], message["Attributes"]["MessageGroupId"]) == ("m", "g")


def test_what_fifo_topics_need(sns: Any, fifo_topic: str) -> None:
    with refused("InvalidParameter", "Invalid parameter: The MessageGroupId parameter is required for FIFO topics"):
        sns.publish(TopicArn=fifo_topic, Message="m", MessageDeduplicationId="d")
    with refused("InvalidParameter"):
        sns.publish(TopicArn=fifo_topic, Message="m", MessageGroupId="g")


# Many.


def test_many_queues_get_a_large_message(sns: Any, topic: str, make: QueueMaker) -> None:
    queues = [make() for _ in range(40)]
    for queue in queues:
        subscribe(sns, topic, queue)
    text = "x" * 200_000
    sns.publish(TopicArn=topic, Message=text)
    assert all(texts(queue) == [text] for queue in queues)
