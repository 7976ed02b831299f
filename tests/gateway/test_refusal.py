"""What a gateway of MQTT refuses: with a reason, where the version has one, and without harm for others."""

import socket
from typing import Any

import pytest
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import MQTTConnectPacket

from rockdove.client import Client
from tests.support.device import V5, V311, VERSIONS, Device
from tests.support.gateway import Gateway
from tests.support.patience import wait_until

REFUSED = [
    ("queues/nothing", "x", {}, Reason.TopicNameInvalid, "does not exist"),
    ("nowhere", "x", {}, Reason.TopicNameInvalid, "queues/NAME always does"),
    ("queues/{queue}", "", {}, Reason.PayloadFormatInvalid, "must not be empty"),
    ("queues/{queue}", "x" * 1_048_576, {}, Reason.QuotaExceeded, "1048576 bytes"),
    ("queues/{queue}", b"\xff", {"PayloadFormatIndicator": 1}, Reason.PayloadFormatInvalid, "not"),
    ("queues/{queue}", "x", {"UserProperty": [("a", "1"), ("a", "2")]}, Reason.PayloadFormatInvalid, "more than one"),
    ("queues/{queue}", "x", {"UserProperty": [("AWS.x", "1")]}, Reason.PayloadFormatInvalid, "AWS"),
    (
        "queues/{queue}",
        "x",
        {"UserProperty": [(f"n{number}", "1") for number in range(9)]},
        Reason.PayloadFormatInvalid,
        "10 attributes",
    ),
]


@pytest.mark.parametrize(("topic", "payload", "properties", "reason", "text"), REFUSED)
def test_a_publication_of_5(
    mqtt: Gateway, queue: str, topic: str, payload: Any, properties: dict[str, Any], reason: Reason, text: str
) -> None:
    """Its answer says why, and the connection goes on."""
    with Device(mqtt.port) as device:
        refused = device.publish_and_wait(topic.format(queue=queue), payload, **properties)
        assert refused.value == reason
        assert text in (device.explanation or "")
        assert not device.publish_and_wait(f"queues/{queue}", "good").is_failure


def test_without_explanation(mqtt: Gateway) -> None:
    with Device(mqtt.port, properties={"RequestProblemInformation": 0}) as device:
        assert device.publish_and_wait("nowhere", "x").value == Reason.TopicNameInvalid
        assert device.explanation is None


@pytest.mark.parametrize(("version", "qos"), [(V311, 0), (V311, 1), (V5, 0)], ids=["3.1.1-0", "3.1.1-1", "5-0"])
def test_what_has_no_answer_ends_the_connection(mqtt: Gateway, version: Any, qos: int) -> None:
    with Device(mqtt.port, version=version) as device:
        device.publish("queues/nothing", "x", qos=qos)
        device.wait(lambda: device.disconnected is not None, "end of the connection")
        if version == V5:
            assert device.disconnected[0].value == Reason.TopicNameInvalid
            assert "does not exist" in device.disconnected[1]


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("queues/+", Reason.WildcardSubscriptionsNotSupported),
        ("#", Reason.WildcardSubscriptionsNotSupported),
        ("$share/group/queues/q", Reason.SharedSubscriptionsNotSupported),
        ("nowhere", Reason.TopicFilterInvalid),
        ("queues/nothing", Reason.TopicFilterInvalid),
    ],
)
def test_a_subscription(mqtt: Gateway, queue: str, topic: str, reason: Reason) -> None:
    """The others of the same packet are granted."""
    with Device(mqtt.port) as device:
        assert device.subscribe(topic, f"queues/{queue}") == [reason, 1]
    with Device(mqtt.port, version=V311) as device:
        assert device.subscribe(topic, f"queues/{queue}") == [0x80, 1]


