"""What headers say, however they are spelled: the host, a web page's origin, an encoding."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from rockdove.server import exchange
from tests.support.raw import Web, Wire, json_request
from tests.support.service import RunningService


@pytest.fixture
def wire(service: RunningService) -> Iterator[Wire]:
    made = Wire(service.port)
    yield made
    made.close()


def test_header_names_have_no_case(wire: Wire, url: str) -> None:
    body = json.dumps({"QueueUrl": url, "MessageBody": "x"}).encode()
    for change in (str.lower, str.upper):
        names = [change(name) for name in ("Host", "X-Amz-Target", "Content-Length")]
        lines = [f"{names[0]}: a", f"{names[1]}: AmazonSQS.SendMessage", f"{names[2]}: {len(body)}"]
        wire.send("\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode() + body)
        assert wire.read().status == 200


def test_a_request_without_host_is_refused(service: RunningService, wire: Wire, web: Web, url: str) -> None:
    """HTTP/1.1 demands it; HTTP/1.0 does not know it. What is sent behind it is not served."""
    send = json_request("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    bare = send.replace(b"Host: queue.test\r\n", b"")
    wire.send(send + bare + send)
    assert wire.read().status == 200
    refusal = wire.read()
    assert (refusal.status, refusal.body) == (400, b"The request has no header Host, which HTTP/1.1 demands.\n")
    assert wire.is_closed()
    old = Wire(service.port)
    old.send(bare.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert old.read().status == 200
    old.close()
    assert len(web.call("Rockdove.Peek", {"QueueUrl": url, "MaxNumberOfMessages": 10}).json["Messages"]) == 2


ELSEWHERE = [
    {"Origin": "http://elsewhere.example"},
    {"origin": "null"},
    {"ORIGIN": "http://elsewhere.example"},
    {"oRiGiN": "http://elsewhere.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"SEC-fetch-SITE": "cross-site"},
]


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_a_web_page_of_another_origin_is_refused(web: Web, headers: dict[str, str]) -> None:
    for _ in range(2):
        for reply in (web.post("/", headers, Action="ListQueues"), web.call("ListQueues", {}, headers)):
            assert reply.status == 403
            assert b"AccessDenied" in reply.body


def test_a_page_of_the_same_host_and_port_but_another_scheme_is_refused(service: RunningService, web: Web) -> None:
    origin = service.endpoint.replace("http:", "https:")
    assert web.call("ListQueues", {}, {"Origin": origin}).status == 403
    assert web.call("ListQueues", {}, {"Origin": service.endpoint.upper()}).status == 200


@pytest.mark.parametrize("name", ["Content-Encoding", "CONTENT-encoding", "content-ENCODING"])
def test_an_encoding_however_it_is_spelled(web: Web, name: str) -> None:
    for _ in range(2):
        assert web.call("ListQueues", {}).status == 200
        assert web.call("ListQueues", {}, {name: "gzip"}).status == 415


def test_many_names_of_headers(web: Web) -> None:
    """More than are remembered, and longer ones."""
    for number in range(30):
        more = {f"X-{number}-{each}": "x" for each in range(60)} | {f"X-{'y' * 100}-{number}": "z"}
        assert web.call("ListQueues", {}, more).status == 200
    assert len(exchange._PLAIN) <= exchange._MOST_PLAIN
    assert all(len(name) <= exchange._LONGEST_PLAIN for name in exchange._PLAIN)
    assert web.call("ListQueues", {}, {"Origin": "http://elsewhere.example"}).status == 403


def test_a_page_of_its_own_is_not(service: RunningService) -> None:
    headers = {"Origin": service.endpoint, "Sec-Fetch-Site": "same-origin"}
    request = urllib.request.Request(service.endpoint, b"Action=ListQueues", headers)
    assert urllib.request.urlopen(request, timeout=10).status == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://rebound.example:9324"}, {"Sec-Fetch-Site": "same-origin"}], ids=["post", "get"]
)
def test_a_page_under_a_name_that_was_made_to_point_here_is_refused(
    service: RunningService, headers: dict[str, str]
) -> None:
    headers = {"Host": "rebound.example:9324", **headers}
    request = urllib.request.Request(f"{service.endpoint}/?Action=ListQueues", headers=headers)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    assert caught.value.code == 403
    assert b"--cors-origin" in caught.value.read()
