"""HTTP itself, as clients really speak it and as they should not: every request is answered, and nothing hangs."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlencode

import pytest

from rockdove.server.http import Connection
from tests.contract.sqs.conftest import NewName
from tests.support.patience import wait_until
from tests.support.raw import Reply, Web, Wire, json_request
from tests.support.service import RunningService


@pytest.fixture
def wire(service: RunningService) -> Iterator[Wire]:
    made = Wire(service.port)
    yield made
    made.close()


@pytest.fixture
def send(url: str) -> bytes:
    """A request that sends a message."""
    return json_request("SendMessage", {"QueueUrl": url, "MessageBody": "x"})


def _count(web: Web, url: str) -> int:
    content = {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]}
    return int(web.call("GetQueueAttributes", content).json["Attributes"]["ApproximateNumberOfMessages"])


def _alive(service: RunningService) -> None:
    web = Web(service.port)
    assert web.request("GET", "/health").status == 200
    web.close()


def test_health(web: Web) -> None:
    assert web.request("GET", "/health").status == 200
    head = web.request("HEAD", "/health")
    assert (head.status, head.body) == (200, b"")


@pytest.mark.parametrize(
    "path", ["/nothing", "/favicon.ico", "/a/b/c/d", "/health/x", "/%00", "/..", "//", "/?", "/%e4"]
)
def test_unknown_paths(web: Web, path: str) -> None:
    assert web.request("GET", path).status in (400, 404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD"])
def test_other_methods(web: Web, url: str, method: str) -> None:
    assert web.request(method, "/").status in (400, 405)
    assert web.request(method, "/", b'{"QueueName": "x"}', {"X-Amz-Target": "AmazonSQS.CreateQueue"}).status in (
        400,
        405,
    )
    assert web.request("GET", "/health").status == 200


@pytest.mark.parametrize(
    ("target", "header", "status"),
    [
        (b"/health", b"X-A: b", 200),
        (b"/", b"X-A: b", 405),
        (b"/health", b"Content-Encoding: gzip", 415),
        (b"/health", b"Origin: http://elsewhere.example", 403),
        (b"/", b"Origin: http://elsewhere.example\r\nX-Amz-Target: AmazonSQS.ListQueues", 403),
    ],
)
def test_an_answer_to_head_has_no_body(wire: Wire, target: bytes, header: bytes, status: int) -> None:
    wire.send(b"HEAD %b HTTP/1.1\r\nHost: queue.test\r\n%b\r\n\r\n" % (target, header))
    wire.send(b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n")
    wire.socket.settimeout(1)
    received = b""
    while b"\r\n\r\nok" not in received:
        received += wire.socket.recv(65536)
    first, _, rest = received.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 %d " % status)
    assert rest.startswith(b"HTTP/1.1 200 ")


def test_answers_say_what_they_are(web: Web, url: str) -> None:
    reply = web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"
    assert int(reply.headers["content-length"]) == len(reply.body)
    first = reply.headers["x-amzn-requestid"]
    second = web.call("ReceiveMessage", {"QueueUrl": url}).headers["x-amzn-requestid"]
    assert first != second


def test_json_is_taken_on_any_path(web: Web, url: str) -> None:
    """SDKs send it to the queue's own path as well."""
    path = "/" + url.split("/", 3)[3]
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}, path=path).status == 200


def test_query_mode_is_understood(web: Web) -> None:
    reply = web.call("GetQueueUrl", {"QueueName": "never-made"}, {"x-amzn-query-mode": "true"})
    assert reply.headers["x-amzn-query-error"] == "AWS.SimpleQueueService.NonExistentQueue;Sender"


@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/x-amz-json-1.1", "text/plain", "", "application/x-amz-json-1.0; charset=utf-8"],
)
def test_the_content_type_is_not_decisive(web: Web, url: str, kind: str) -> None:
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}, {"Content-Type": kind}).status == 200


