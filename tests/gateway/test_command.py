"""Messages of queues, on their way to devices."""

from collections.abc import Callable
from typing import Any

import pytest

from rockdove.client import Client
from tests.support.device import V5, VERSIONS, Device
from tests.support.gateway import Gateway
from tests.support.patience import wait_until


@pytest.mark.parametrize("version", VERSIONS, ids=["3.1.1", "5"])
@pytest.mark.parametrize("qos", [0, 1])
def test_a_queue_that_is_mapped_to_a_topic(
    mqtt: Gateway, client: Client, new_name: Callable[[], str], version: Any, qos: int
) -> None:
    id = new_name()
    queue = f"do-{id}"
    client.create_queue(queue)
    client.send(queue, "before")
    with Device(mqtt.port, id, version) as device:
        assert device.subscribe(f"devices/{id}/do", qos=qos) == [qos]
        device.wait_for(1)
        client.send(queue, "open", attributes={"speed": "slow", "ContentType": "text/plain"})
        _, got = device.wait_for(2)
        assert (got.topic, got.payload, got.qos) == (f"devices/{id}/do", b"open", qos)
        if version == V5:
            assert got.properties.UserProperty == [("speed", "slow")]
            assert got.properties.ContentType == "text/plain"
        wait_until(lambda: is_empty(client, queue), "deletion")


@pytest.mark.parametrize("version", VERSIONS, ids=["3.1.1", "5"])
def test_attributes_that_are_longer_than_a_property(mqtt: Gateway, client: Client, queue: str, version: Any) -> None:
    """They are left out; the message, and those after it, are not."""
    long = "v" * 65_536
    for name in ("ContentType", "ResponseTopic", "CorrelationData", "note"):
        client.send(queue, f"with {name}", attributes={name: long, "speed": "slow"})
    with Device(mqtt.port, version=version) as device:
        device.subscribe(f"queues/{queue}")
        got = device.wait_for(4)
        assert {one.payload for one in got} == {
            b"with ContentType",
            b"with ResponseTopic",
            b"with CorrelationData",
            b"with note",
        }
        if version == V5:
            assert all(one.properties.UserProperty == [("speed", "slow")] for one in got)
        wait_until(lambda: is_empty(client, queue), "deletion")


def test_a_response_topic_with_a_wildcard(mqtt: Gateway, client: Client, queue: str) -> None:
    """The protocol has none: it is left out."""
    for topic in ("answers/#", "answers/+/x", "answers/d1"):
        client.send(queue, topic, attributes={"ResponseTopic": topic})
    with Device(mqtt.port) as device:
        device.subscribe(f"queues/{queue}")
        found = {one.payload: getattr(one.properties, "ResponseTopic", None) for one in device.wait_for(3)}
        assert found == {b"answers/#": None, b"answers/+/x": None, b"answers/d1": "answers/d1"}


def is_empty(client: Client, queue: str) -> bool:
    counts = client.attributes(queue, ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"])
    return set(counts.values()) == {"0"}


def test_what_was_not_acknowledged_comes_again(mqtt: Gateway, client: Client, queue: str) -> None:
    """At once, and not after the visibility timeout."""
    client.set_attributes(queue, {"VisibilityTimeout": "3600"})
    client.send(queue, "open")
    for way_out in (Device.cut, Device.close):
        device = Device(mqtt.port, "d1", manual=True)
        device.subscribe(f"queues/{queue}")
        assert device.wait_for(1)[0].payload == b"open"
        way_out(device)
    with Device(mqtt.port, "d2") as other:
        other.subscribe(f"queues/{queue}")
        assert other.wait_for(1)[0].payload == b"open"
        wait_until(lambda: is_empty(client, queue), "deletion")


def test_no_more_than_the_device_takes(mqtt: Gateway, client: Client, queue: str) -> None:
    for number in range(5):
        client.send(queue, f"{number}")
    with Device(mqtt.port, manual=True, properties={"ReceiveMaximum": 2}) as device:
        device.subscribe(f"queues/{queue}")
        # The first comes alone: how large they are is not known before.
        [first] = device.wait_for(1)
        device.paho.ack(first.mid, 1)
        device.wait_for(3)
        with pytest.raises(AssertionError, match="no 4 messages"):
            device.wait_for(4, 0.5)


def test_subscribers_share_a_queue(mqtt: Gateway, client: Client, queue: str) -> None:
    with Device(mqtt.port, "d1") as first, Device(mqtt.port, "d2") as second:
        for device in (first, second):
            device.subscribe(f"queues/{queue}")
        for number in range(40):
            client.send(queue, f"{number}")
        wait_until(lambda: len(first.got) + len(second.got) >= 40, "40 messages")
        wait_until(lambda: is_empty(client, queue), "deletion")
    assert sorted(int(got.payload) for got in first.got + second.got) == list(range(40))


def test_after_unsubscribing_nothing_comes(mqtt: Gateway, client: Client, queue: str) -> None:
    with Device(mqtt.port) as device:
        device.subscribe(f"queues/{queue}")
        client.send(queue, "first")
        device.wait_for(1)
        wait_until(lambda: is_empty(client, queue), "deletion")
        device.paho.unsubscribe(f"queues/{queue}")
        # Unsubscribing is over when something later is answered.
        assert device.publish_and_wait(f"queues/{queue}", "second") is not None
        [message] = client.receive(queue, wait_s=5)
        assert message.body == "second"


def test_the_same_topic_twice_in_one_packet(mqtt: Gateway, client: Client, queue: str) -> None:
    """It counts once, and ends once."""
    with Device(mqtt.port) as device:
        assert device.subscribe(f"queues/{queue}", f"queues/{queue}") == [1, 1]
        client.send(queue, "first")
        device.wait_for(1)
        wait_until(lambda: is_empty(client, queue), "deletion")
        device.paho.unsubscribe(f"queues/{queue}")
        assert device.publish_and_wait(f"queues/{queue}", "second") is not None
        [message] = client.receive(queue, wait_s=5)
        assert message.body == "second"
