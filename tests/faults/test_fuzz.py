"""Ten thousand wrong requests: each is answered, none by a defect of ours, and the service is as well as before."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from botocore.model import ListShape, MapShape, Shape, StructureShape

from tests.support.raw import Reply, Web
from tests.support.server import Server, ServerFactory
from tests.unit.wire.oracle import operation_model, operation_names

REQUESTS = 10_000
# One page of garbage is no leak; this much is.
LEAK_BYTES = 48 * 1024 * 1024
# How deep lists in lists are nested.
DEEP = 20_000

STRANGE_TEXT = [
    "",
    " ",
    "\0",
    "\ud800",
    "\ufffe",
    "ÿ" * 300,
    "x" * 100_000,
    "../../etc",
    "%00",
    "-1",
    "1e999",
    "NaN",
    "{}",
    "[]",
    '{"deadLetterTargetArn": 1}',
    "null",
    "true",
    "2" * 400,
    "' OR 1=1 --",
]
STRANGE: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**70),
    1.5,
    1e300,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"a": {}},
]


class Generator:
    """Requests that are nearly right, and then spoilt."""

    def __init__(self, rng: random.Random, urls: list[str]) -> None:
        self._rng = rng
        self._urls = urls

    def request(self, operation: str) -> dict[str, Any]:
        shape = operation_model("json", operation).input_shape
        made: dict[str, Any] = self._value(shape, "") if shape is not None else {}
        return made

    def _value(self, shape: Shape, name: str) -> Any:
        if self._rng.random() < 0.08:
            return self._rng.choice([*STRANGE, *STRANGE_TEXT])
        if isinstance(shape, StructureShape):
            members = [m for m in shape.members if m in shape.required_members or self._rng.random() < 0.4]
            made = {member: self._value(shape.members[member], member) for member in members}
            if self._rng.random() < 0.05:
                made["Unknown"] = self._rng.choice(STRANGE)
            if made and self._rng.random() < 0.05:
                made.pop(self._rng.choice(list(made)))
            return made
        if isinstance(shape, ListShape):
            return [self._value(shape.member, name) for _ in range(self._rng.choice([0, 1, 1, 2, 11]))]
        if isinstance(shape, MapShape):
            return {self._text(name): self._value(shape.value, name) for _ in range(self._rng.choice([0, 1, 2]))}
        return self._scalar(shape, name)

    def _scalar(self, shape: Shape, name: str) -> Any:
        if name == "QueueUrl":
            return self._rng.choice(self._urls)
        if name == "WaitTimeSeconds":
            return self._rng.choice([0, 0, 0, -1, 21, 10**9])
        if shape.type_name == "string":
            return self._text(name)
        if shape.type_name in ("integer", "long"):
            return self._rng.choice([0, 1, 2, 10, 11, -1, 43_200, 2**31, 2**64])
        return self._rng.choice([True, False]) if shape.type_name == "boolean" else "AAEC"

    def _text(self, name: str) -> str:
        likely = {
            "QueueName": ["fuzz", "fuzz.fifo", "a b"],
            "DataType": ["String", "Number", "Binary", "String.x", "Other"],
            "Attributes": [
                "VisibilityTimeout",
                "DelaySeconds",
                "RedrivePolicy",
                "Policy",
                "FifoQueue",
                "KmsMasterKeyId",
            ],
        }
        return self._rng.choice([*likely.get(name, ["a", "b", "1"]), "a", self._rng.choice(STRANGE_TEXT)])


def as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


def as_form(operation: str, content: Any) -> bytes:
    """AWS Query, with members numbered and joined by dots."""
    pairs: list[tuple[str, str]] = [("Action", operation), ("Version", "2012-11-05")]

    def flatten(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for number, (key, one) in enumerate(value.items(), 1):
                flatten(f"{prefix}.{number}.Name" if prefix else key, key if prefix else one)
                if prefix:
                    flatten(f"{prefix}.{number}.Value", one)
        elif isinstance(value, list):
            for number, one in enumerate(value, 1):
                flatten(f"{prefix}.{number}", one)
        else:
            pairs.append((prefix, str(value)))

    flatten("", content)
    return urlencode(pairs, errors="surrogatepass").encode()


def spoil(body: bytes, rng: random.Random) -> bytes:
    """Cut it off, flip bits, double it, or leave it."""
    kind = rng.random()
    if kind < 0.1:
        return body[: rng.randint(0, len(body))]
    if kind < 0.2 and body:
        spoilt = bytearray(body)
        for _ in range(rng.choice([1, 1, 5])):
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        return bytes(spoilt)
    if kind < 0.22:
        return body + body
    if kind < 0.23:
        return b"\xff\xfe" + body.decode("latin-1").encode("utf-16-le")
    if kind < 0.232:
        return b"[" * DEEP
    return body


def post(web: Web, operation: str, content: Any, rng: random.Random) -> Reply:
    if rng.random() < 0.5:
        kind = {"Content-Type": rng.choice(["application/x-amz-json-1.0"] * 9 + ["text/plain"])}
        target = operation if rng.random() < 0.98 else rng.choice(["", "Nothing", "AmazonSQS.", "x" * 500])
        return web.call(f"AmazonSQS.{target}", spoil(as_json(content), rng), kind)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    path = rng.choice(["/", "/", "/000000000000/fuzz", "/000000000000/nothing", "/%ff%00", "//"])
    return web.request("POST", path, spoil(as_form(operation, content), rng), form)


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no such process")


def fuzz(server: Server, urls: list[str], rng: random.Random, number: int) -> Counter[int]:
    """How often each status was the answer."""
    statuses: Counter[int] = Counter()
    generator, names, web = Generator(rng, urls), operation_names(), Web(server.port)
    for at in range(number):
        operation = names[at % len(names)]
        if operation == "DeleteQueue":
            content: Any = {"QueueUrl": rng.choice(STRANGE_TEXT)}
        else:
            content = generator.request(operation)
        reply = post(web, operation, content, rng)
        assert reply.status in (200, 400, 403, 404, 413), (operation, content, reply)
        statuses[reply.status] += 1
        if reply.headers.get("connection") == "close":
            web.close()
    web.close()
    return statuses


def test_no_request_does_harm(server: ServerFactory, rng: random.Random, new_name: Callable[..., str]) -> None:
    service = server("--no-cool-down")
    web = Web(service.port)
    urls = [web.create("fuzz"), web.create("fuzz.fifo", FifoQueue="true"), "", "x", "http://127.0.0.1/1/2/3/4"]
    fuzz(service, urls, rng, REQUESTS // 5)
    before = resident_bytes(service.process.pid)
    statuses = fuzz(service, urls, rng, REQUESTS - REQUESTS // 5)
    assert statuses[200] > REQUESTS // 20, "some must come through all checks"
    assert resident_bytes(service.process.pid) - before < LEAK_BYTES
    assert web.get("/health").status == 200
    assert web.get("/ready").status == 200
    url = web.create(new_name())
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "still here"}).status == 200
    assert web.call("ReceiveMessage", {"QueueUrl": url}).json["Messages"][0]["Body"] == "still here"
    web.close()
    assert "defect" not in service.process.output()
    assert service.stop() == 0
