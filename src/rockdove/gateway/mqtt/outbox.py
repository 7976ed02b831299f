"""Publications on their way to a client: so many as it takes at a time, and each until it is acknowledged."""

import asyncio

from ohmqtt.mqtt_spec import MQTTQoS
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import MQTTPublishPacket
from ohmqtt.property import MQTTPublishProps

from rockdove.gateway.mqtt.packet import write
from rockdove.gateway.mqtt.stream import Stream

_MOST_IDS = 65_535


class Outbox:
    """Of one connection. The client has said how many publications and how large packets it takes."""

    def __init__(self, stream: Stream, most: int, most_bytes: int | None) -> None:
        self._stream = stream
        self._window = asyncio.Semaphore(most)
        self._most_bytes = most_bytes
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[Reason]] = {}

    async def deliver(self, topic: str, payload: bytes, qos: int, properties: MQTTPublishProps) -> Reason:
        """What the client says to it. Raises `ConnectionError`."""
        packet = MQTTPublishPacket(topic, payload, MQTTQoS(qos), properties=properties)
        if self._most_bytes is not None and len(write(self._stream.version, packet)) + 2 > self._most_bytes:
            return Reason.PacketTooLarge
        if not qos:
            await self._stream.send(packet)
            return Reason.Success
        async with self._window:
            packet.packet_id = self._free_id()
            answer: asyncio.Future[Reason] = asyncio.get_running_loop().create_future()
            self._waiting[packet.packet_id] = answer
            try:
                await self._stream.send(packet)
                return await answer
            finally:
                del self._waiting[packet.packet_id]

    def acknowledged(self, packet_id: int, reason: Reason) -> None:
        """One that nobody waits for is no reason to complain: the connection before may have had it."""
        answer = self._waiting.get(packet_id)
        if answer is not None and not answer.done():
            answer.set_result(reason)

    def _free_id(self) -> int:
        while True:
            self._last_id = self._last_id % _MOST_IDS + 1
            if self._last_id not in self._waiting:
                return self._last_id
