"""Stopping and starting again: nobody is left hanging, and on a durable store everything is as it was."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.raw import Wire, json_request
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.sns import attribute, sns_client, texts
from tests.support.sqs_queue import SqsQueue


@pytest.fixture
def durable(services: Services) -> RunningService:
    """One of its own, to stop and to start."""
    return services("sqlite")


@pytest.fixture
def make(durable: RunningService, new_name: NewName) -> QueueMaker:
    return QueueMaker(durable.client(), new_name)


def _reopened(service: RunningService, *queues: SqsQueue) -> Iterator[SqsQueue]:
    service.restart()
    return (SqsQueue(service.client(), queue.url) for queue in queues)


def test_messages_in_every_state(durable: RunningService, make: QueueMaker) -> None:
    queue = make()
    attributes = {"a": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
    queue.send("in flight", MessageAttributes=attributes, MessageGroupId="tenant")
    message = queue.receive_one()
    queue.send("visible")
    queue.send("delayed", DelaySeconds=10)
    [queue] = _reopened(durable, queue)
    assert queue.counts() == (1, 1, 1)
    assert queue.bodies() == ["visible"]
    durable.advance(10)
    assert queue.bodies() == ["delayed"]
    durable.advance(20)
    again = queue.receive(MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])
    assert [one["MessageId"] for one in again if one["Body"] == "in flight"] == [message["MessageId"]]
    first = next(one for one in again if one["Body"] == "in flight")
    assert first["MessageAttributes"] == attributes
    assert first["Attributes"]["ApproximateReceiveCount"] == "2"
    assert first["Attributes"]["MessageGroupId"] == "tenant"


def test_handles_go_on_working(durable: RunningService, make: QueueMaker) -> None:
    queue, fifo = make(), make.fifo()
    queue.send_all("1", "2")
    fifo.post("g", "1", "2")
    first, second = queue.receive()
    of_fifo = fifo.receive_one()
    queue, fifo = _reopened(durable, queue, fifo)
    queue.delete(first)
    queue.hide(second, 0)
    fifo.hide(of_fifo, 100)
    fifo.delete(of_fifo)
    assert queue.bodies() == ["2"]
    assert fifo.bodies() == ["2"]


def test_what_was_deleted_or_purged_stays_away(durable: RunningService, make: QueueMaker) -> None:
    queue, purged = make(), make()
    queue.send_all("1", "2")
    queue.delete(queue.receive_one())
    purged.send_all("1", "2")
    purged.receive_one()
    purged.sqs.purge_queue(QueueUrl=purged.url)
    queue, purged = _reopened(durable, queue, purged)
    durable.advance(1000)
    assert queue.bodies() == ["2"]
    assert purged.receive() == []
    assert purged.counts() == (0, 0, 0)


def test_fifo_groups_deduplication_and_sequence(durable: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo()
    sent = fifo.send("1", MessageGroupId="g")
    fifo.post("g", "2")
    fifo.post("h", "3")
    assert fifo.bodies(1) == ["1"]
    [fifo] = _reopened(durable, fifo)
    # The group is still blocked, the other is not.
    assert fifo.bodies() == ["3"]
    again = fifo.send("1", MessageGroupId="g")
    assert (again["MessageId"], again["SequenceNumber"]) == (sent["MessageId"], sent["SequenceNumber"])
    new = fifo.send("4", MessageGroupId="g")
    assert int(new["SequenceNumber"]) > int(sent["SequenceNumber"])
    durable.advance(30)
    assert [body for body in fifo.bodies() if body != "3"] == ["1", "2", "4"]
    durable.advance(270)
    assert fifo.send("1", MessageGroupId="g")["MessageId"] != sent["MessageId"]


def test_a_fifo_queues_delay(durable: RunningService, make: QueueMaker) -> None:
    fifo = make.fifo(DelaySeconds="10")
    fifo.post("g", "1")
    [fifo] = _reopened(durable, fifo)
    assert fifo.counts() == (0, 0, 1)
    assert fifo.receive() == []
    durable.advance(10)
    assert fifo.bodies() == ["1"]


def test_policies_and_permissions(durable: RunningService, make: QueueMaker) -> None:
    dead, queue = make(), make()
    queue.redrive_to(dead, 3)
    queue.sqs.add_permission(QueueUrl=queue.url, Label="x", AWSAccountIds=["111111111111"], Actions=["*"])
    before = queue.attributes("All")
    [queue] = _reopened(durable, queue)
    assert queue.attributes("All") == before
    assert json.loads(before["Policy"])["Statement"][0]["Sid"] == "x"
    assert [
        url.rpartition("/")[2] for url in queue.sqs.list_dead_letter_source_queues(QueueUrl=dead.url)["queueUrls"]
    ] == [queue.name]


def test_the_minute_after_a_purge(durable: RunningService, make: QueueMaker) -> None:
    queue = make()
    queue.sqs.purge_queue(QueueUrl=queue.url)
    [queue] = _reopened(durable, queue)
    with refused("AWS.SimpleQueueService.PurgeQueueInProgress", status=403):
        queue.sqs.purge_queue(QueueUrl=queue.url)


def test_who_waits_gets_an_answer_before_the_end(services: Services, store: str, new_name: NewName) -> None:
    service = services(store, real_time=True)
    queue = QueueMaker(service.client(), new_name)()
    waiters = [LongPoll(service.port, queue.url) for _ in range(5)]
    began = time.monotonic()
    service.restart()
    for waiter in waiters:
        reply = waiter.reply()
        assert (reply.status, reply.json.get("Messages", [])) == (200, [])
    assert time.monotonic() - began < 15, "not answered, but out of time"


def test_a_send_that_was_answered_is_kept_and_one_that_was_not_may_be(services: Services, new_name: NewName) -> None:
    """Requests are under way when the service stops: an answer is a promise."""
    service = services("sqlite", real_time=True)
    queue = QueueMaker(service.client(), new_name)()
    wire = Wire(service.port)
    requests = [
        json_request("SendMessage", {"QueueUrl": queue.url, "MessageBody": str(number)}) for number in range(200)
    ]
    wire.send(b"".join(requests))
    service.restart()
    answered = 0
    try:
        while wire.read().status == 200:
            answered += 1
    except (AssertionError, ConnectionResetError):
        # The connection has ended.
        pass
    wire.close()
    queue = SqsQueue(service.client(), queue.url)
    kept = set()
    while bodies := queue.bodies():
        kept |= {int(body) for body in bodies}
    assert kept >= {*range(answered)}
    assert kept == {*range(len(kept))}


def test_topics(durable: RunningService, make: QueueMaker, new_name: NewName) -> None:
    queue, sns = make(), sns_client(durable.endpoint)
    tags = [{"Key": "a", "Value": "b"}]
    arn = sns.create_topic(Name=new_name(), Attributes={"DisplayName": "News"}, Tags=tags)["TopicArn"]
    policy = {"FilterPolicy": '{"kind": ["kept"]}'}
    subscription = sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue.arn, Attributes=policy)["SubscriptionArn"]
    gone = sns.create_topic(Name=new_name("-gone"))["TopicArn"]
    sns.delete_topic(TopicArn=gone)
    sns.close()
    [queue] = _reopened(durable, queue)
    sns = sns_client(durable.endpoint)
    assert [each["TopicArn"] for each in sns.list_topics()["Topics"]] == [arn]
    assert sns.get_topic_attributes(TopicArn=arn)["Attributes"]["DisplayName"] == "News"
    assert sns.list_tags_for_resource(ResourceArn=arn)["Tags"] == tags
    assert policy.items() <= sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"].items()
    for text, kind in (("yes", "kept"), ("no", "other")):
        sns.publish(TopicArn=arn, Message=text, MessageAttributes={"kind": attribute(kind)})
    assert texts(queue) == ["yes"]
    sns.close()