def test_http_1_0_closes(wire: Wire, send: bytes) -> None:
    wire.send(send.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert wire.read().status == 200
    assert wire.is_closed()


def test_http_1_0_may_keep_the_connection(wire: Wire, send: bytes) -> None:
    request = send.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host:", b"Connection: keep-alive\r\nHost:")
    for _ in range(2):
        wire.send(request)
        reply = wire.read()
        assert reply.status == 200
        if reply.headers.get("connection", "").lower() != "keep-alive":
            # A client of 1.0 must be told; untold it waits for the end.
            assert wire.is_closed()
            break


@pytest.mark.parametrize("value", ["close", "Close", "keep-alive, close"])
def test_connection_close_closes(wire: Wire, send: bytes, value: str) -> None:
    wire.send(send.replace(b"Host:", f"Connection: {value}\r\nHost:".encode()))
    reply = wire.read()
    assert reply.status == 200
    assert reply.headers["connection"].lower() == "close"
    assert wire.is_closed()


def test_connections_are_kept(wire: Wire, send: bytes) -> None:
    for _ in range(20):
        wire.send(send)
        assert wire.read().status == 200


def test_a_fault_does_not_end_the_connection(wire: Wire, send: bytes) -> None:
    wire.send(json_request("SendMessage", b"nonsense"))
    assert wire.read().status == 400
    wire.send(json_request("Nothing", {}))
    assert wire.read().status == 400
    wire.send(send)
    assert wire.read().status == 200


def _chunked(request: bytes, *sizes: int) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length"))
    chunks, rest = [], body
    for size in (*sizes, len(body)):
        chunk, rest = rest[:size], rest[size:]
        if chunk:
            chunks.append(b"%x\r\n%b\r\n" % (len(chunk), chunk))
    return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"


def test_chunked_bodies(wire: Wire, web: Web, url: str, send: bytes) -> None:
    for sizes in ((), (1,), (1, 2, 3, 5), (10, 1, 1)):
        wire.send(_chunked(send, *sizes))
        assert wire.read().status == 200
    assert _count(web, url) == 4


def test_pipelined_requests_are_answered_in_their_order(wire: Wire, url: str) -> None:
    bodies = [f"message {number}" for number in range(50)]
    requests = [json_request("SendMessage", {"QueueUrl": url, "MessageBody": body}) for body in bodies]
    wire.send(b"".join(requests))
    wire.send(b"".join(json_request("ReceiveMessage", {"QueueUrl": url}) for _ in bodies))
    assert [wire.read().status for _ in bodies] == [200] * 50
    assert [wire.read().json["Messages"][0]["Body"] for _ in bodies] == bodies


def test_pipelined_requests_of_every_kind(wire: Wire, url: str, send: bytes) -> None:
    path = "/" + url.split("/", 3)[3]
    wire.send(
        send
        + b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
        + json_request("Nothing", {})
        + f"GET {path}?Action=ReceiveMessage HTTP/1.1\r\nHost: a\r\nX-Amz-Date: x\r\n\r\n".encode()
        + b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
        + json_request("ListQueues", {"QueueNamePrefix": url.rpartition("/")[2]}).replace(b"queue.test", b"other.test")
        + json_request("GetQueueUrl", {"QueueName": url.rpartition("/")[2]})
    )
    replies = [wire.read() for _ in range(7)]
    assert [reply.status for reply in replies] == [200, 200, 400, 200, 405, 200, 200]
    assert b"<Body>x</Body>" in replies[3].body
    # Each answer follows the Host of its own request.
    assert replies[5].json["QueueUrls"][0].startswith("http://other.test/")
    assert replies[6].json["QueueUrl"].startswith("http://queue.test/")


def test_a_pipelined_request_waits_for_the_long_poll_before_it(wire: Wire, web: Web, url: str, send: bytes) -> None:
    wire.send(json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}))
    wire.send(json_request("GetQueueUrl", {"QueueName": url.rpartition("/")[2]}))
    time.sleep(0.05)
    web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    assert [message["Body"] for message in wire.read().json["Messages"]] == ["x"]
    assert "QueueUrl" in wire.read().json


