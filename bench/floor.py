"""The floor: what a request costs when nothing is stored, the figure our own are a share of.

Everything a durable server cannot avoid is here (HTTP, JSON, MD5, ids, a reply with AWS's headers), written
to be fast; everything it adds (validation, a store, fsync) is not. Run as `python -m bench.floor [PORT]`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from hashlib import md5
from typing import cast

import httptools
import msgspec
import uvloop


class SendMessage(msgspec.Struct, gc=False, rename="pascal"):
    queue_url: str
    message_body: str


class Entry(msgspec.Struct, gc=False, rename="pascal"):
    id: str
    message_body: str


class SendMessageBatch(msgspec.Struct, gc=False, rename="pascal"):
    queue_url: str
    entries: list[Entry]


class Sent(msgspec.Struct, gc=False):
    MD5OfMessageBody: str
    MessageId: str


class SentEntry(msgspec.Struct, gc=False):
    Id: str
    MD5OfMessageBody: str
    MessageId: str


class SentBatch(msgspec.Struct, gc=False):
    Successful: list[SentEntry]


decode_send = msgspec.json.Decoder(SendMessage).decode
decode_batch = msgspec.json.Decoder(SendMessageBatch).decode
encode = msgspec.json.Encoder().encode


def uuid4() -> str:
    """A random version 4 UUID, a third of the price of `str(uuid.uuid4())`."""
    h = os.urandom(16).hex()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:]}"


def digest(body: str) -> str:
    return md5(body.encode(), usedforsecurity=False).hexdigest()


def send(body: bytes) -> bytes:
    request = decode_send(body)
    return encode(Sent(digest(request.message_body), uuid4()))


def send_batch(body: bytes) -> bytes:
    request = decode_batch(body)
    return encode(SentBatch([SentEntry(e.id, digest(e.message_body), uuid4()) for e in request.entries]))


OPERATIONS: dict[bytes, Callable[[bytes], bytes]] = {
    b"AmazonSQS.SendMessage": send,
    b"AmazonSQS.SendMessageBatch": send_batch,
}

REPLY = (
    b"HTTP/1.1 %b\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: %b\r\nContent-Length: %d\r\n\r\n%b"
)


class Floor(asyncio.Protocol):
    """One connection: keep-alive, one reply per request, refusals close."""

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.target = b""
        self.body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.close()

    def on_message_begin(self) -> None:
        self.target = b""
        self.body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"x-amz-target":
            self.target = value

    def on_body(self, chunk: bytes) -> None:
        self.body = self.body + chunk if self.body else chunk

    def on_message_complete(self) -> None:
        operation = OPERATIONS.get(self.target)
        if operation is None:
            return self.reply(b"400 Bad Request", b'{"__type":"com.amazonaws.sqs#UnsupportedOperation"}')
        try:
            return self.reply(b"200 OK", operation(self.body))
        except msgspec.MsgspecError:
            return self.reply(b"400 Bad Request", b'{"__type":"com.amazon.coral.service#SerializationException"}')

    def reply(self, status: bytes, body: bytes) -> None:
        self.transport.write(REPLY % (status, uuid4().encode(), len(body), body))
        if not self.parser.should_keep_alive():
            self.transport.close()


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(Floor, "127.0.0.1", port)
    print(f"ready http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
