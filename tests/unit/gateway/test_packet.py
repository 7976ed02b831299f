"""Packets of MQTT 3.1.1, read and written as those of 5 that say the same; both against another library's."""

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ohmqtt.error import MQTTError
from ohmqtt.mqtt_spec import MQTTQoS
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import (
    MQTTConnAckPacket,
    MQTTConnectPacket,
    MQTTDisconnectPacket,
    MQTTPubAckPacket,
    MQTTPublishPacket,
    MQTTSubAckPacket,
    MQTTSubscribePacket,
    MQTTUnsubAckPacket,
    MQTTUnsubscribePacket,
)

from rockdove.gateway.mqtt.packet import Version, check_flags, read, version_of, write

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0+#"), min_size=1, max_size=20)


def string(value: str | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">H", len(data)) + data


@given(
    client=text,
    keep_alive=st.integers(0, 65_535),
    clean=st.booleans(),
    will=st.none() | st.tuples(text, st.binary(max_size=20), st.integers(0, 2)),
    user=st.none() | text,
    password=st.none() | st.binary(max_size=20),
)
def test_connect(
    client: str, keep_alive: int, clean: bool, will: Any, user: str | None, password: bytes | None
) -> None:
    flags = clean << 1 | (password is not None) << 6 | (user is not None) << 7
    rest = string(client)
    if will is not None:
        flags |= 0x04 | will[2] << 3
        rest += string(will[0]) + string(will[1])
    rest += (b"" if user is None else string(user)) + (b"" if password is None else string(password))
    body = string("MQTT") + bytes([4, flags]) + struct.pack(">H", keep_alive) + rest
    assert version_of(body) is Version.V311
    packet = read(Version.V311, 0x10, body)
    assert isinstance(packet, MQTTConnectPacket)
    assert (packet.client_id, packet.keep_alive, packet.clean_start) == (client, keep_alive, clean)
    assert (packet.username, packet.password) == (user, password)
    assert (packet.will_topic, packet.will_payload, packet.will_qos) == (will or ("", b"", 0))


@given(
    topic=text, payload=st.binary(max_size=50), qos=st.integers(0, 2), retain=st.booleans(), id=st.integers(1, 65_535)
)
def test_publish(topic: str, payload: bytes, qos: int, retain: bool, id: int) -> None:
    body = string(topic) + (struct.pack(">H", id) if qos else b"") + payload
    packet = read(Version.V311, 0x30 | qos << 1 | retain, body)
    assert isinstance(packet, MQTTPublishPacket)
    assert (packet.topic, packet.payload, packet.qos, packet.retain) == (topic, payload, qos, retain)
    if qos < 2 and not retain:
        written = write(Version.V311, MQTTPublishPacket(topic, payload, MQTTQoS(qos), packet_id=id))
        assert written == bytes([0x30 | qos << 1, len(body)]) + body


@given(topics=st.lists(st.tuples(text, st.integers(0, 2)), min_size=1, max_size=5), id=st.integers(1, 65_535))
def test_subscribe_and_unsubscribe(topics: list[tuple[str, int]], id: int) -> None:
    number = struct.pack(">H", id)
    packet = read(Version.V311, 0x82, number + b"".join(string(topic) + bytes([qos]) for topic, qos in topics))
    assert isinstance(packet, MQTTSubscribePacket)
    assert (list(packet.topics), packet.packet_id) == (topics, id)
    other = read(Version.V311, 0xA2, number + b"".join(string(topic) for topic, _ in topics))
    assert isinstance(other, MQTTUnsubscribePacket)
    assert list(other.topics) == [topic for topic, _ in topics]


@pytest.mark.parametrize(
    ("packet", "written"),
    [
        (MQTTConnAckPacket(), "20020000"),
        (MQTTConnAckPacket(Reason.BadUserNameOrPassword), "20020004"),
        (MQTTConnAckPacket(Reason.ServerUnavailable), "20020003"),
        (MQTTConnAckPacket(Reason.TopicNameInvalid), "20020005"),
        (MQTTConnAckPacket(Reason.MalformedPacket), ""),
        (MQTTPubAckPacket(258), "40020102"),
        (MQTTSubAckPacket(1, [Reason.GrantedQoS1, Reason.NotAuthorized]), "900400010180"),
        (MQTTUnsubAckPacket(1, [Reason.Success]), "b0020001"),
        (MQTTDisconnectPacket(Reason.ServerShuttingDown), ""),
    ],
)
def test_answers(packet: Any, written: str) -> None:
    assert write(Version.V311, packet).hex() == written


@pytest.mark.parametrize(
    ("version", "flags"),
    [(Version.V311, 0x08), (Version.V5, 0x20), (Version.V311, 0x1C), (Version.V5, 0x1C), (Version.V311, 0x40)],
    ids=["will's QoS without will", "retained without will", "QoS 3", "QoS 3 in 5", "password without user"],
)
def test_flags_that_contradict_each_other(version: Version, flags: int) -> None:
    with pytest.raises(MQTTError) as refused:
        check_flags(version, string("MQTT") + bytes([version, flags]))
    assert refused.value.reason_code is Reason.MalformedPacket


def test_flags_that_do_not() -> None:
    check_flags(Version.V5, string("MQTT") + bytes([5, 0x40]))
    for flags in (0, 0x02, 0x2C, 0x34, 0xC2, 0x80):
        check_flags(Version.V311, string("MQTT") + bytes([4, flags]))


@given(head=st.integers(0, 255), body=st.binary(max_size=60), version=st.sampled_from(Version))
def test_what_is_no_packet(head: int, body: bytes, version: Version) -> None:
    """There is no other way to fail."""
    with contextlib.suppress(MQTTError):
        if head >> 4 == 1:
            version_of(body)
        read(version, head, body)