def test_many_requests_ahead_of_the_answers(wire: Wire, url: str) -> None:
    number = 400
    request = json_request("SendMessage", {"QueueUrl": url, "MessageBody": "y" * 100})
    for _ in range(4):
        wire.send(request * (number // 4))
    assert [wire.read().status for _ in range(number)] == [200] * number


def test_nothing_is_served_after_a_close(wire: Wire, web: Web, url: str, send: bytes) -> None:
    wire.send(send.replace(b"Host:", b"Connection: close\r\nHost:") + send)
    assert wire.read().status == 200
    assert wire.is_closed()
    assert _count(web, url) == 1


def test_expect_100_continue(wire: Wire, send: bytes) -> None:
    head, _, body = send.replace(b"Host:", b"Expect: 100-continue\r\nHost:").partition(b"\r\n\r\n")
    for _ in range(2):
        wire.send(head + b"\r\n\r\n")
        assert wire.read().status == 100
        wire.send(body)
        assert wire.read().status == 200


def test_expect_100_continue_that_comes_in_pieces(wire: Wire, send: bytes) -> None:
    """The client waits for its 100, however its headers were cut."""
    head, _, body = send.replace(b"Host:", b"Expect: 100-continue\r\nHost:").partition(b"\r\n\r\n")
    head += b"\r\n\r\n"
    for cut in (1, 20, len(head) - 3):
        wire.send(head[:cut])
        time.sleep(0.02)
        wire.send(head[cut:])
        assert wire.read().status == 100
        wire.send(body)
        assert wire.read().status == 200


def test_expect_100_continue_with_the_body_at_once(wire: Wire, send: bytes) -> None:
    wire.send(send.replace(b"Host:", b"Expect: 100-continue\r\nHost:"))
    reply = wire.read()
    if reply.status == 100:
        reply = wire.read()
    assert reply.status == 200


def test_byte_by_byte(wire: Wire, web: Web, url: str, send: bytes) -> None:
    for _ in range(2):
        for at in range(len(send)):
            wire.send(send[at : at + 1])
        assert wire.read().status == 200
    path = "/" + url.split("/", 3)[3]
    for byte in f"GET {path}?Action=ReceiveMessage HTTP/1.1\r\nHost: a\r\nX-Amz-Date: x\r\n\r\n".encode():
        wire.send(bytes([byte]))
    assert wire.read().status == 200
    assert _count(web, url) == 1


def test_two_requests_cut_anywhere(wire: Wire, web: Web, url: str, send: bytes) -> None:
    both = send + send
    for cut in range(1, len(both), 29):
        wire.send(both[:cut])
        time.sleep(0.001)
        wire.send(both[cut:])
        assert (wire.read().status, wire.read().status) == (200, 200)


def _too_large(reply: Reply) -> bool:
    return reply.status == 413 and reply.headers.get("connection", "").lower() == "close"


def test_a_body_of_nine_megabytes(service: RunningService, url: str) -> None:
    content = {"QueueUrl": url, "MessageBody": "x" * 9_000_000}
    whole = json_request("SendMessage", content)
    for request in (whole, _chunked(whole, 100_000), _chunked(whole)):
        wire = Wire(service.port)
        # It is refused before all of it was read, and the kernel may drop the answer when unread data is left.
        with suppress(BrokenPipeError, ConnectionResetError):
            wire.send(request)
        with suppress(ConnectionResetError):
            assert _too_large(wire.read())
        wire.close()
        _alive(service)


def test_a_length_that_is_announced_only(service: RunningService, url: str) -> None:
    for length in (b"9000000", b"99999999999999", b"18446744073709551616"):
        wire = Wire(service.port)
        wire.send(
            b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: "
            + length
            + b"\r\n\r\n"
        )
        assert wire.read().status in (400, 413)
        assert wire.is_closed()
        wire.close()
    _alive(service)


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: %b\r\n" % (number, b"y" * 100) for number in range(2000)),
        b"POST / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 200_000,
        b"GET /" + b"y" * 200_000,
        b"y" * 200_000,
    ],
    ids=["many", "long", "url", "method"],
)
def test_a_flood_of_headers(service: RunningService, head: bytes) -> None:
    """Without an end, in pieces, as a flood comes."""
    wire = Wire(service.port)
    # Closed in our face is as good an answer to a flood.
    with suppress(BrokenPipeError, ConnectionResetError):
        for at in range(0, len(head), 10_000):
            wire.send(head[at : at + 10_000])
        assert wire.read().status in (400, 431)
        assert wire.is_closed()
    wire.close()
    _alive(service)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /health\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nxx",
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\r\nX: \x00\r\n\r\n",
    ],
    ids=range(17),
)
def test_what_is_no_request_is_refused_and_hung_up_on(service: RunningService, request_bytes: bytes) -> None:
    wire = Wire(service.port, timeout_s=3)
    wire.send(request_bytes)
    assert 400 <= wire.read().status < 500
    wire.close()
    _alive(service)


