"""The commands on topics."""

import json
from collections.abc import Callable

import pytest

from rockdove.client import Client
from tests.support.server import Server
from tests.unit.cli.outcome import Cli

NewName = Callable[..., str]


@pytest.fixture
def topic(cli: Cli, shared: Server, new_name: NewName) -> str:
    """The name of a new topic."""
    name = new_name()
    assert cli("topic", "create", name).code == 0
    return name


def bodies(client: Client, queue: str) -> list[str]:
    return [message.body for message in client.receive(queue, limit=10)]


def test_create_and_list(cli: Cli, shared: Server, new_name: NewName) -> None:
    name = new_name()
    arn = f"arn:aws:sns:us-east-1:000000000000:{name}"
    words = ("topic", "create", name, "--attribute", "DisplayName=News", "--tag", "team=red")
    assert cli(*words).out == f"{arn}\n"
    assert cli(*words, "--json").document == {"TopicArn": arn}
    listed = {"TopicName": name, "TopicArn": arn, "Subscriptions": 0}
    assert listed in cli("topic", "list", "--json").document["Topics"]
    assert name in cli("topic", "list").out
    outcome = cli("topic", "create", name, "--attribute", "DisplayName=Olds")
    assert (outcome.code, outcome.out) == (2, "")


def test_create_fifo(cli: Cli, client: Client, new_name: NewName) -> None:
    name = new_name(".fifo")
    assert cli("topic", "create", name).code == 0
    assert client.topic_attributes(name)["FifoTopic"] == "true"
    assert cli("topic", "create", new_name(), "--fifo").code == 2


def test_from_a_topic_to_queues(cli: Cli, client: Client, topic: str, queue: str, new_name: NewName) -> None:
    other, dead = new_name("-other"), new_name("-dead")
    for name in (other, dead):
        client.create_queue(name)
    assert cli("topic", "subscribe", topic, queue, "--raw", "--dead-letters", dead).code == 0
    policy = '{"order": {"total": [{"numeric": [">", 10]}]}}'
    arn = cli("topic", "subscribe", topic, other, "--filter", policy, "--body", "--json").document["SubscriptionArn"]
    published = cli(
        "topic", "publish", topic, '{"order": {"total": 5}}', "--attribute", "n:Number=1", "--json"
    ).document
    assert published["MessageId"]
    assert cli("topic", "publish", topic, '{"order": {"total": 50}}', "--subject", "large").out.startswith("published ")
    assert set(bodies(client, queue)) == {'{"order": {"total": 5}}', '{"order": {"total": 50}}'}
    [envelope] = [json.loads(body) for body in bodies(client, other)]
    assert (envelope["Subject"], envelope["Message"]) == ("large", '{"order": {"total": 50}}')
    assert cli("topic", "set", arn, "FilterPolicy=", "RawMessageDelivery=true").code == 0
    assert cli("topic", "publish", topic, "plain").code == 0
    assert bodies(client, other) == ["plain"]
    shown = cli("topic", "show", topic, "--json").document
    assert {each["Endpoint"].rpartition(":")[2] for each in shown["Subscriptions"]} == {queue, other}
    text = cli("topic", "show", topic).out
    assert queue in text
    assert dead in text
    arn = client.attributes(other, ["QueueArn"])["QueueArn"]
    assert cli("topic", "unsubscribe", topic, arn.replace("000000000000", "111111111111")).code == 3
    assert cli("topic", "unsubscribe", topic, arn).code == 0
    assert cli("topic", "unsubscribe", topic, other).code == 3
    listed = {each["TopicName"]: each["Subscriptions"] for each in cli("topic", "list", "--json").document["Topics"]}
    assert listed[topic] == 1


def test_set(cli: Cli, topic: str) -> None:
    outcome = cli("topic", "set", topic, "DisplayName=News", "--json")
    assert outcome.document == {"Attributes": {"DisplayName": "News"}}
    assert cli("topic", "set", topic, "Nonsense=1").code == 2


def test_delete(cli: Cli, client: Client, topic: str, queue: str) -> None:
    cli("topic", "subscribe", topic, queue)
    assert cli("topic", "delete", topic).code == 5
    outcome = cli("topic", "delete", topic, "--yes")
    assert outcome.out == f"deleted {topic} with 1 subscription\n"
    for words in (("show", topic), ("publish", topic, "x"), ("subscribe", topic, queue), ("delete", topic, "--yes")):
        outcome = cli("topic", *words)
        assert (outcome.code, outcome.out) == (3, ""), words
        assert 'rockdove topic list"' in outcome.err
    assert client.attributes(queue, ["QueueArn"])


def test_a_queue_that_does_not_exist(cli: Cli, topic: str) -> None:
    outcome = cli("topic", "subscribe", topic, "no-such-queue")
    assert outcome.code == 3
    assert "there is no queue no-such-queue" in outcome.err
