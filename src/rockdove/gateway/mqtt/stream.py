"""Packets from a connection, and packets to it."""

import asyncio

from ohmqtt.error import MQTTError
from ohmqtt.mqtt_spec import MQTTPacketType as Kind
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import MQTTConnectPacket, MQTTPacket

from rockdove.gateway.mqtt.large import PACKET_S, SMALL_BYTES, Large
from rockdove.gateway.mqtt.packet import Version, check_flags, is_old, read, version_of, write

# As large as a message may be, with a topic and properties.
MOST_PACKET_BYTES = 1_048_576 + 65_536
# Seconds for which a client need not read what it is sent.
SEND_S = 60.0
_MOST_LENGTH_BYTES = 4


class Stream:
    """Of one client. ``large`` is for all of a gateway."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, large: Large) -> None:
        self._reader = reader
        self._writer = writer
        self._large = large
        self.version = Version.V5

    async def first(self, within_s: float) -> MQTTConnectPacket | None:
        """CONNECT, all of it in that time; None at the end.

        Raises `MQTTError` and `TimeoutError`.
        """
        async with asyncio.timeout(within_s):
            head = await self._reader.read(1)
            if not head:
                return None
            if head[0] >> 4 != Kind.CONNECT:
                # Perhaps HTTP or TLS: what follows has no length that could be waited for.
                raise MQTTError("The first packet is not CONNECT", Reason.ProtocolError)
            try:
                body = await self._reader.readexactly(await self._length(SMALL_BYTES))
            except asyncio.IncompleteReadError:
                return None
        if is_old(body):
            self.version = Version.V311
        self.version = version_of(body)
        check_flags(self.version, body)
        packet = read(self.version, head[0], body)
        assert isinstance(packet, MQTTConnectPacket)
        return packet

    async def packet(self, within_s: float | None) -> MQTTPacket | None:
        """The next one; None at the end.

        Raises `MQTTError`, and `TimeoutError` if none begins in time.
        """
        async with asyncio.timeout(within_s):
            head = await self._reader.read(1)
        if not head:
            return None
        try:
            body = await self._body()
        except asyncio.IncompleteReadError:
            return None
        except TimeoutError:
            raise MQTTError("The packet did not end in time", Reason.MalformedPacket) from None
        return read(self.version, head[0], body)

    async def _body(self) -> bytes:
        async with asyncio.timeout(PACKET_S):
            length = await self._length(MOST_PACKET_BYTES)
            if length <= SMALL_BYTES:
                return await self._reader.readexactly(length)
        async with self._large.turn(length):
            return await self._reader.readexactly(length)

    async def _length(self, most: int) -> int:
        length = 0
        for place in range(_MOST_LENGTH_BYTES):
            [byte] = await self._reader.readexactly(1)
            length |= (byte & 0x7F) << 7 * place
            if byte < 0x80 and length <= most:
                return length
            if byte < 0x80:
                raise MQTTError(f"This packet may have {most} bytes", Reason.PacketTooLarge)
        raise MQTTError("The length of the packet is not written as MQTT has it", Reason.MalformedPacket)

    async def send(self, packet: MQTTPacket) -> None:
        """Waits while the client does not read, but not for ever. Raises `ConnectionError`."""
        data = write(self.version, packet)
        try:
            self._writer.write(data)
        except RuntimeError as error:
            # What uvloop says of a client that has gone.
            raise ConnectionResetError("the client has gone") from error
        try:
            async with asyncio.timeout(SEND_S):
                await self._writer.drain()
        except TimeoutError:
            self._writer.transport.abort()
            raise ConnectionAbortedError("the client does not read") from None

    async def close(self, within_s: float) -> None:
        """What was written goes out first, if the client reads it in time."""
        try:
            async with asyncio.timeout(within_s):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                    # To close while the client still sends would take away from it what it has not read yet.
                    while await self._reader.read(SMALL_BYTES):
                        pass
                self._writer.close()
                await self._writer.wait_closed()
        except (TimeoutError, OSError, RuntimeError):
            # The last is what uvloop says of a client that has gone.
            self._writer.transport.abort()
