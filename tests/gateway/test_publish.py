"""What devices publish, and in which queues it arrives as what."""

from collections.abc import Callable
from typing import Any

import pytest

from rockdove.client import Client, Message
from tests.support.device import V5, VERSIONS, Device
from tests.support.filling import empty
from tests.support.gateway import Gateway

versions = pytest.mark.parametrize("version", VERSIONS, ids=["3.1.1", "5"])


def received(client: Client, queue: str) -> Message:
    [message] = client.receive(queue, wait_s=10)
    return message


def attributes(message: Message) -> dict[str, Any]:
    return {name: one.binary_value or one.string_value for name, one in message.message_attributes.items()}


@versions
@pytest.mark.parametrize("qos", [0, 1])
def test_into_the_queue_of_the_topic(mqtt: Gateway, client: Client, queue: str, version: Any, qos: int) -> None:
    with Device(mqtt.port, "lamp", version) as device:
        device.publish(f"queues/{queue}", '{"lux": 300}', qos=qos).wait_for_publish(10)
        message = received(client, queue)
    assert message.body == '{"lux": 300}'
    assert attributes(message) == {"MqttTopic": f"queues/{queue}", "MqttClientId": "lamp"}


@versions
def test_an_answer_means_that_it_is_there(mqtt: Gateway, client: Client, queue: str, version: Any) -> None:
    with Device(mqtt.port, version=version) as device:
        sent = [device.publish(f"queues/{queue}", f"{number}") for number in range(200)]
        for each in sent:
            each.wait_for_publish(20)
        assert sorted(map(int, empty(client, queue))) == list(range(200))


def test_by_a_mapping(mqtt: Gateway, client: Client) -> None:
    for name in ("data", "room-7"):
        client.create_queue(name)
    with Device(mqtt.port) as device:
        assert not device.publish_and_wait("devices/d9/data", "1").is_failure
        assert not device.publish_and_wait("rooms/7/north/wall", "2").is_failure
    assert received(client, "data").body == "1"
    assert received(client, "room-7").body == "2"


def test_bytes_that_are_no_text(mqtt: Gateway, client: Client, queue: str) -> None:
    payload = bytes(range(256))
    with Device(mqtt.port) as device:
        device.publish_and_wait(f"queues/{queue}", payload)
        message = received(client, queue)
        assert attributes(message)["Encoding"] == "base64"
        client.change_visibility(queue, message.receipt_handle, 0)
        # And back as they were.
        assert device.subscribe(f"queues/{queue}") == [1]
        assert device.wait_for(1)[0].payload == payload


def test_properties_are_attributes(mqtt: Gateway, client: Client, queue: str) -> None:
    given = {
        "ContentType": "application/json",
        "ResponseTopic": "devices/d1/answers",
        "CorrelationData": b"\x00\x01",
        "UserProperty": [("place", "attic"), ("unit", "°C")],
    }
    with Device(mqtt.port, "d1") as device:
        device.publish_and_wait(f"queues/{queue}", "21", **given)
    assert attributes(received(client, queue)) == {
        "MqttTopic": f"queues/{queue}",
        "MqttClientId": "d1",
        "ContentType": "application/json",
        "ResponseTopic": "devices/d1/answers",
        "CorrelationData": b"\x00\x01",
        "place": "attic",
        "unit": "°C",
    }


def test_a_device_stays_in_order_on_a_fifo_queue(mqtt: Gateway, client: Client, new_name: Callable[[str], str]) -> None:
    queue = new_name(".fifo")
    client.create_queue(queue, attributes={"FifoQueue": "true"})
    with Device(mqtt.port, "a b", V5) as first, Device(mqtt.port, "other", V5) as second:
        sent = [device.publish(f"queues/{queue}", f"{number}") for number in range(100) for device in (first, second)]
        for each in sent:
            each.wait_for_publish(20)
    orders: dict[str, list[int]] = {}
    while messages := client.receive(queue, limit=10, wait_s=1):
        for message in messages:
            orders.setdefault(attributes(message)["MqttClientId"], []).append(int(message.body))
        client.delete_batch(queue, [message.receipt_handle for message in messages])
    assert orders == {"a b": list(range(100)), "other": list(range(100))}


def test_a_large_message(mqtt: Gateway, client: Client, queue: str) -> None:
    with Device(mqtt.port) as device:
        assert not device.publish_and_wait(f"queues/{queue}", "x" * 1_000_000).is_failure
        assert len(received(client, queue).body) == 1_000_000


def test_a_will(mqtt: Gateway, client: Client, queue: str) -> None:
    """Of a device that goes without a word, not of one that says goodbye."""
    Device(mqtt.port, "good", will=(f"queues/{queue}", b"good has gone")).close()
    Device(mqtt.port, "bad", will=(f"queues/{queue}", b"bad has gone")).cut()
    assert received(client, queue).body == "bad has gone"
    assert not client.receive(queue, wait_s=1)
