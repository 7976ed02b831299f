"""An answer that comes for a connection that has ended is dropped: it neither raises nor is it logged."""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import uvloop

from rockdove.core.errors import InternalFailure
from rockdove.server.exchange import Exchange, Site
from rockdove.server.guard import Guard
from rockdove.server.http import Connection
from rockdove.server.limit import Limits
from rockdove.server.origin import Origins
from rockdove.server.outlet import PIECE_BYTES, SERVING
from rockdove.server.page import Page
from rockdove.server.timing import Timing
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import CreateQueueResult

REQUEST = (
    b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 2\r\n\r\n{}",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\nAction=ListQueues",
)
ANSWERS: dict[str, Callable[[Exchange], None]] = {
    "nothing": lambda call: call.answer(None),
    "large": lambda call: call.answer(CreateQueueResult(queue_url="x" * 10 * PIECE_BYTES)),
    "fault": lambda call: call.fail(InternalFailure()),
    "page": lambda call: call.show(Page(200, b"ok")),
}


class Transport(asyncio.Transport):
    """A client's end, as uvloop has it: closed is not closing."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.closing = False
        self.closed = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: Any) -> None:
        if self.closed:
            raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")
        if data:
            assert not self.closing
            self.written.append(data)

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True


class FakeSite:
    """Takes every request, and answers none."""

    def __init__(self) -> None:
        self.account = "000000000000"
        self.trust_proxy = self.access_log = self.may_miss = False
        self.guard = Guard(Limits())
        self.origins = Origins(())
        self.hosts = SimpleNamespace(known={b"x"}, admit=lambda host, peer: None)
        self.accounts = SimpleNamespace(exist=False)
        self.connections: set[Connection] = set()
        self.timings = {name: Timing() for name in OPERATIONS}
        self.calls: list[Exchange] = []

    def handle(self, call: Exchange, operation: object, request: object) -> None:
        self.calls.append(call)

    def page(self, call: Exchange, path: bytes) -> bool:
        return False

    def next_request_id(self) -> bytes:
        return b"id"

    def erred(self, operation: str, status: int) -> None:
        """Nobody counts here."""

    def defect(self, error: Exception) -> None:
        raise error


def close(connection: Connection, transport: Transport) -> None:
    transport.closing = True


def close_silently(connection: Connection, transport: Transport) -> None:
    transport.closed = True


def lose(connection: Connection, transport: Transport) -> None:
    transport.closed = True
    connection.connection_lost(None)


@pytest.mark.parametrize("request_", REQUEST, ids=["json", "query"])
@pytest.mark.parametrize("end", [close, close_silently, lose])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_after_the_end(
    request_: bytes,
    end: Callable[[Connection, Transport], None],
    answer: Callable[[Exchange], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What the client had sent ahead is not begun, either."""

    async def serve() -> None:
        site, transport = FakeSite(), Transport()
        connection = Connection(cast(Site, site), lambda: None)
        connection.connection_made(transport)
        connection.data_received(request_)
        connection.data_received(REQUEST[0])
        end(connection, transport)
        for _ in range(2):
            answer(connection.call)
            await asyncio.sleep(0)
        assert transport.written == []
        assert site.calls == [connection.call]
        assert connection.call.is_gone()

    with caplog.at_level(logging.INFO):
        asyncio.run(serve())
    assert caplog.messages == []


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_after_the_end_of_a_real_transport(
    answer: Callable[[Exchange], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def serve() -> None:
        loop, site, ended = asyncio.get_running_loop(), FakeSite(), asyncio.Event()
        connections: list[Connection] = []

        def connect() -> Connection:
            connections.append(Connection(cast(Site, site), ended.set))
            return connections[0]

        server = await loop.create_server(connect, "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(REQUEST[0])
        while not site.calls:
            await asyncio.sleep(0.001)
        transport = connections[0]._outlet.transport
        # Without a farewell, after which the client could still read.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        await asyncio.wait_for(ended.wait(), 10)
        answer(site.calls[0])
        # As if nobody had told us of the end.
        connections[0]._outlet.transport, connections[0]._outlet.state = transport, SERVING
        answer(site.calls[0])
        server.close()

    with caplog.at_level(logging.INFO):
        uvloop.run(serve())
    assert caplog.messages == []
