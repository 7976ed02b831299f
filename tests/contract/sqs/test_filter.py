"""Which message attributes a receive gives: `All`, `.*`, prefixes, names; and the digest of what is given."""

from collections.abc import Iterable

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.digest import attributes_md5
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

NAMES = ("order", "order.id", "orderly", "Order", "customer.name", "customer.mail")


@pytest.fixture
def ready(make: QueueMaker) -> SqsQueue:
    """A message that has all of them and never hides."""
    queue = make(VisibilityTimeout="0")
    queue.send("x", MessageAttributes=_attributes(NAMES))
    return queue


def _attributes(names: Iterable[str]) -> dict[str, dict[str, str]]:
    return {name: {"DataType": "String", "StringValue": f"value of {name}"} for name in names}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (["All"], NAMES),
        ([".*"], NAMES),
        # Recorded from SQS, though not documented.
        (["*"], NAMES),
        (["nothing", "All"], NAMES),
        (["order"], ["order"]),
        (["Order", "customer.mail"], ["Order", "customer.mail"]),
        (["order", "nothing"], ["order"]),
        # A prefix is a prefix, wherever it ends.
        (["order.*"], ["order", "order.id", "orderly"]),
        (["cust.*"], ["customer.name", "customer.mail"]),
        (["customer.n.*"], ["customer.name"]),
        (["customer..*"], ["customer.name", "customer.mail"]),
        (["O.*", "customer.name"], ["Order", "customer.name"]),
        (["x.*", "order.id"], ["order.id"]),
    ],
    ids=str,
)
def test_what_is_asked_for_is_given_with_its_digest(ready: SqsQueue, asked: list[str], given: list[str]) -> None:
    message = ready.receive_one(MessageAttributeNames=asked)
    assert message["MessageAttributes"] == _attributes(given)
    assert message["MD5OfMessageAttributes"] == attributes_md5(_attributes(given))


@pytest.mark.parametrize("asked", [[], ["nothing"], ["x.*"], ["ORDER"], ["AWS."], ["..foo"], ["all"]], ids=str)
def test_what_is_not_there_is_not_given(ready: SqsQueue, asked: list[str]) -> None:
    """Recorded from SQS: names that could not exist are no error."""
    message = ready.receive_one(MessageAttributeNames=asked)
    assert message.get("MessageAttributes", {}) == {}
    assert "MD5OfMessageAttributes" not in message


def test_the_digest_of_some_is_that_of_sqs(make: QueueMaker) -> None:
    """Recorded from SQS."""
    queue = make()
    values = {"Help.Me": "Me", "Hello": "There", "General": "Kenobi"}
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in values.items()}
    assert (
        queue.send("msg", MessageAttributes=attributes)["MD5OfMessageAttributes"] == "4c360f3fdafd970e05fae2f149d997f5"
    )
    message = queue.receive_one(MessageAttributeNames=["Hel.*"])
    assert message["MessageAttributes"].keys() == {"Hello", "Help.Me"}
    assert message["MD5OfMessageAttributes"] == "83fee93c1bcd8b9a5a923ffacdc636c7"


def test_system_and_message_attributes_do_not_mix(ready: SqsQueue) -> None:
    message = ready.receive_one(MessageAttributeNames=["SenderId"], MessageSystemAttributeNames=["SenderId"])
    assert message["Attributes"] == {"SenderId": "000000000000"}
    assert message.get("MessageAttributes", {}) == {}


def test_filters_choose_among_messages_too(make: QueueMaker) -> None:
    queue = make()
    queue.send("with", MessageAttributes=_attributes(["a"]))
    queue.send("without")
    queue.send("other", MessageAttributes=_attributes(["b"]))
    messages = {message["Body"]: message for message in queue.receive(MessageAttributeNames=["a"])}
    assert messages["with"]["MessageAttributes"] == _attributes(["a"])
    assert messages["without"].get("MessageAttributes", {}) == {}
    assert messages["other"].get("MessageAttributes", {}) == {}


def test_unknown_system_names_are_no_message_attributes(ready: SqsQueue) -> None:
    with refused("InvalidAttributeName", "Unknown Attribute order."):
        ready.receive(MessageSystemAttributeNames=["order"])
