"""Requests that are too large, or never end, or are sent ahead without end."""

import asyncio
import gc
import hashlib
import json
import socket
import struct
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import suppress

import pytest

from rockdove.server import guard
from rockdove.server.http import Connection
from tests.contract.abuse.conftest import Dial, Start, held_bytes
from tests.contract.abuse.test_slow import eventually
from tests.support.neighbour import Neighbour
from tests.support.raw import Web, Wire, json_request
from tests.support.service import RunningService

_PATIENCE_S = 120
HEAD = b"POST / HTTP/1.1\r\nHost: queue.test\r\n"


def connection_of(service: RunningService, wire: Wire) -> Connection:
    """The other end. For the service's event loop."""
    port = wire.socket.getsockname()[1]
    outlets = {each: each._outlet.transport for each in service.service.connections}
    (found,) = [each for each, end in outlets.items() if end is not None and end.get_extra_info("peername")[1] == port]
    return found


def pump(wire: Wire, data: bytes) -> None:
    """Send the same over and over until the other end has had enough."""
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < deadline:
            wire.socket.sendall(data)
    except ConnectionError:
        return
    raise AssertionError("it never had enough")


@pytest.mark.parametrize("pieces", [1, 2, 50], ids=str)
def test_headers_over_the_limit(start: Start, dial: Dial, pieces: int) -> None:
    service = start(max_header_bytes=2048)
    wire = dial(service)
    request = b"GET /health HTTP/1.1\r\nHost: queue.test\r\nX-Long: " + b"x" * 5000 + b"\r\n\r\n"
    size = -(-len(request) // pieces)
    for at in range(0, len(request), size):
        wire.send(request[at : at + size])
    reply = wire.read()
    assert (reply.status, reply.text) == (431, "The request's headers are too large: at most 2048 bytes.\n")
    assert wire.is_closed()


@pytest.mark.parametrize("size", [1950, 2500, 3500], ids=str)
@pytest.mark.parametrize("rest", [b"\r\n", b"Content-Length: 2\r\n\r\n", b"Content-Length: 2\r\n\r\n{}"], ids=len)
def test_headers_over_the_limit_with_their_second_piece(start: Start, dial: Dial, size: int, rest: bytes) -> None:
    wire = dial(start(max_header_bytes=2048))
    wire.send(HEAD + b"X-Long: " + b"x" * 1000)
    time.sleep(0.05)
    wire.send(b"x" * (size - 1000) + b"\r\nX-More: " + b"y" * 150 + b"\r\n" + rest)
    assert wire.read().status == 431


@pytest.mark.parametrize("rest", [b"\r\n", b"", b"Content-Length: 2\r\n\r\n{"], ids=["whole", "head", "body"])
def test_too_many_headers(start: Start, dial: Dial, rest: bytes) -> None:
    wire = dial(start())
    wire.send(HEAD + b"".join(b"x%d: y\r\n" % number for number in range(300)) + rest)
    reply = wire.read()
    assert (reply.status, reply.text) == (431, "The request has too many headers: at most 256.\n")
    assert wire.is_closed()


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("number", [1_100, 140_000])
def test_chunks_that_are_too_small(start: Start, dial: Dial, number: int) -> None:
    """To take them apart would keep the others waiting."""
    service = start()
    with Neighbour(service.port):
        wire = dial(service)
        wire.send(CHUNKED + b"2\r\nxx\r\n" * number)
        reply = wire.read()
    assert (reply.status, reply.text) == (400, "The chunks are too small: send at least 256 bytes in each.\n")
    assert wire.is_closed()


def test_chunks_that_are_just_large_enough(start: Start, dial: Dial) -> None:
    wire = dial(start())
    head = CHUNKED.replace(b"\r\n\r\n", b"\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n\r\n")
    wire.send(head + b"100\r\n" + b" " * 256 + b"\r\n")
    wire.send((b"100\r\n" + b" " * 256 + b"\r\n") * 900 + b"2\r\n{}\r\n0\r\n\r\n")
    assert wire.read().status == 200


def test_some_chunks_may_be_small(start: Start, dial: Dial) -> None:
    wire = dial(start())
    head = CHUNKED.replace(b"\r\n\r\n", b"\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n\r\n")
    wire.send(head + b"1\r\n \r\n" * 60 + b"10000\r\n" + b" " * 0x10000 + b"\r\n" + b"1\r\n \r\n" * 150)
    wire.send(b"2\r\n{}\r\n0\r\nX-Some: trailer\r\n\r\n")
    assert wire.read().status == 200


# What stands between chunks, or after them, and has no end.
FRAMING = {
    "trailers": (b"1\r\n \r\n0\r\n", b"x: y\r\n"),
    "a size": (b"1\r\n \r\n", b"0"),
    "extensions": (b"1\r\n \r\n1", b";x=y"),
}


@pytest.mark.parametrize(("begin", "again"), FRAMING.values(), ids=FRAMING)
def test_framing_without_end(start: Start, dial: Dial, begin: bytes, again: bytes) -> None:
    service = start()
    with Neighbour(service.port):
        wire = dial(service)
        wire.send(CHUNKED + begin)
        with suppress(ConnectionError):
            for _ in range(40):
                wire.send(again * 2_000)
        reply = wire.read()
    assert reply.status == 400, reply
    assert wire.is_closed()


# What takes far more memory than bytes, on a connection.
WASTEFUL = {
    "tiny headers": (HEAD, [b"%x:\r\n" % number for number in range(230)]),
    "small chunks": (CHUNKED, [b"100\r\n" + b"x" * 256 + b"\r\n"] * 1_000),
    "tiny pieces of a body": (HEAD + b"Content-Length: 9999\r\n\r\n", [b"xx"] * 2_000),
    "tiny pieces of a url": (b"GET /", [b"xx"] * 2_000),
}


@pytest.mark.parametrize(("head", "pieces"), WASTEFUL.values(), ids=WASTEFUL)
def test_what_is_held_is_what_objects_take(start: Start, dial: Dial, head: bytes, pieces: list[bytes]) -> None:
    service = start()
    wire = dial(service)
    wire.send(head)
    for piece in pieces:
        wire.send(piece)
    sent = len(head) + sum(map(len, pieces))
    assert eventually(lambda: held_bytes(service) >= sent)

    async def taken() -> int:
        (intake,) = [connection._intake for connection in service.service.connections]
        objects = [*intake._url, *intake._body, *intake._headers, *intake._headers.values()]
        return sum(map(sys.getsizeof, [*objects, intake._url, intake._body, intake._headers]))

    assert service.run(taken()) <= held_bytes(service) + 4_096


def test_headers_within_the_limit(start: Start, dial: Dial) -> None:
    wire = dial(start(max_header_bytes=2048))
    wire.send(b"GET /health HTTP/1.1\r\nHost: queue.test\r\nX-Long: " + b"x" * 1900 + b"\r\n\r\n")
    assert wire.read().status == 200


@pytest.mark.parametrize("first", [b"", b"Content-Length: 5\r\n"], ids=["plain", "with a length"])
def test_headers_without_end(start: Start, dial: Dial, first: bytes) -> None:
    service = start()
    with Neighbour(service.port):
        wire = dial(service)
        wire.send(HEAD + first)
        wire.send(b"X-More: and more\r\n" * 5000)
        assert wire.read().status == 431


@pytest.mark.parametrize("size", [4097, 100_000, 10**12])
def test_a_body_over_the_limit(start: Start, dial: Dial, size: int) -> None:
    service = start(max_body_bytes=4096)
    wire = dial(service)
    wire.send(HEAD + b"X-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: %d\r\n\r\n" % size)
    wire.send(b" " * min(size - 1, 100_000))
    reply = wire.read()
    assert (reply.status, reply.json["__type"].partition("#")[2]) == (413, "RequestEntityTooLarge")
    assert reply.json["message"] == "The request must be at most 4096 bytes long."


def test_a_body_over_the_limit_in_one_piece(start: Start, dial: Dial) -> None:
    wire = dial(start(max_body_bytes=4096))
    wire.send(json_request("CreateQueue", {"QueueName": "x" * 5000}))
    assert wire.read().status == 413


def test_a_body_within_the_limit(start: Start, web: Callable[..., Web]) -> None:
    service = start(max_body_bytes=4096)
    assert web(service).call("ListQueues", b" " * 4000 + b"{}").status == 200


def test_chunks_without_end(start: Start, dial: Dial) -> None:
    service = start(max_body_bytes=100_000)
    with Neighbour(service.port):
        wire = dial(service)
        wire.send(HEAD + b"X-Amz-Target: AmazonSQS.ListQueues\r\nTransfer-Encoding: chunked\r\n\r\n")
        pump(wire, b"1000\r\n" + b" " * 4096 + b"\r\n")
    assert eventually(lambda: held_bytes(service) == 0)


@pytest.mark.parametrize("over", [0, 1, 500])
@pytest.mark.parametrize("chunk_bytes", [700, 10_000])
def test_chunks_count_to_the_byte(start: Start, dial: Dial, over: int, chunk_bytes: int) -> None:
    wire = dial(start(max_body_bytes=2048))
    body = b"{}".ljust(2048 + over)
    chunks = [body[at : at + chunk_bytes] for at in range(0, len(body), chunk_bytes)]
    wire.send(
        HEAD
        + b"X-Amz-Target: AmazonSQS.ListQueues\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
        + b"0\r\n\r\n"
    )
    reply = wire.read()
    assert reply.status == (413 if over else 200)
    if over:
        assert "at most 2048 bytes" in reply.text
        assert wire.is_closed()


def test_a_chunk_header_without_end(start: Start, dial: Dial) -> None:
    service = start(max_body_bytes=100_000)
    wire = dial(service)
    wire.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;x=")
    pump(wire, b"y" * 4096)


def test_trailers_without_end(start: Start, dial: Dial) -> None:
    service = start(max_body_bytes=100_000)
    wire = dial(service)
    wire.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
    pump(wire, b"X-More: and more\r\n" * 100)


@pytest.mark.parametrize("most", [1, 2, 16])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_requests_ahead_without_end_are_all_answered_in_order(
    start: Start, dial: Dial, web: Callable[..., Web], store: str, most: int
) -> None:
    """Also those that arrive in the moment in which one is answered and the next is not begun."""
    service = start(store=store, max_pipelined=most)
    url = web(service).create("q")
    with Neighbour(service.port):
        wire = dial(service)
        numbers = range(1000)
        for number in numbers:
            wire.send(json_request("SendMessage", {"QueueUrl": url, "MessageBody": str(number)}))
        answered = [wire.read().json["MD5OfMessageBody"] for _ in numbers]
        assert answered == [hashlib.md5(str(number).encode()).hexdigest() for number in numbers]
    got = web(service)
    bodies = [
        message["Body"]
        for _ in range(100)
        for message in got.call("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10}).json["Messages"]
    ]
    assert bodies == [str(number) for number in numbers]


@pytest.mark.parametrize("first", ["ListQueues", "ReceiveMessage"])
def test_of_what_is_sent_at_once_little_is_looked_at(
    start: Start, dial: Dial, web: Callable[..., Web], first: str
) -> None:
    """Thousands of requests in one piece: others have a turn between them, and each is answered."""
    service = start()
    url, wire = web(service).create("q"), dial(service)
    number, most_ahead = 2_000, 0
    wait = {"QueueUrl": url, "WaitTimeSeconds": 20} if first == "ReceiveMessage" else {}
    data = json_request(first, wait) + json_request("ListQueues", {}) * number

    async def arrive() -> None:
        nonlocal most_ahead
        connection = connection_of(service, wire)
        connection.data_received(data)
        most_ahead = len(connection._pipeline.ahead)
        assert connection._intake.held_bytes > len(data) // 2

    wire.send(b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n")
    assert wire.read().status == 200
    service.run(arrive())
    assert most_ahead < 200
    web(service).call("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    assert [wire.read().status for _ in range(number + 1)] == [200] * (number + 1)
    assert eventually(lambda: held_bytes(service) == 0)


def test_a_request_does_not_overtake_one_that_was_read_before(
    start: Start, dial: Dial, web: Callable[..., Web]
) -> None:
    """The first is answered, the second has not begun, and at that moment the third arrives."""
    service = start()
    url, wire = web(service).create("q"), dial(service)
    wire.send(b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n")
    assert wire.read().status == 200
    first = json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20})
    second, third = (json_request("SendMessage", {"QueueUrl": url, "MessageBody": body}) for body in ("2", "3"))

    async def arrive() -> None:
        connection = connection_of(service, wire)
        connection.data_received(first)
        while not service.service.broker.context.waiting.number:
            await asyncio.sleep(0.001)
        connection.data_received(second)
        assert connection.waiting is not None
        connection.waiting.give_up()
        connection.data_received(third)

    service.run(arrive())
    assert wire.read().json == {}
    answered = [wire.read().json["MD5OfMessageBody"] for _ in range(2)]
    assert answered == [hashlib.md5(body).hexdigest() for body in (b"2", b"3")]


def test_large_requests_ahead_take_no_memory(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    """While the first waits for a message, megabytes behind it stay with the client, and come in their turn."""
    service = start()
    empty, full = web(service).create("empty"), web(service).create("full")
    with Neighbour(service.port):
        wire = dial(service)
        large = json_request("SendMessage", {"QueueUrl": full, "MessageBody": "x" * 1_000_000})
        wire.send(json_request("ReceiveMessage", {"QueueUrl": empty, "WaitTimeSeconds": 3}))
        wire.socket.settimeout(20)
        for _ in range(4):
            wire.send(large)
            assert held_bytes(service) < 1_000_000
        for _ in range(5):
            assert wire.read().status == 200
    assert eventually(lambda: held_bytes(service) == 0)


def take_turn(service: RunningService, number: int) -> None:
    async def begin() -> None:
        assert service.service.guard.begin(number, lambda granted: None)

    service.run(begin())


@pytest.mark.parametrize("ahead", [1, 3])
def test_large_requests_take_turns(
    start: Start, dial: Dial, web: Callable[..., Web], monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """Each is served, however long it has waited."""
    monkeypatch.setattr(guard, "SERVED_BYTES", 150_000)
    service = start(idle_timeout_s=1, header_timeout_s=1)
    url = web(service).create("q")
    request = json_request("SendMessage", {"QueueUrl": url, "MessageBody": "x" * 100_000})
    take_turn(service, 100_000)
    wires = [dial(service) for _ in range(10)]
    for wire in wires:
        wire.send(request * ahead)
    with Neighbour(service.port):
        # Longer than an idle connection may take.
        time.sleep(2.5)
        assert held_bytes(service) >= 10 * 100_000

        async def end() -> None:
            service.service.guard.end(100_000)

        service.run(end())
        for wire in wires:
            assert [wire.read().status for _ in range(ahead)] == [200] * ahead
    assert eventually(lambda: held_bytes(service) == 0)
    assert service.service.guard._served == 0


@pytest.mark.parametrize("target", ["AmazonSQS.ReceiveMessage", "Rockdove.LeaseBatch"])
def test_who_waits_for_messages_has_no_turn(
    start: Start, dial: Dial, web: Callable[..., Web], monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Otherwise a few long requests that wait would keep all others waiting."""
    monkeypatch.setattr(guard, "SERVED_BYTES", 150_000)
    service = start()
    empty, full = web(service).create("empty"), web(service).create("full")
    wait = {"QueueUrl": empty, "WaitTimeSeconds": 20, "Consumer": "c", "Shard": 0, "Sequence": 0}
    for _ in range(5):
        dial(service).send(json_request(target, json.dumps(wait).encode() + b" " * 100_000))
    assert eventually(lambda: service.service.broker.context.waiting.number == 5)
    assert service.service.guard._served == 0
    assert web(service).call("SendMessage", {"QueueUrl": full, "MessageBody": "x" * 100_000}).status == 200


def test_a_turn_waits_until_answers_are_read(
    start: Start, dial: Dial, web: Callable[..., Web], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has its turn, and has to read first, gives it to the next and asks again."""
    monkeypatch.setattr(guard, "SERVED_BYTES", 150_000)
    service = start()
    large, other = web(service).create("large"), web(service).create("other")
    for _ in range(3):
        web(service).call("SendMessage", {"QueueUrl": large, "MessageBody": "x" * 1_000_000})
    wire = dial(service)
    peek = json_request("Rockdove.Peek", {"QueueUrl": large, "MaxNumberOfMessages": 3})
    send = json_request("SendMessage", {"QueueUrl": other, "MessageBody": "x" * 100_000})
    wire.send(peek + peek + send)
    assert eventually(lambda: held_bytes(service) > 100_000)
    assert web(service).call("SendMessage", {"QueueUrl": other, "MessageBody": "x" * 100_000}).status == 200
    assert [wire.read().status for _ in range(3)] == [200] * 3
    assert service.service.guard._served == 0


def test_who_waits_for_a_turn_and_leaves_takes_none(
    start: Start, dial: Dial, web: Callable[..., Web], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "SERVED_BYTES", 150_000)
    service = start()
    url = web(service).create("q")
    request = json_request("SendMessage", {"QueueUrl": url, "MessageBody": "x" * 100_000})
    take_turn(service, 100_000)
    wires = [dial(service) for _ in range(3)]
    for wire in wires:
        wire.send(request)
    assert eventually(lambda: held_bytes(service) >= 300_000)
    for wire in wires[:2]:
        # Without a farewell.
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
    assert eventually(lambda: held_bytes(service) < 200_000)

    async def end() -> None:
        service.service.guard.end(100_000)

    service.run(end())
    assert wires[2].read().status == 200
    assert service.service.guard._served == 0


def test_the_memory_for_unfinished_requests_is_bounded(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    """Whoever has been at it for longest has to go; who comes now is served."""
    service = start(max_buffered_bytes=2_000_000)
    url = web(service).create("q")
    request = json_request("SendMessage", {"QueueUrl": url, "MessageBody": "x" * 1_000_000})
    with Neighbour(service.port):
        wires = [dial(service) for _ in range(10)]
        for wire in wires:
            wire.send(request[:600_000])
            assert eventually(lambda: held_bytes(service) <= 2_000_000)
        *oldest, second, last = wires
        for wire in (last, second):
            wire.send(request[600_000:])
            assert wire.read().status == 200
        for wire in oldest:
            reply = wire.read()
            assert (reply.status, "no memory" in reply.text) == (503, True)
    assert eventually(lambda: held_bytes(service) == 0)


UNFINISHED = {
    "body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 600_000,
    "chunks": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"1000\r\n%b\r\n" % bytes(4096) * 100,
    "headers": b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: %b\r\n" % (number, b"y" * 100) for number in range(200)),
    "nothing": b"",
}


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED)
def test_who_leaves_leaves_nothing_behind(start: Start, dial: Dial, sent: bytes) -> None:
    """At once, not when somebody looks for garbage: by then thousands could have left as much."""
    service = start()
    wire = dial(service)
    wire.send(sent)
    assert eventually(lambda: held_bytes(service) >= len(sent) and len(service.service.connections) == 1)
    (connection,) = map(weakref.ref, service.service.connections)
    gc.disable()
    try:
        wire.close()
        assert eventually(lambda: connection() is None)
    finally:
        gc.enable()


AHEAD = {
    "headers": (b"GET /health HTTP/1.1\r\nHost: queue.test\r\nX-Long: " + b"x" * 60_000 + b"\r\n\r\n") * 16,
    # Which take far more memory than their bytes.
    "small headers": (b"GET / HTTP/1.1\r\nHost: x\r\n%b\r\n" % b"".join(b"%d:\r\n" % number for number in range(250)))
    * 16,
    "urls": (b"GET /health?" + b"x" * 60_000 + b" HTTP/1.1\r\nHost: queue.test\r\n\r\n") * 16,
}


@pytest.mark.parametrize("ahead", AHEAD.values(), ids=AHEAD)
def test_heads_of_requests_ahead_count(start: Start, dial: Dial, web: Callable[..., Web], ahead: bytes) -> None:
    """Whatever a request is made of, a few of them are enough, and all clients together may not send more."""
    service = start(max_buffered_bytes=2_000_000)
    empty = web(service).create("empty")
    with Neighbour(service.port):
        wires = [receive_wait(service, dial, empty, 4) for _ in range(20)]
        most = 0
        for wire in wires:
            wire.socket.settimeout(0.02)
            with suppress(TimeoutError):
                wire.send(ahead)
            most = max(most, held_bytes(service))
        assert 1_000_000 < most <= 2_000_000
        wires[0].socket.settimeout(20)
        assert [wires[0].read().status for _ in range(2)] == [200, 503], "the first has its answer, and is told"


def receive_wait(service: RunningService, dial: Dial, url: str, wait_s: int = 20) -> Wire:
    wire = dial(service)
    wire.send(json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": wait_s}))
    return wire


def test_receives_that_wait(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start(max_long_polls=2)
    client = web(service)
    url, full = client.create("empty"), client.create("full")

    async def waiting() -> int:
        return service.service.broker.context.waiting.number

    wires = [receive_wait(service, dial, url) for _ in range(2)]
    assert eventually(lambda: service.run(waiting()) == 2)
    reply = client.call("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20})
    assert (reply.status, reply.headers["x-amzn-query-error"]) == (400, "ThrottlingException;Sender")
    assert "Too many receives wait" in reply.json["message"]
    # Who need not wait is served.
    client.call("SendMessage", {"QueueUrl": full, "MessageBody": "x"})
    reply = client.call("ReceiveMessage", {"QueueUrl": full, "WaitTimeSeconds": 20})
    assert [message["Body"] for message in reply.json["Messages"]] == ["x"]
    assert client.call("ReceiveMessage", {"QueueUrl": url}).status == 200
    # A message, a farewell and the end of the time make room.
    client.call("SendMessage", {"QueueUrl": url, "MessageBody": "y"})
    assert wires[0].read().json["Messages"][0]["Body"] == "y"
    wires[1].close()
    assert eventually(lambda: service.run(waiting()) == 0)
    wires = [receive_wait(service, dial, url, 1) for _ in range(2)]
    assert [wire.read().status for wire in wires] == [200, 200]
    assert service.run(waiting()) == 0


def test_queues_of_an_account(start: Start, web: Callable[..., Web]) -> None:
    service = start({"cool_down": False}, max_queues_per_account=5)
    with Neighbour(service.port):
        client = web(service)
        first = client.create("first")
        client.create("three", RockdovePhysicalQueues="3")
        for content in ({"QueueName": "one-more"}, {"QueueName": "x", "Attributes": {"RockdovePhysicalQueues": "9"}}):
            reply = client.call("CreateQueue", content)
            assert (reply.status, reply.headers["x-amzn-query-error"]) == (403, "OverLimit;Sender")
            assert reply.json["message"].startswith("An account may have 5 queues")
        # One that is there may be created again.
        assert client.create("first") == first
        client.call("DeleteQueue", {"QueueUrl": first})
        client.create("one-more")
        assert client.call("CreateQueue", {"QueueName": "another"}).status == 403
        queues = client.call("ListQueues", {}).json["QueueUrls"]
        assert sorted(url.rpartition("/")[2] for url in queues) == ["neighbour", "one-more", "three"]


def test_queues_are_counted_again_after_a_restart(start: Start, web: Callable[..., Web]) -> None:
    service = start(store="sqlite", max_queues_per_account=2)
    for name in ("a", "b"):
        web(service).create(name)
    service.restart()
    reply = web(service).call("CreateQueue", {"QueueName": "c"})
    assert json.loads(reply.body)["__type"].endswith("#OverLimit")


def test_a_head_that_begins_behind_a_body_is_measured(start: Start, dial: Dial) -> None:
    """In the same piece as the end of the request before it."""
    wire = dial(start())
    wire.send(b"POST /health HTTP/1.1\r\nHost: queue.test\r\nContent-Length: 1\r\n\r\n")
    many = b"".join(b"a%d:b\r\n" % number for number in range(300))
    wire.send(b"xPOST / HTTP/1.1\r\nHost: queue.test\r\n" + many)
    assert [wire.read().status for _ in range(2)] == [200, 431]


@pytest.mark.parametrize("path", ["/health", "/", "/?Action=ListQueues"])
@pytest.mark.parametrize("target", [b"", b"X-Amz-Target: AmazonSQS.ListQueues\r\n"])
def test_an_idle_connection_keeps_nothing_of_its_last_request(
    start: Start, dial: Dial, path: str, target: bytes
) -> None:
    service = start()
    wire = dial(service)
    head = b"POST %b HTTP/1.1\r\nHost: queue.test\r\nX-Amzn-Trace-Id: %b\r\n%b" % (path.encode(), b"x" * 20_000, target)
    body = b"{}" + b" " * 100_000
    wire.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    wire.read()
    (connection,) = service.service.connections
    kept = (connection.call._served_headers, connection.call.trace_id, connection.call.asked)
    assert kept == ({}, None, (b"", b"", b""))
    assert eventually(lambda: held_bytes(service) == 0)
