"""Ten thousand wrong requests: each is answered, none by a defect of ours, and the service is as well as before."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from botocore.model import ListShape, MapShape, Shape, StructureShape
from msgspec import inspect as types

from rockdove.wire.operation import OPERATIONS
from tests.support.raw import Reply, Web
from tests.support.server import Server, ServerFactory
from tests.unit.wire.oracle import operation_model, operation_names

REQUESTS = 10_000
# One page of garbage is no leak; this much is.
LEAK_BYTES = 48 * 1024 * 1024
# How deep lists in lists are nested.
DEEP = 20_000

# Operations of ours: those of accounts, which there are none of, and the others. An account that is added would shut
# everybody else out.
ON_ACCOUNTS = [
    name
    for name, operation in OPERATIONS.items()
    if operation.extension and ("Account" in name or name in ("SignIn", "RenewSession"))
]
OURS = [name for name, operation in OPERATIONS.items() if operation.extension and name not in ON_ACCOUNTS]
OF_TOPICS = [name for name, operation in OPERATIONS.items() if operation.is_of_topics]
TOPIC, QUEUE = (f"arn:aws:{service}:us-east-1:000000000000:fuzz" for service in ("sns", "sqs"))
# Of these some must be right, and what is made at random seldom is.
USUAL = {
    "CreateTopic": {"Name": "fuzz"},
    "Subscribe": {"TopicArn": TOPIC, "Protocol": "sqs", "Endpoint": QUEUE},
    "Publish": {"TopicArn": TOPIC, "Message": "a"},
    "ListTopics": {},
}
# Numbers with which operations of ours are often right, by the parameter.
LIKELY = {
    "Shard": [0, 1],
    "Sequence": [0, 1, 2],
    "Index": [0, 0, 0, 1],
    "Batch": [0, 1, 2],
    "Partition": [0, 1],
    "Chunk": [0, 1],
    "Max": [1, 10, 1_000],
    "MaxNumberOfMessages": [1, 10, 100],
    "MaxResults": [1, 10],
}

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
        # How likely what may be left out is there.
        self._more = 0.3
        # The ARN of one that was made.
        self.subscription = f"{TOPIC}:0"

    def request(self, operation: str) -> dict[str, Any]:
        shape = operation_model("json", operation).input_shape
        made: dict[str, Any] = self._value(shape, "") if shape is not None else {}
        return made

    def ours(self, operation: str) -> Any:
        self._more = self._rng.choice([0.0, 0.3])
        return self._typed(types.type_info(OPERATIONS[operation].request), "")

    def _typed(self, kind: types.Type, name: str) -> Any:
        """A value of a type of ours."""
        if self._rng.random() < 0.03:
            return self._rng.choice([*STRANGE, *STRANGE_TEXT])
        if isinstance(kind, types.UnionType):
            return self._typed(next(each for each in kind.types if not isinstance(each, types.NoneType)), name)
        if isinstance(kind, types.StructType):
            chosen = [field for field in kind.fields if field.required or self._rng.random() < self._more]
            return {field.encode_name: self._typed(field.type, field.encode_name) for field in chosen}
        if isinstance(kind, types.ListType):
            return [self._typed(kind.item_type, name) for _ in range(self._rng.choice([0, 1, 1, 2, 11]))]
        if isinstance(kind, types.DictType):
            return {self._text(name): self._typed(kind.value_type, name) for _ in range(self._rng.choice([0, 1, 2]))}
        if isinstance(kind, types.IntType) and name in LIKELY and self._rng.random() < 0.9:
            return self._rng.choice(LIKELY[name])
        if isinstance(kind, types.FloatType):
            return self._rng.choice([0, 1, 2.5, 1_800_000_000, -1, 1e300])
        shape = {types.IntType: "integer", types.StrType: "string", types.BoolType: "boolean"}.get(type(kind), "blob")
        return self._scalar(Shape(name, {"type": shape}), name)

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
            "Consumer": ["c", "d"],
            "Application": ["a", "b"],
            "Attempt": ["t", "u"],
            "Order": ["sent", "visible"],
            "State": ["up", "draining"],
            "Name": ["fuzz", "fuzz", "fuzz.fifo"],
            "TopicArn": [TOPIC] * 20,
            "ResourceArn": [TOPIC] * 20,
            "SubscriptionArn": [self.subscription] * 20,
            "Endpoint": [QUEUE] * 20,
            "Protocol": ["sqs"] * 20,
            "Label": ["a", "b", "c"],
            "AWSAccountId": ["1" * 12] * 9,
            "ActionName": ["Publish"] * 9,
            "AttributeName": ["DisplayName", "Policy", "RawMessageDelivery", "FilterPolicy", "FilterPolicyScope"],
            "AttributeValue": ["true", "", '{"a": ["b", {"prefix": "c"}]}', "MessageBody"],
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
    known = OPERATIONS.get(operation)
    of_topics = known is not None and known.is_of_topics
    version, member, entry = ("2010-03-31", ".member", ".entry") if of_topics else ("2012-11-05", "", "")
    pairs: list[tuple[str, str]] = [("Action", known.action if known else operation), ("Version", version)]

    def flatten(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for number, (key, one) in enumerate(value.items(), 1):
                flatten(f"{prefix}{entry}.{number}.Name" if prefix else key, key if prefix else one)
                if prefix:
                    flatten(f"{prefix}{entry}.{number}.Value", one)
        elif isinstance(value, list):
            for number, one in enumerate(value, 1):
                flatten(f"{prefix}{member}.{number}", one)
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


def post_ours(web: Web, operation: str, content: Any, rng: random.Random) -> Reply:
    if operation in OF_TOPICS and rng.random() < 0.5:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return web.request("POST", "/", spoil(as_form(operation, content), rng), form)
    return web.call(OPERATIONS[operation].target, spoil(as_json(content), rng))


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no such process")


def fuzz(server: Server, urls: list[str], rng: random.Random, number: int) -> Counter[tuple[str, int]]:
    """How often each status was the answer, by operation."""
    statuses: Counter[tuple[str, int]] = Counter()
    generator, web = Generator(rng, urls), Web(server.port)
    usual = {**USUAL, "SetPhysicalQueue": {"QueueUrl": urls[0], "Index": 0, "Weight": 1}}
    names = [*operation_names(), *OURS, *ON_ACCOUNTS, *OF_TOPICS]
    for at in range(number):
        operation = names[at % len(names)]
        content: Any
        if operation == "DeleteQueue":
            content = {"QueueUrl": rng.choice(STRANGE_TEXT)}
        elif operation == "AddAccount":
            content = {"Name": rng.choice(STRANGE)}
        elif operation in usual and rng.random() < 0.5:
            content = usual[operation]
        elif operation == "DeleteTopic" and rng.random() < 0.9:
            # Seldom the one that all others are about.
            content = {"TopicArn": f"{TOPIC}-{rng.choice(STRANGE_TEXT)}"}
        elif operation == "Unsubscribe" and rng.random() < 0.8:
            content = {"SubscriptionArn": f"{TOPIC}:{rng.choice(STRANGE_TEXT)}"}
        elif operation in (*OURS, *ON_ACCOUNTS, *OF_TOPICS):
            content = generator.ours(operation)
        else:
            content = generator.request(operation)
        ours = operation in (*OURS, *ON_ACCOUNTS, *OF_TOPICS)
        reply = (post_ours if ours else post)(web, operation, content, rng)
        assert reply.status in (200, 400, 403, 404, 409, 413), (operation, content, reply)
        statuses[operation, reply.status] += 1
        if operation == "Subscribe" and reply.status == 200 and reply.body.startswith(b"{"):
            generator.subscription = reply.json["SubscriptionArn"]
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
    assert sum(number for (_, status), number in statuses.items() if status == 200) > REQUESTS // 20
    for operation in OURS:
        assert statuses[operation, 200] > 0, f"{operation}: some must come through all checks"
        assert statuses[operation, 400] > 0, f"{operation}: and some must not"
    for operation in USUAL:
        assert statuses[operation, 200] > 0, f"{operation}: some must come through all checks"
    assert resident_bytes(service.process.pid) - before < LEAK_BYTES
    assert web.get("/health").status == 200
    assert web.get("/ready").status == 200
    url = web.create(new_name())
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "still here"}).status == 200
    assert web.call("ReceiveMessage", {"QueueUrl": url}).json["Messages"][0]["Body"] == "still here"
    web.close()
    assert "defect" not in service.process.output()
    assert service.stop() == 0
