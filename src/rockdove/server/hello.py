"""The first message of a TLS handshake: it is in the kernel whole before anything is made for the connection.

A client may announce one of 128 KiB, and stop: OpenSSL would keep several times as much for each.
"""

import asyncio
import socket

# Of a record, and of the message in it: the kind and the length of each.
_RECORD, _MESSAGE = 5, 4
_HANDSHAKE, _CLIENT_HELLO = 22, 1
# Those of real clients have up to two KiB.
MOST_BYTES = 16_384


class HelloError(ConnectionError):
    """It is larger than that of any client, or cut into tiny records."""


async def hello(client: socket.socket) -> None:
    """Wait until it is there. What is no TLS is left to who reads it. Raises `HelloError`."""
    head = await _peek(client, _RECORD + _MESSAGE)
    if len(head) < _RECORD + _MESSAGE or head[0] != _HANDSHAKE or head[_RECORD] != _CLIENT_HELLO:
        return
    record = int.from_bytes(head[3:_RECORD], "big")
    message = int.from_bytes(head[_RECORD + 1 :], "big")
    if message > MOST_BYTES or record < min(message + _MESSAGE, MOST_BYTES):
        raise HelloError
    await _peek(client, _RECORD + record)


async def _peek(client: socket.socket, number: int) -> bytes:
    """So many bytes, or less if the client has ended; they stay where they are."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, number)
    try:
        await _readable(client)
        return client.recv(number, socket.MSG_PEEK)
    except BlockingIOError:
        return b""
    finally:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


async def _readable(client: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(client, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(client)
