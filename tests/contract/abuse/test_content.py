"""Requests that would be expensive to understand, or that could be understood in two ways."""

import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from tests.contract.abuse.conftest import Dial, Start
from tests.support.neighbour import Neighbour
from tests.support.raw import Web

HEAD = b"POST / HTTP/1.1\r\nHost: queue.test\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\n"
BODY = b'{"QueueName": "smuggled"}'


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "GZIP", "gzip, identity"])
def test_a_compressed_body_is_not_inflated(start: Start, web: Callable[..., Web], encoding: str) -> None:
    bomb = gzip.compress(b" " * 50_000_000) if "gzip" in encoding.lower() else zlib.compress(b" " * 50_000_000)
    service = start()
    with Neighbour(service.port):
        client = web(service)
        reply = client.call("CreateQueue", bomb, {"Content-Encoding": encoding})
        assert (reply.status, reply.json["__type"].partition("#")[2]) == (415, "UnsupportedMediaTypeException")
        assert "compressed" in reply.json["message"]
        reply = client.post("/", {"Content-Encoding": encoding}, Action="ListQueues")
        assert (reply.status, "<Code>UnsupportedMediaType</Code>" in reply.text) == (415, True)
        assert client.call("ListQueues", {}, {"Content-Encoding": "identity"}).status == 200


