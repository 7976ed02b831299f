"""A client that leaves without a word, while it is sent something."""

import asyncio
import socket
import struct
from collections.abc import Awaitable

import uvloop
from ohmqtt.packet import MQTTPingRespPacket

from rockdove.gateway.mqtt.large import Large
from rockdove.gateway.mqtt.stream import Stream


def test_a_client_that_has_gone() -> None:
    """The loop of the gateway has an error of its own for it."""
    told: list[str] = []

    async def tell(work: Awaitable[object]) -> None:
        try:
            await work
        except Exception as error:
            told.append("gone" if isinstance(error, ConnectionError) else type(error).__name__)

    async def meet() -> None:
        met: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await met.put((reader, writer))

        server = await asyncio.start_server(welcome, "127.0.0.1", 0)
        _, client = await asyncio.open_connection(*server.sockets[0].getsockname())
        reader, writer = await met.get()
        stream = Stream(reader, writer, Large())
        # Without a farewell, after which the client could still read.
        client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.transport.abort()
        await tell(reader.read())
        await tell(stream.send(MQTTPingRespPacket()))
        await tell(stream.send(MQTTPingRespPacket()))
        await tell(stream.close(1))
        server.close()

    uvloop.run(meet())
    assert told == ["gone", "gone", "gone"]
