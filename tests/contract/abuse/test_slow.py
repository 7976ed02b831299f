"""Clients that are slow on purpose: with headers, with a body, with reading, with everything."""

import json
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.abuse.conftest import Dial, Start, held_bytes
from tests.support.certificate import Authority
from tests.support.neighbour import Neighbour
from tests.support.raw import Web, Wire, json_request
from tests.support.service import RunningService

_PATIENCE_S = 120


def trickle(wire: Wire, data: bytes) -> bytes:
    """Send a byte at a time until there is an answer; gives what was answered first."""
    wire.socket.settimeout(0.05)
    for byte in data:
        try:
            wire.socket.send(bytes([byte]))
            return wire.socket.recv(65536)
        except TimeoutError:
            continue
    raise AssertionError("never answered")


def eventually(is_there: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if is_there():
            return True
        time.sleep(0.01)
    return False


def test_headers_a_byte_at_a_time(start: Start, dial: Dial) -> None:
    service = start(header_timeout_s=1)
    with Neighbour(service.port):
        wire = dial(service)
        answer = trickle(wire, b"GET /health HTTP/1.1\r\nHost: queue.test\r\nX-Long: " + b"x" * 10_000)
        assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert b"did not arrive within 1 seconds" in answer
        assert wire.is_closed()


def test_the_second_request_on_a_connection_a_byte_at_a_time(start: Start, dial: Dial) -> None:
    service = start(header_timeout_s=1)
    wire = dial(service)
    request = b"GET /health HTTP/1.1\r\nHost: queue.test\r\n"
    wire.send(request + b"\r\n" + request[:5])
    assert wire.read().status == 200
    assert trickle(wire, request[5:] + b"X-Long: " + b"x" * 10_000).startswith(b"HTTP/1.1 408 ")


def test_many_who_begin_and_never_go_on(start: Start, dial: Dial) -> None:
    service = start(header_timeout_s=1)
    with Neighbour(service.port):
        wires = [dial(service) for _ in range(100)]
        for wire in wires:
            wire.send(b"POST / HTTP/1.1\r\nHost: ")
        for wire in wires:
            assert wire.read().status == 408


def test_a_connection_that_never_says_anything_is_closed(start: Start, dial: Dial) -> None:
    service = start(header_timeout_s=1)
    assert dial(service).is_closed()


def test_a_body_a_byte_at_a_time(start: Start, dial: Dial) -> None:
    service = start(body_timeout_s=1)
    with Neighbour(service.port):
        wire = dial(service)
        request = json_request("CreateQueue", b"x" * 10_000)
        wire.send(request[:300])
        assert trickle(wire, request[300:]).startswith(b"HTTP/1.1 408 ")


def test_chunks_a_byte_at_a_time(start: Start, dial: Dial) -> None:
    service = start(body_timeout_s=1)
    wire = dial(service)
    wire.send(b"POST / HTTP/1.1\r\nHost: queue.test\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert trickle(wire, b"1\r\nx\r\n" * 10_000).startswith(b"HTTP/1.1 408 ")


def test_who_takes_time_between_requests_has_it_for_each_anew(start: Start, dial: Dial) -> None:
    """What counts is how long a request takes, not when it begins."""
    service = start(header_timeout_s=1, body_timeout_s=1)
    wire = dial(service)
    request = b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n"
    for _ in range(2):
        wire.send(request[:30])
        time.sleep(0.3)
        wire.send(request[30:])
        assert wire.read().status == 200
        time.sleep(1.5)


def test_an_idle_connection_is_closed(start: Start, dial: Dial) -> None:
    service = start(idle_timeout_s=1)
    with Neighbour(service.port):
        wire = dial(service)
        wire.send(b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n")
        assert wire.read().status == 200
        assert wire.is_closed()


def test_who_waits_for_a_message_is_not_idle(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start(idle_timeout_s=1, header_timeout_s=1, body_timeout_s=1, write_timeout_s=1)
    url = web(service).create("q")
    wire = dial(service)
    wire.send(json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 4}))
    assert wire.read().status == 200


def full_queue(web: Web) -> str:
    url = web.create("full", VisibilityTimeout="0")
    for _ in range(10):
        web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x" * 1_000_000})
    return url


def ask_for_much(service_wire: Wire, url: str) -> None:
    service_wire.socket.settimeout(None)
    for _ in range(16):
        service_wire.send(json_request("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 1}))


def test_a_client_that_does_not_read_its_answers_is_cut_off(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start(write_timeout_s=2)
    url = full_queue(web(service))
    with Neighbour(service.port):
        wires = [dial(service) for _ in range(5)]
        for wire in wires:
            ask_for_much(wire, url)
        # Each has one answer that it does not take, and what the kernel keeps for it; not sixteen.
        assert eventually(lambda: held_bytes(service) > 0)
        assert held_bytes(service) < 5 * 2_500_000
        assert eventually(lambda: held_bytes(service) == 0)


def test_the_memory_for_unread_answers_is_bounded(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start(max_buffered_bytes=3_000_000, write_timeout_s=60)
    url = full_queue(web(service))
    with Neighbour(service.port):
        wires = [dial(service) for _ in range(20)]
        for wire in wires:
            ask_for_much(wire, url)
            assert held_bytes(service) <= 3_000_000 + 1_500_000
    for wire in wires:
        wire.close()
    assert eventually(lambda: held_bytes(service) == 0)


def unread_bytes(service: RunningService) -> tuple[int, int]:
    """What transports hold that are not closed, and what was counted of it, at one moment."""

    async def look() -> tuple[int, int]:
        outlets = [connection._outlet for connection in service.service.connections]
        held = [one.transport.get_write_buffer_size() for one in outlets if one.transport and not one.is_closing()]
        return sum(held), service.service.guard.held_bytes

    return service.run(look())


@pytest.mark.parametrize("target", ["Rockdove.Peek", "AmazonSQS.ReceiveMessage"])
def test_all_of_an_unread_answer_counts(start: Start, dial: Dial, web: Callable[..., Web], target: str) -> None:
    service = start(max_buffered_bytes=40_000_000, write_timeout_s=60)
    url = full_queue(web(service))
    wires = [dial(service) for _ in range(20)]
    most = 1 if target.startswith("AmazonSQS") else 100
    for wire in wires:
        for _ in range(8):
            wire.send(json_request(target, {"QueueUrl": url, "MaxNumberOfMessages": most}))
    assert eventually(lambda: unread_bytes(service)[0] > 5_000_000)
    for _ in range(10):
        unread, counted = unread_bytes(service)
        assert unread <= min(counted, 40_000_000)
        time.sleep(0.05)


def test_an_unread_answer_counts_though_what_came_after_it_is_refused(
    start: Start, dial: Dial, web: Callable[..., Web]
) -> None:
    service = start(max_buffered_bytes=200_000_000, write_timeout_s=60)
    url = full_queue(web(service))
    wires = [dial(service) for _ in range(10)]
    for wire in wires:
        wire.send(json_request("Rockdove.Peek", {"QueueUrl": url, "MaxNumberOfMessages": 100}))
    assert eventually(lambda: unread_bytes(service)[0] > 5_000_000)
    for wire in wires:
        wire.send(json_request("ListQueues", {}) + b"\x00garbage\r\n\r\n")
    assert eventually(lambda: refused(service) == len(wires))
    unread, counted = unread_bytes(service)
    assert 5_000_000 < unread <= counted


def refused(service: RunningService) -> int:
    async def look() -> int:
        return sum(connection._outlet.deaf for connection in service.service.connections)

    return service.run(look())


def test_who_holds_little_is_not_to_blame(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start(max_buffered_bytes=3_000_000, write_timeout_s=60)
    url = full_queue(web(service))
    small = dial(service)
    request = json_request("GetQueueAttributes", {"QueueUrl": url})
    small.send(request[:-5])
    assert eventually(lambda: held_bytes(service) > 0)
    for wire in [dial(service) for _ in range(20)]:
        ask_for_much(wire, url)
        assert held_bytes(service) <= 3_000_000 + 1_500_000
    small.send(request[-5:])
    assert small.read().status == 200


def test_a_slow_reader_who_reads_gets_everything(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start()
    url = full_queue(web(service))
    wire = dial(service)
    ask_for_much(wire, url)
    time.sleep(0.2)
    for _ in range(16):
        assert len(wire.read().json["Messages"][0]["Body"]) == 1_000_000


@pytest.mark.parametrize("target", ["Rockdove.Peek", "Rockdove.LeaseBatch", "Rockdove.Receive"])
def test_many_who_ask_for_much_and_read_nothing(start: Start, dial: Dial, web: Callable[..., Web], target: str) -> None:
    """Their answers are made a few at a time, and count as soon as they are made."""
    service = start(max_buffered_bytes=20_000_000, write_timeout_s=60)
    url = full_queue(web(service))
    much = {"Rockdove.LeaseBatch": {"Consumer": "c", "Shard": 0, "Sequence": 0}}
    content = much.get(target, {"MaxNumberOfMessages": 100}) | {"QueueUrl": url}
    with Neighbour(service.port) as neighbour:
        wires = [dial(service) for _ in range(40)]
        for wire in wires:
            wire.send(json_request(target, content))
        assert eventually(lambda: held_bytes(service) > 5_000_000)
        neighbour.go_on()
        assert held_bytes(service) <= 20_000_000
        for wire in wires:
            wire.close()
        last = dial(service)
        last.send(json_request(target, content))
        assert len(last.read().json["Messages"]) == 9
    assert eventually(lambda: held_bytes(service) == 0)


def test_what_is_not_read_over_tls_counts_and_ends(start: Start, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.issue()
    service = start({"tls_cert": authority.cert, "tls_key": authority.key}, write_timeout_s=2)

    def ask(target: str, **content: Any) -> ssl.SSLSocket:
        bare = socket.create_connection(("127.0.0.1", service.port), timeout=10)
        wire = authority.client().wrap_socket(bare, server_hostname="127.0.0.1")
        wire.sendall(json_request(target, content))
        return wire

    with ask("CreateQueue", QueueName="q") as made:
        url = json.loads(made.recv(65536).partition(b"\r\n\r\n")[2])["QueueUrl"]
    for _ in range(9):
        with ask("SendMessage", QueueUrl=url, MessageBody="x" * 1_000_000) as sent:
            assert sent.recv(65536).startswith(b"HTTP/1.1 200 ")
    with ask("Rockdove.Peek", QueueUrl=url, MaxNumberOfMessages=100):
        assert eventually(lambda: held_bytes(service) > 500_000)
        assert eventually(lambda: held_bytes(service) == 0), "it was cut off"
