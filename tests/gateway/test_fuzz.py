"""Two thousand broken packets at each door: others are served all the while, and nothing in the gateway fails."""

import random
import select
import socket
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote

import pytest
from aiocoap.message import Message as CoapMessage
from ohmqtt.packet import (
    MQTTConnectPacket,
    MQTTDisconnectPacket,
    MQTTPingReqPacket,
    MQTTPubAckPacket,
    MQTTPublishPacket,
    MQTTSubscribePacket,
    MQTTUnsubscribePacket,
)
from ohmqtt.property import MQTTPublishProps

from rockdove.client import Client
from tests.support.datagram import posting
from tests.support.device import VERSIONS, Device
from tests.support.filling import empty
from tests.support.gateway import Gateway
from tests.support.raw import Web
from tests.support.server import Server

PACKETS = 2_000
# A packet with a right start waits for its end: nobody waits for that here.
PATIENCE_S = 0.005
# A connection takes so many before the next one.
EACH = 20

HELLO = {4: b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x0a\x00\x03bad", 5: MQTTConnectPacket("bad", clean_start=True).encode()}


def good_packets(queue: str) -> list[bytes]:
    properties = MQTTPublishProps(UserProperty=[("a", "b")], ContentType="text/plain", CorrelationData=b"x")
    return [
        MQTTPublishPacket(f"queues/{queue}", b"fuzz", packet_id=1, properties=properties).encode(),
        MQTTPubAckPacket(1).encode(),
        MQTTSubscribePacket([(f"queues/{queue}", 1)], 2).encode(),
        MQTTUnsubscribePacket(["nowhere"], 3).encode(),
        MQTTPingReqPacket().encode(),
        MQTTDisconnectPacket().encode(),
        HELLO[5],
        HELLO[4],
    ]


def broken(packet: bytes, rng: random.Random) -> bytes:
    """Some bytes of it changed, gone, or too many; or nothing of it left."""
    data = bytearray(packet)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(data) or 1)
        match rng.randrange(5):
            case 0 if data:
                data[place] = rng.randrange(256)
            case 1:
                del data[place : place + rng.randint(1, 8)]
            case 2:
                data[place:place] = rng.randbytes(rng.randint(1, 8))
            case 3 if len(data) > 1:
                data[1] = rng.randrange(256)
            case _:
                data = bytearray(rng.randbytes(rng.randint(1, 40)))
    return bytes(data) or b"\xff"


def answers(connection: socket.socket) -> bool:
    """Whether the gateway still has the connection, after a look at what it has said."""
    with suppress(OSError):
        while select.select([connection], [], [], PATIENCE_S)[0]:
            if not connection.recv(65_536):
                return False
        return True
    return False


def test_mqtt(mqtt: Gateway, client: Client, queue: str, rng: random.Random) -> None:
    packets, ended = good_packets("fuzz"), 0
    client.create_queue("fuzz")
    with Device(mqtt.port, "good") as device:
        sent = 0
        while sent < PACKETS:
            version = rng.choice([4, 5])
            with suppress(OSError), socket.create_connection(("127.0.0.1", mqtt.port), timeout=20) as connection:
                if rng.random() < 0.8:
                    connection.sendall(HELLO[version])
                for _ in range(EACH):
                    sent += 1
                    connection.sendall(broken(rng.choice(packets), rng))
                    if not answers(connection):
                        ended += 1
                        break
            if sent % 100 < EACH:
                assert not device.publish_and_wait(f"queues/{queue}", "good").is_failure
        assert device.disconnected is None
    assert ended
    assert set(empty(client, queue)) == {"good"}
    assert " ERROR " not in mqtt.log
    for version in VERSIONS:
        with Device(mqtt.port, "later", version) as device:
            device.publish(f"queues/{queue}", "later").wait_for_publish(10)


