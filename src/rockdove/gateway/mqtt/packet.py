"""Packets of both versions of MQTT. One of 3.1.1 is read and written as the packet of 5 that says the same."""

import struct
from enum import IntEnum

from ohmqtt.error import MQTTError
from ohmqtt.mqtt_spec import MQTTPacketType as Kind
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import (
    MQTTConnAckPacket,
    MQTTDisconnectPacket,
    MQTTPacket,
    MQTTPubAckPacket,
    MQTTPublishPacket,
    MQTTSubAckPacket,
    MQTTUnsubAckPacket,
    decode_packet_from_parts,
)
from ohmqtt.serialization import encode_string, encode_uint16, encode_varint

# The properties of a packet that has none.
_NONE = b"\x00"
_UINT16 = struct.Struct(">H")
_WILL, _WILL_QOS, _WILL_RETAIN, _PASSWORD, _USER = 0x04, 0x18, 0x20, 0x40, 0x80
# What 3.1.1 says instead.
_RETURN_CODES = {
    Reason.Success: 0,
    Reason.UnsupportedProtocolVersion: 1,
    Reason.ClientIdentifierNotValid: 2,
    Reason.ServerUnavailable: 3,
    Reason.ServerBusy: 3,
    Reason.BadUserNameOrPassword: 4,
    Reason.NotAuthorized: 5,
}
_FAILURE = 0x80
# It has no word for these, and hangs up.
_UNSAID = (Reason.MalformedPacket, Reason.ProtocolError, Reason.PacketTooLarge)


class Version(IntEnum):
    """As a CONNECT packet tells it."""

    V311 = 4
    V5 = 5


def is_old(body: bytes) -> bool:
    """Whether whoever sends this CONNECT packet reads the answers of 3.1.1 and not those of 5."""
    return body[:8] == b"\x00\x06MQIsdp" or (body[:6] == b"\x00\x04MQTT" and body[6:7] < b"\x05")


def version_of(body: bytes) -> Version:
    """Of a CONNECT packet. Raises `MQTTError`."""
    # 3.1 had another name of the protocol.
    if body[:8] == b"\x00\x06MQIsdp" or (body[:6] == b"\x00\x04MQTT" and body[6:7] not in (b"\x04", b"\x05")):
        raise MQTTError("Only MQTT 3.1.1 and 5 are spoken here", Reason.UnsupportedProtocolVersion)
    if body[:6] != b"\x00\x04MQTT":
        raise MQTTError("This is no CONNECT packet of MQTT", Reason.MalformedPacket)
    return Version(body[6])


def check_flags(version: Version, body: bytes) -> None:
    """Of a CONNECT packet: what the library does not look at. Raises `MQTTError`."""
    flags = body[7] if len(body) > 7 else 0
    if not flags & _WILL and flags & (_WILL_QOS | _WILL_RETAIN):
        raise MQTTError("There is no will, and it is said how to publish it", Reason.MalformedPacket)
    if flags & _WILL_QOS == _WILL_QOS:
        raise MQTTError("There is no such quality of service", Reason.MalformedPacket)
    if version is Version.V311 and flags & _PASSWORD and not flags & _USER:
        raise MQTTError("There is a password, and no user name", Reason.MalformedPacket)


def read(version: Version, head: int, body: bytes) -> MQTTPacket:
    """Raises `MQTTError`."""
    if version is Version.V311:
        body = _as_five(head >> 4, head & 0x0F, body)
    return decode_packet_from_parts(head, memoryview(body))


def _as_five(kind: int, flags: int, body: bytes) -> bytes:
    match kind:
        case Kind.CONNECT:
            return _connect_as_five(body)
        case Kind.PUBLISH:
            at = 2 + _length(body, 0) + (2 if flags & 0x06 else 0)
        case Kind.SUBSCRIBE:
            _check_options(body)
            at = 2
        case Kind.UNSUBSCRIBE:
            at = 2
        case Kind.PUBACK if len(body) == 2:
            return body
        case Kind.PINGREQ | Kind.DISCONNECT if not body:
            return body
        case _:
            raise MQTTError("There is no such packet in MQTT 3.1.1", Reason.MalformedPacket)
    if len(body) < at:
        raise MQTTError("The packet ends too early", Reason.MalformedPacket)
    return body[:at] + _NONE + body[at:]


def _connect_as_five(body: bytes) -> bytes:
    """The name of the protocol takes 6 bytes, then come version, flags and the keep-alive."""
    client = 12 + _length(body, 10)
    if len(body) < client:
        raise MQTTError("The packet ends too early", Reason.MalformedPacket)
    will = _NONE if body[7] & _WILL else b""
    return body[:6] + bytes([Version.V5]) + body[7:10] + _NONE + body[10:client] + will + body[client:]


def _check_options(body: bytes) -> None:
    at = 2
    while at < len(body):
        at += 2 + _length(body, at)
        if at >= len(body) or body[at] > 2:
            raise MQTTError("There is no such quality of service", Reason.MalformedPacket)
        at += 1


def _length(body: bytes, at: int) -> int:
    if len(body) < at + 2:
        raise MQTTError("The packet ends too early", Reason.MalformedPacket)
    return int(_UINT16.unpack_from(body, at)[0])


def write(version: Version, packet: MQTTPacket) -> bytes:
    """Nothing, if that version cannot say it."""
    if version is Version.V5:
        return packet.encode()
    match packet:
        case MQTTConnAckPacket() if packet.reason_code in _UNSAID:
            return b""
        case MQTTConnAckPacket():
            code = _RETURN_CODES.get(packet.reason_code, 5)
            return bytes([Kind.CONNACK << 4, 2, packet.session_present, code])
        case MQTTPubAckPacket():
            return bytes([Kind.PUBACK << 4, 2]) + encode_uint16(packet.packet_id)
        case MQTTSubAckPacket():
            codes = bytes(min(code, _FAILURE) for code in packet.reason_codes)
            return _framed(Kind.SUBACK << 4, encode_uint16(packet.packet_id) + codes)
        case MQTTUnsubAckPacket():
            return bytes([Kind.UNSUBACK << 4, 2]) + encode_uint16(packet.packet_id)
        case MQTTPublishPacket():
            id = encode_uint16(packet.packet_id) if packet.qos else b""
            head = Kind.PUBLISH << 4 | packet.qos << 1
            return _framed(head, encode_string(packet.topic) + id + packet.payload)
        case MQTTDisconnectPacket():
            return b""
        case _:
            return packet.encode()


def _framed(head: int, body: bytes) -> bytes:
    return bytes([head]) + encode_varint(len(body)) + body