def test_an_offer_of_http_2_is_ignored(wire: Wire, web: Web, url: str, send: bytes) -> None:
    """As clients make it that would rather speak HTTP/2 in clear text."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nHost:"
    wire.send(send.replace(b"Host:", offer))
    assert wire.read().status == 200
    wire.send(send.replace(b"Host:", offer) * 3 + send)
    assert [wire.read().status for _ in range(4)] == [200] * 4


def test_the_target_may_be_a_whole_url(wire: Wire, url: str, send: bytes) -> None:
    """HTTP: a server MUST accept the absolute form, as proxies send it."""
    wire.send(send.replace(b"POST / ", b"POST http://queue.test/ "))
    assert wire.read().status == 200
    wire.send(
        b"GET http://queue.test/?"
        + urlencode({"Action": "ListQueues", "MaxResults": 1}).encode()
        + b" HTTP/1.1\r\nHost: queue.test\r\n\r\n"
    )
    assert wire.read().status == 200
    path = "/" + url.split("/", 3)[3]
    headers = "Host: queue.test\r\nX-Amz-Date: x\r\n\r\n"
    wire.send(f"GET http://queue.test{path}?Action=ReceiveMessage HTTP/1.1\r\n{headers}".encode())
    assert b"<Body>x</Body>" in wire.read().body
    wire.send(b"GET http://queue.test/health HTTP/1.1\r\nHost: queue.test\r\n\r\n")
    assert wire.read().status == 200


def test_line_ends_before_a_request_are_skipped(wire: Wire, send: bytes) -> None:
    """HTTP: a server SHOULD ignore at least one empty line before a request."""
    wire.send(b"\r\n" + send)
    assert wire.read().status == 200


def test_idle_and_half_open_connections_harm_nobody(service: RunningService, send: bytes) -> None:
    idle = [Wire(service.port) for _ in range(30)]
    for wire in idle[10:20]:
        wire.send(send[: len(send) // 2])
    for wire in idle[20:]:
        wire.send(b"POST / HTTP/1.1\r\n")
    _alive(service)
    for wire in idle[10:20]:
        wire.send(send[len(send) // 2 :])
        assert wire.read().status == 200
    for wire in idle:
        wire.close()


def test_who_does_not_read_keeps_nobody_waiting(service: RunningService, web: Web, new_name: NewName) -> None:
    """A client that asks for megabytes and reads nothing must not stop the others."""
    url = web.create(new_name(), VisibilityTimeout="0")
    web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x" * 1_000_000})
    wire = Wire(service.port)
    wire.send(json_request("ReceiveMessage", {"QueueUrl": url}) * 30)
    for _ in range(5):
        _alive(service)
    assert [len(wire.read().json["Messages"][0]["Body"]) for _ in range(30)] == [1_000_000] * 30
    wire.close()


def test_who_says_that_it_sends_no_more_still_gets_its_answer(service: RunningService) -> None:
    host, port = service.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        body = b"Action=CreateQueue&QueueName=half-closed"
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while data := client.recv(65536):
            answer += data
    assert answer.startswith(b"HTTP/1.1 200")


def test_who_says_that_it_sends_no_more_gets_all_answers(service: RunningService, send: bytes) -> None:
    for requests in ([b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"] * 4, [send] * 20, [send, send[:40]]):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            client.sendall(b"".join(requests))
            client.shutdown(socket.SHUT_WR)
            answer = b""
            while data := client.recv(65536):
                answer += data
        assert answer.count(b"HTTP/1.1 200") == len(requests) - (requests[-1] == send[:40])


def test_who_sends_a_poll_ahead_and_leaves_is_forgotten(
    service: RunningService, web: Web, url: str, send: bytes
) -> None:
    """A message that comes for it goes to somebody else, and its connection ends."""
    poll = json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20})
    client = socket.create_connection(("127.0.0.1", service.port), timeout=10)
    client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 2 + poll)
    client.shutdown(socket.SHUT_WR)
    time.sleep(0.1)
    web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    assert len(web.call("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}).json["Messages"]) == 1
    while client.recv(65536):
        pass
    client.close()


def test_who_does_not_read_its_answers_gets_no_more_of_them(
    service: RunningService, web: Web, new_name: NewName
) -> None:
    """Answers that nobody takes must not pile up in memory."""
    sqs = service.client("json")
    url = sqs.create_queue(QueueName=new_name())["QueueUrl"]
    for _ in range(8):
        sqs.send_message(QueueUrl=url, MessageBody="x" * 1_000_000)
    body = json.dumps({"QueueUrl": url, "MaxNumberOfMessages": 8}).encode()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Rockdove.Peek\r\nContent-Length: %d\r\n\r\n" % len(body)
    host, port = service.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.sendall((head + body) * 12)

        def congested() -> list[Connection]:
            return [each for front in service.services for each in front.connections if each._outlet.congested]

        wait_until(lambda: bool(congested()), "connection whose client does not read")
        time.sleep(0.5)  # Time enough for a service that goes on writing.
        (connection,) = congested()
        assert connection._outlet.transport is not None
        assert connection._outlet.transport.get_write_buffer_size() < 20_000_000
        received = 0
        while received < 12 * 8_000_000:
            received += len(client.recv(1 << 20))