def test_the_reason_of_an_end(mqtt: Gateway, rng: random.Random) -> None:
    """With version 5 the last packet before the end says why, whatever was wrong."""
    packets = good_packets("fuzz")[:4]
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", mqtt.port), timeout=20) as connection:
            connection.sendall(HELLO[5])
            # Its frame is whole: only what is in it is not.
            packet = broken(rng.choice(packets)[2:], rng)
            connection.sendall(bytes([rng.choice([0x00, 0x30, 0x40, 0x82, 0xA2, 0xF0]), len(packet)]) + packet)
            heard = b""
            with suppress(TimeoutError):
                while select.select([connection], [], [], PATIENCE_S)[0] and (piece := connection.recv(65_536)):
                    heard += piece
                else:
                    if select.select([connection], [], [], 0)[0]:
                        # It has ended: CONNACK was the first packet, DISCONNECT with a reason was the last.
                        assert b"\xe0" in heard[4:], (packet, heard)


def datagrams(gateway: Gateway) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.connect(("127.0.0.1", gateway.port))
    made.settimeout(20)
    return made


def test_coap(coap: Gateway, client: Client, queue: str, rng: random.Random) -> None:
    path = ("queues", queue)
    packets = [
        posting(path, 7, b"fuzz"),
        posting(path, 8, b"x" * 64, block1=(0, True, 2)),
        posting(path, 9, b"fuzz", uri_query=("token=x",)),
    ]
    with datagrams(coap) as bad, datagrams(coap) as good:
        bad.setblocking(False)
        heard = 0
        for number in range(PACKETS):
            bad.send(broken(rng.choice(packets), rng))
            with suppress(BlockingIOError):
                while bad.recv(65_536):
                    heard += 1
            if number % 100 == 0:
                good.send(posting(path, number, b"good"))
                # 2.01, in the answer itself or later.
                while CoapMessage.decode(good.recv(65_536)).code.dotted != "2.01":
                    pass
    assert heard
    assert "good" in empty(client, queue)
    assert " ERROR " not in coap.log


def test_a_datagram_that_cannot_be_read(coap: Gateway) -> None:
    """A confirmable one is reset, with its own number; all others get no answer, as the protocol has it."""
    wrong_ones = (
        # A token longer than the message, one longer than any, an option's length and a code that are reserved.
        *(b"\x48\x02{}abc", b"\x49\x02{}abcdefghi", b"\x40\x02{}\xf0", b"\x40\x21{}"),
        # A path that is no text.
        b"\x40\x02{}\xb2\xff\xfe\xffx",
    )
    with datagrams(coap) as device:
        for number, rest in enumerate(wrong_ones):
            mid = struct.pack(">H", 1_000 + number)
            wrong = rest.replace(b"{}", mid)
            for silent in (b"", b"\x40", b"\x90" + wrong[1:], b"\x50" + wrong[1:]):
                device.send(silent)
            device.send(wrong)
            assert device.recv(100) == b"\x70\x00" + mid
    assert " ERROR " not in coap.log


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
def test_plain_http(service: Server, queue: str, client: Client, method: str, rng: random.Random) -> None:
    """The service's own door: each request is answered, with what it did wrong."""
    path = f"/v1/queues/{queue}/messages"
    words = ["v1", "queues", queue, "messages", "", "x" * 300, "%00", "..", "%ff", "ä", "?"]
    values = ["", "1", "-1", "x", "9" * 30, "1.5", "%00", "&", "=", "wait=20x", "ä"]
    names = ["delay", "group", "dedup", "max", "visibility", "account", "other", ""]
    strange: list[Callable[[], Any]] = [
        lambda: "/" + "/".join(rng.choices(words, k=rng.randint(1, 5))),
        lambda: "?".join([path, "&".join(f"{rng.choice(names)}={rng.choice(values)}" for _ in range(3))]),
        lambda: f"{path}/" + rng.randbytes(20).hex(),
    ]
    with closing(Web(service.port)) as web:
        for _ in range(PACKETS // 4):
            target = quote(rng.choice(strange)(), safe="/?&=%")
            reply = web.request(method, target, rng.randbytes(rng.randint(0, 50)))
            assert 200 <= reply.status < 500, (target, reply)
            if reply.status >= 400 and target.startswith("/v1/queues/"):
                assert reply.body, target
    client.send(queue, "good")