@pytest.mark.parametrize(
    ("qos", "retain", "properties", "reason"),
    [
        (2, False, {}, Reason.QoSNotSupported),
        (1, True, {}, Reason.RetainNotSupported),
        (1, False, {"TopicAlias": 1}, Reason.TopicAliasInvalid),
    ],
)
def test_what_was_said_not_to_be_there(
    mqtt: Gateway, queue: str, qos: int, retain: bool, properties: dict[str, Any], reason: Reason
) -> None:
    with Device(mqtt.port) as device:
        assert device.welcome.MaximumQoS == 1
        assert device.welcome.RetainAvailable == 0
        device.publish(f"queues/{queue}", "x", qos, retain, **properties)
        device.wait(lambda: device.disconnected is not None, "end of the connection")
        assert device.disconnected[0].value == reason


def test_retained_by_3_1_1_is_a_message_like_any_other(mqtt: Gateway, client: Client, queue: str) -> None:
    with Device(mqtt.port, version=V311) as device:
        device.publish(f"queues/{queue}", "x", retain=True).wait_for_publish(10)
    assert client.receive(queue, wait_s=5)


def test_a_will_for_no_queue(mqtt: Gateway) -> None:
    device = Device(mqtt.port, will=("nowhere", b"x"))
    assert device.connected.value == Reason.TopicNameInvalid
    device.close()


@pytest.mark.parametrize("version", VERSIONS, ids=["3.1.1", "5"])
def test_a_second_connection_takes_the_place_of_the_first(mqtt: Gateway, version: Any) -> None:
    with Device(mqtt.port, "twin", version) as first, Device(mqtt.port, "twin", version) as second:
        first.wait(lambda: first.disconnected is not None, "end of the connection")
        assert second.disconnected is None
        if version == V5:
            assert first.disconnected[0].value == Reason.SessionTakenOver


def test_who_is_silent_for_too_long(mqtt: Gateway, client: Client, queue: str) -> None:
    """A connection that hangs, as devices in the field do; the will tells."""
    device = Device(mqtt.port, keep_alive_s=1, will=(f"queues/{queue}", b"gone"))
    device.paho.loop_stop()
    [message] = client.receive(queue, wait_s=10)
    assert message.body == "gone"


def raw(gateway: Gateway, sent: bytes) -> bytes:
    """What comes until the gateway hangs up."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=20) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def test_what_is_no_mqtt(mqtt: Gateway) -> None:
    """A CONNACK with a reason, of the version that the client may know."""
    assert raw(mqtt, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")[0] == 0x20
    # MQTT 3.1, and a version to come.
    assert raw(mqtt, b"\x10\x0f\x00\x06MQIsdp\x03\x02\x00\x0a\x00\x01a") == b"\x20\x02\x00\x01"
    assert raw(mqtt, b"\x10\x0d\x00\x04MQTT\x06\x02\x00\x0a\x00\x01a")[3] == Reason.UnsupportedProtocolVersion


def test_too_many_connections(open_gateway: Any) -> None:
    gateway = open_gateway("mqtt", "--max-connections", "2")
    with Device(gateway.port, "a"), Device(gateway.port, "b"):
        third = Device(gateway.port, "c")
        assert third.connected.value == Reason.ServerBusy
        third.close()
    wait_until(lambda: Device(gateway.port, "d").connected == "Success", "room for another")


def test_large_packets_that_do_not_end(mqtt: Gateway, queue: str) -> None:
    """Not of strangers, whose first packet must be small, and not of clients: others have their turn."""
    stalled = []
    for _ in range(64):
        connection = socket.create_connection(("127.0.0.1", mqtt.port), timeout=20)
        connection.sendall(b"\x10" + b"\xff\xff\x3f" + b"\x00\x04MQTT\x05")
        stalled.append(connection)
    hello = MQTTConnectPacket(clean_start=True).encode()
    for _ in range(64):
        connection = socket.create_connection(("127.0.0.1", mqtt.port), timeout=20)
        connection.sendall(hello + b"\x32" + b"\xff\xff\x3f" + b"\x00\x01a")
        stalled.append(connection)
    with Device(mqtt.port) as device:
        assert not device.publish_and_wait(f"queues/{queue}", "x" * 500_000).is_failure
    for connection in stalled:
        connection.close()
