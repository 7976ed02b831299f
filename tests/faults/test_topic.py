"""kill -9 while clients publish: what was answered is in every queue that had subscribed."""

import random
from typing import Any

from tests.faults.test_kill import drain
from tests.support.crowd import Client, Work, live
from tests.support.ledger import Ledger
from tests.support.server import Server, ServerFactory

KILLS = 15
QUEUES = 4
PUBLISHERS = 4
LIFE_S = (0.05, 0.6)


def publish(topic: str, ledger: Ledger, name: str) -> Work:
    number = 0

    def work(call: Client) -> None:
        nonlocal number
        bodies = []
        for _ in range(call.rng.randint(1, 10)):
            number += 1
            bodies.append(f"{name}-{number}")
        ledger.try_send(bodies)
        if len(bodies) == 1:
            call("AmazonSNS.Publish", TopicArn=topic, Message=bodies[0])
        else:
            entries = [{"Id": str(at), "Message": body} for at, body in enumerate(bodies)]
            answer = call("AmazonSNS.PublishBatch", TopicArn=topic, PublishBatchRequestEntries=entries)
            assert len(answer["Successful"]) == len(bodies), answer
        ledger.was_sent(bodies)

    return work


def make(call: Client, topic: str, name: str, fifo: bool) -> Any:
    """A queue that gets the messages themselves."""
    attributes = {"FifoQueue": "true"} if fifo else {}
    url = call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]
    arn = call("GetQueueAttributes", QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    raw = {"RawMessageDelivery": "true"}
    call("AmazonSNS.Subscribe", TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=raw)
    return url


def test_kills_lose_nothing_that_was_published(server: ServerFactory, rng: random.Random) -> None:
    service, ledger = server(), Ledger()
    call = Client(service.port, rng)
    topic = call("AmazonSNS.CreateTopic", Name="news")["TopicArn"]
    urls = [make(call, topic, f"q{number}", fifo=False) for number in range(QUEUES)]
    call.close()
    for life in range(KILLS):
        if life:
            service.start()
        crowd = [publish(topic, ledger, f"{life}-{number}") for number in range(PUBLISHERS)]
        wrong = live(service.port, crowd, rng, rng.uniform(*LIFE_S), service.kill)
        assert wrong == []
    service.start()
    call = Client(service.port, rng)
    assert len(call("AmazonSNS.ListSubscriptionsByTopic", TopicArn=topic)["Subscriptions"]) == QUEUES
    for url in urls:
        assert ledger.judge(drain(call, url, lambda bodies: None))[:10] == []
    call.close()
    assert len(ledger.sent) > KILLS
    assert service.stop() == 0


def test_fifo_topics_keep_their_order_through_kills(server: ServerFactory, rng: random.Random) -> None:
    service = server()
    call = Client(service.port, rng)
    topic = call("AmazonSNS.CreateTopic", Name="news.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    urls = [make(call, topic, f"q{number}.fifo", fifo=True) for number in range(2)]
    call.close()
    acknowledged = _publish_in_order(service, topic, rng)
    service.start()
    call = Client(service.port, rng)
    for url in urls:
        found = [int(body) for body in drain(call, url, lambda bodies: None)]
        assert found == sorted(set(found))
        assert set(found) >= set(acknowledged)
    call.close()
    assert len(acknowledged) > KILLS
    assert service.stop() == 0


def _publish_in_order(service: Server, topic: str, rng: random.Random) -> list[int]:
    """One message after another; what got no answer is published again after the restart."""
    number, acknowledged = 1, []

    def work(call: Client) -> None:
        nonlocal number
        id = str(number)
        call("AmazonSNS.Publish", TopicArn=topic, Message=id, MessageGroupId="g", MessageDeduplicationId=id)
        acknowledged.append(number)
        number += 1

    for life in range(KILLS):
        if life:
            service.start()
        assert live(service.port, [work], rng, rng.uniform(*LIFE_S), service.kill) == []
    return acknowledged