DEEP = 40_000
EXPENSIVE = {
    "lists": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "in a member that there is not": b'{"QueueUrl": "x", "Foo": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "in a member that there is": b'{"QueueUrl": "x", "MessageAttributes": '
    + b'{"a":' * DEEP
    + b"1"
    + b"}" * DEEP
    + b"}",
    "without end": b'{"QueueUrl": ' + b"[" * DEEP,
    "a number": b'{"QueueUrl": "x", "DelaySeconds": ' + b"9" * 250_000 + b"}",
    "a fraction": b'{"QueueUrl": "x", "DelaySeconds": 0.' + b"9" * 250_000 + b"}",
    "an exponent": b'{"QueueUrl": "x", "DelaySeconds": 1e999999999}',
}


@pytest.mark.parametrize("body", EXPENSIVE.values(), ids=EXPENSIVE)
def test_json_that_is_expensive(start: Start, web: Callable[..., Web], body: bytes) -> None:
    service = start()
    with Neighbour(service.port):
        for operation in ("SendMessage", "ReceiveMessage", "SendMessageBatch", "CreateQueue"):
            reply = web(service).call(operation, body)
            assert (reply.status, b"__type" in reply.body) == (400, True), (operation, reply)


def test_deep_json_is_told(start: Start, web: Callable[..., Web]) -> None:
    reply = web(start()).call("SendMessage", EXPENSIVE["lists"])
    assert reply.json["__type"].endswith("#SerializationException")
    assert reply.json["message"] == "The request's JSON is nested too deeply."


@pytest.mark.parametrize("name", ["Policy", "RedrivePolicy", "RedriveAllowPolicy"])
def test_deep_json_in_an_attribute(start: Start, web: Callable[..., Web], name: str) -> None:
    client = web(start())
    for value in ("[" * DEEP + "]" * DEEP, '{"a":' * (DEEP // 2) + "1" + "}" * (DEEP // 2), "9" * 250_000):
        reply = client.call("CreateQueue", {"QueueName": "q", "Attributes": {name: value}})
        assert reply.status == 400, reply.body[:200]


@pytest.mark.parametrize("name", ["DelaySeconds", "VisibilityTimeout", "RockdovePhysicalQueues", "RockdoveOrderHint"])
def test_gigantic_numbers_in_attributes(start: Start, web: Callable[..., Web], name: str) -> None:
    for value in ("9" * 250_000, "1e9", "-1", "\uff11"):
        reply = web(start()).call("CreateQueue", {"QueueName": "q", "Attributes": {name: value}})
        assert (reply.status, reply.json["__type"].partition("#")[2]) == (400, "InvalidAttributeValue")


FORMS = {
    "a million parameters": ("&".join(f"a{n}=1" for n in range(500_000)), 404),
    "deep names": ("&Action=SendMessage&MessageAttribute" + ".1" * 500_000 + "=x", 400),
    "many deep names": ("Action=SendMessage&" + "&".join("A" + ".1" * 1000 + f"{n}=x" for n in range(3000)), 400),
    "gigantic indices": ("Action=TagQueue&QueueUrl=x&Tag." + "9" * 100_000 + ".Key=a", 400),
    "gigantic numbers": ("Action=SendMessage&QueueUrl=x&MessageBody=x&DelaySeconds=" + "9" * 1_000_000, 400),
    "escapes": ("Action=SendMessage&QueueUrl=x&MessageBody=" + "%41" * 1_000_000, 400),
}


@pytest.mark.parametrize(("form", "status"), FORMS.values(), ids=FORMS)
def test_forms_that_are_expensive(start: Start, web: Callable[..., Web], form: str, status: int) -> None:
    service = start()
    with Neighbour(service.port):
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = web(service).request("POST", "/", form.encode(), headers)
        assert (reply.status, b"<Code>" in reply.body) == (status, True), reply.body[:300]


def test_too_many_parameters_are_told(start: Start, web: Callable[..., Web]) -> None:
    reply = web(start()).request("POST", "/", FORMS["a million parameters"][0].encode())
    assert "more than 4000 parameters" in reply.text


CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
TWO_MEANINGS = {
    "length and chunks": LENGTH + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "chunks and length": b"Transfer-Encoding: chunked\r\n" + LENGTH + b"\r\n" + CHUNKED,
    "two lengths": LENGTH + b"Content-Length: 3\r\n\r\n" + BODY,
    "the same length twice": LENGTH + LENGTH + b"\r\n" + BODY,
    "a list of lengths": b"Content-Length: %d, %d\r\n\r\n" % (len(BODY), len(BODY)) + BODY,
    "a length with a sign": b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "a negative length": b"Content-Length: -1\r\n\r\n" + BODY,
    "an overflow": b"Content-Length: %d\r\n\r\n" % (2**64 + len(BODY)) + BODY,
    "no length at all": b"Content-Length:\r\n\r\n" + BODY,
    "gzip in chunks": b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED,
    "two encodings": b"Transfer-Encoding: gzip\r\nTransfer-Encoding: identity\r\n\r\n" + CHUNKED,
    "something like chunks": b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED,
    "chunks, and then something": b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKED,
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKED,
    "a folded header": b"X: a\r\n b\r\n" + LENGTH + b"\r\n" + BODY,
    "a bare line feed": LENGTH + b"X: a\nY: b\r\n\r\n" + BODY,
    "a bare carriage return": LENGTH + b"X: a\rY: b\r\n\r\n" + BODY,
    "a null": LENGTH + b"X: \0\r\n\r\n" + BODY,
    "a chunk with 0x": b"Transfer-Encoding: chunked\r\n\r\n0x" + CHUNKED,
    "a chunk with a sign": b"Transfer-Encoding: chunked\r\n\r\n+" + CHUNKED,
    "a gigantic chunk": b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 20 + b"\r\n" + BODY,
}


@pytest.mark.parametrize("rest", TWO_MEANINGS.values(), ids=TWO_MEANINGS)
def test_a_request_that_could_end_in_two_places_is_refused(
    start: Start, dial: Dial, web: Callable[..., Web], rest: bytes
) -> None:
    service = start()
    wire = dial(service)
    wire.send(HEAD + rest)
    assert wire.read().status == 400
    assert wire.is_closed()
    assert "QueueUrls" not in web(service).call("ListQueues", {}).json


def test_chunks_are_understood(start: Start, dial: Dial) -> None:
    wire = dial(start())
    for _ in range(2):
        wire.send(HEAD + b"Transfer-Encoding: Chunked\r\n\r\n" + CHUNKED)
        assert json.loads(wire.read().body)["QueueUrl"].endswith("/smuggled")


def test_what_follows_the_chunks_is_no_header(start: Start, dial: Dial, web: Callable[..., Web]) -> None:
    service = start()
    wire = dial(service)
    trailers = b"X-Amz-Target: AmazonSQS.ListQueues\r\nHost: evil.test\r\nX-Other: x\r\n"
    for _ in range(2):
        wire.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED[:-2] + trailers + b"\r\n")
        assert json.loads(wire.read().body) == {"QueueUrl": "http://queue.test/000000000000/smuggled"}


@pytest.mark.parametrize("operation", ["ReceiveMessage", "Rockdove.LeaseBatch", "Rockdove.Peek"])
@pytest.mark.parametrize("names", [["x"] * 101, ["x" * 500] * 9])
def test_names_of_attributes_are_bounded(start: Start, operation: str, names: list[str]) -> None:
    """A receive that waits keeps them."""
    service = start()
    web = Web(service.port)
    url = web.call("AmazonSQS.CreateQueue", {"QueueName": "jobs"}).json["QueueUrl"]
    target = operation if operation.startswith("Rockdove.") else f"AmazonSQS.{operation}"
    more = {"Consumer": "c", "Shard": 0, "Sequence": 0} if "Lease" in operation else {}
    reply = web.call(target, {"QueueUrl": url, "MessageAttributeNames": names, **more})
    assert (reply.status, "at most 100 names of attributes" in reply.json["message"]) == (400, True)
    assert web.call(target, {"QueueUrl": url, "MessageAttributeNames": ["a" * 256] * 10, **more}).status == 200
    web.close()


def test_requests_without_messages_are_small(start: Start) -> None:
    """Taken apart they would take many times their bytes."""
    service = start()
    web = Web(service.port)
    tags = {f"{number}": "x" for number in range(30_000)}
    reply = web.call("AmazonSQS.CreateQueue", {"QueueName": "jobs", "tags": tags})
    assert (reply.status, "must be at most 262144 bytes long" in reply.json["message"]) == (413, True)
    web.close()
