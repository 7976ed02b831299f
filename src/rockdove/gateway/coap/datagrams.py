"""The socket for datagrams: refuses what the library would pass over in silence, or remember without end."""

import logging
import socket
from typing import Any

from aiocoap.error import UnparsableMessage
from aiocoap.message import Message
from aiocoap.numbers import codes
from aiocoap.numbers.types import ACK, CON
from aiocoap.transports.udp6 import MessageInterfaceUDP6, UDP6EndpointAddress

# Requests that are remembered, so that a duplicate is none: each for four minutes.
MOST_REMEMBERED = 250_000
_HEAD_BYTES = 4
_VERSION = 1
_RESET = 0x70
_TOKEN = 0x0F
_LONGEST_TOKEN = 8
# Classes of codes: the first three bits.
_CLASS_BITS = 5
_RESERVED = (1, 6, 7)

log = logging.getLogger("rockdove")


class Datagrams(MessageInterfaceUDP6):  # type: ignore[misc]
    """Answers a confirmable message that cannot be read with a reset."""

    @classmethod
    async def listen(cls, manager: Any, log: logging.Logger, loop: Any, bound: socket.socket) -> "Datagrams":
        made: Datagrams = await cls._create_transport_endpoint(bound, manager, log, loop)
        return made

    def datagram_msg_received(self, data: bytes, ancdata: Any, flags: int, address: Any) -> None:
        try:
            if len(data) < _HEAD_BYTES + (data[0] & _TOKEN if data else 0) or data[0] & _TOKEN > _LONGEST_TOKEN:
                # What the library takes for a shorter token, or for an option.
                raise UnparsableMessage("The token is not as long as the message says")
            if data[1] >> _CLASS_BITS in _RESERVED:
                raise UnparsableMessage("There is no such code in datagrams")
            message = Message.decode(data, UDP6EndpointAddress(address, self))
            if self._has_no_room_for(message):
                self._refuse(message, address)
                return
            super().datagram_msg_received(data, ancdata, flags, address)
        except (UnparsableMessage, UnicodeDecodeError):
            # The latter of an option that should be text.
            self._reset(data, address)
        except Exception:
            log.exception("a datagram could not be served")
            self._reset(data, address)

    def _has_no_room_for(self, message: Message) -> bool:
        remembered = self._ctx._recent_messages
        is_known = (message.remote, message.mid) in remembered
        return message.code.is_request() and not is_known and len(remembered) >= MOST_REMEMBERED

    def _refuse(self, message: Message, address: Any) -> None:
        answer = Message(code=codes.SERVICE_UNAVAILABLE, _mtype=ACK, _mid=message.mid, _token=message.token)
        if message.mtype is CON:
            self.transport.sendmsg(answer.encode(), [], 0, address)

    def _reset(self, data: bytes, address: Any) -> None:
        """Other versions, and what is no message at all, get no answer."""
        if len(data) >= _HEAD_BYTES and data[0] >> 6 == _VERSION and data[0] >> 4 & 0x03 == CON:
            self.transport.sendmsg(bytes([_RESET, 0]) + data[2:_HEAD_BYTES], [], 0, address)


def bind(host: str, port: int) -> socket.socket:
    """The library's sockets are of IPv6, for both kinds of addresses. Raises OSError."""
    address = socket.getaddrinfo(
        host, port, socket.AF_INET6, socket.SOCK_DGRAM, flags=socket.AI_V4MAPPED | socket.AI_PASSIVE
    )[0][4]
    made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    try:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made
