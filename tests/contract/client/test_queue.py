"""The operations on queues, through both clients."""

import json
from collections.abc import Callable

import pytest

from rockdove.client import Client
from rockdove.core.errors import InvalidAttributeName, QueueDoesNotExist, QueueNameExists
from tests.support.server import Server

NewName = Callable[..., str]


def test_a_queue_comes_and_goes(client: Client, service: Server, new_name: NewName) -> None:
    name = new_name()
    url = client.create_queue(name, attributes={"DelaySeconds": "3"}, tags={"team": "red"})
    assert url == f"{service.endpoint}/000000000000/{name}"
    assert client.queue_url(name) == url
    assert client.queue_url(name, owner="000000000000") == url
    assert client.attributes(name, ["DelaySeconds"]) == {"DelaySeconds": "3"}
    client.delete_queue(name)
    with pytest.raises(QueueDoesNotExist):
        client.send(url, "too late")
    with pytest.raises(QueueDoesNotExist):
        client.send(name, "too late")


def test_queues_are_listed_through_all_pages(client: Client, new_name: NewName) -> None:
    prefix = new_name("-many")
    urls = [client.create_queue(f"{prefix}-{number}") for number in range(3)]
    assert client.list_queues(prefix) == urls
    assert client.list_queues(prefix, limit=2) == urls[:2]
    assert client.list_queues(prefix, limit=len(urls) + 5) == urls
    assert set(urls) <= set(client.list_queues())
    assert client.list_queues(new_name("-none")) == []


def test_attributes_change_and_go(client: Client, queue: str) -> None:
    policy = json.dumps({"redrivePermission": "denyAll"})
    client.set_attributes(queue, {"VisibilityTimeout": "7", "RedriveAllowPolicy": policy})
    found = client.attributes(queue)
    assert (found["VisibilityTimeout"], found["RedriveAllowPolicy"]) == ("7", policy)
    client.set_attributes(queue, {"RedriveAllowPolicy": ""})
    assert "RedriveAllowPolicy" not in client.attributes(queue)


def test_tags(client: Client, queue: str) -> None:
    assert client.tags(queue) == {}
    client.tag_queue(queue, {"team": "red", "stage": "test"})
    client.untag_queue(queue, ["stage", "never-there"])
    assert client.tags(queue) == {"team": "red"}


def test_permissions(client: Client, queue: str) -> None:
    client.add_permission(queue, "reading", ["111122223333"], ["ReceiveMessage"])
    (statement,) = json.loads(client.attributes(queue, ["Policy"])["Policy"])["Statement"]
    assert statement["Sid"] == "reading"
    client.remove_permission(queue, "reading")
    left = client.attributes(queue, ["Policy"]).get("Policy")
    assert not left or not json.loads(left).get("Statement")


def test_purge(client: Client, queue: str) -> None:
    client.send_batch(queue, ["a", "b", "c"])
    client.purge(queue)
    assert client.peek(queue) == []


def test_dead_letter_sources(client: Client, queue: str, new_name: NewName) -> None:
    arn = client.attributes(queue, ["QueueArn"])["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    urls = [client.create_queue(new_name(), attributes={"RedrivePolicy": policy}) for _ in range(2)]
    assert sorted(client.dead_letter_sources(queue)) == sorted(urls)
    assert client.dead_letter_sources(urls[0]) == []


def test_faults_are_those_of_the_service(client: Client, queue: str) -> None:
    with pytest.raises(QueueNameExists):
        client.create_queue(queue, attributes={"VisibilityTimeout": "99"})
    with pytest.raises(InvalidAttributeName) as caught:
        client.set_attributes(queue, {"Nonsense": "1"})
    assert "Nonsense" in caught.value.message
