"""What is typed into the form that sends a message."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from rockdove.console.draft import Draft, DraftAttribute, Sent, attributes, send
from rockdove.console.session import Account
from rockdove.console.visit import Visit
from rockdove.console.wrong import Wrong
from rockdove.core.errors import Fault, InvalidMessageContents, InvalidParameterValue
from rockdove.core.message import Attribute


class Service:
    """Takes messages; ``fault``: what it says to them."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self.sent: list[dict[str, Any]] = []

    async def send(self, queue: str, body: str, **rest: Any) -> SimpleNamespace:
        if self.fault is not None:
            raise self.fault
        self.sent.append({"queue": queue, "body": body, **rest})
        return SimpleNamespace(message_id="id-1", sequence_number=None)


def visit(service: Service, queue: str = "jobs", account: str = "000000000000") -> Visit:
    session: Any = SimpleNamespace(client=service, account=Account("000000000000", "ann"))
    request: Any = SimpleNamespace(path_params={"account": account, "name": queue})
    console: Any = None
    return Visit(request, console, session)


def wrong(draft: Draft, queue: str = "jobs", fault: Fault | None = None) -> Wrong:
    with pytest.raises(Wrong) as caught:
        asyncio.run(send(visit(Service(fault), queue), draft))
    return caught.value


def test_what_is_typed_is_sent_and_what_is_empty_is_left_out() -> None:
    service = Service()
    draft = Draft("hello", delay=" 5 ", attributes=[DraftAttribute(1), DraftAttribute(2, "kind", "String", "paid")])
    assert asyncio.run(send(visit(service), draft)) == Sent("id-1", None)
    assert service.sent == [
        {
            "queue": "jobs",
            "body": "hello",
            "delay_s": 5,
            "attributes": {"kind": Attribute("String", "paid")},
            "group_id": None,
            "deduplication_id": None,
        }
    ]


@pytest.mark.parametrize(
    ("draft", "queue", "field"),
    [
        (Draft(""), "jobs", "body"),
        (Draft("x", delay="901"), "jobs", "delay"),
        (Draft("x", delay="soon"), "jobs", "delay"),
        (Draft("x"), "jobs.fifo", "group"),
        (Draft("x", group="g", delay="1"), "jobs.fifo", "delay"),
    ],
)
def test_what_cannot_be_sent_is_told_beside_its_input(draft: Draft, queue: str, field: str) -> None:
    assert wrong(draft, queue).field == field


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        (InvalidParameterValue("The request must contain the parameter MessageDeduplicationId."), "deduplication"),
        (InvalidParameterValue("Value for parameter DelaySeconds is invalid."), "delay"),
        (InvalidMessageContents("#x0"), "body"),
        (InvalidParameterValue("Something else."), None),
    ],
)
def test_what_the_service_refuses_is_told_beside_its_input(fault: Fault, field: str | None) -> None:
    assert wrong(Draft("x"), fault=fault).field == field


def test_another_account_s_queue_is_refused() -> None:
    with pytest.raises(Wrong, match="another account") as caught:
        asyncio.run(send(visit(Service(), account="111111111111"), Draft("x")))
    assert caught.value.status == 403


def test_values_are_what_their_types_say() -> None:
    rows = [
        DraftAttribute(1, " size ", "Number", "-1.5e3"),
        DraftAttribute(2, "raw", "Binary", "aGVs\nbG8="),
        DraftAttribute(3, "money", "Number.euro", "12"),
    ]
    assert attributes(rows) == {
        "size": Attribute("Number", "-1.5e3"),
        "raw": Attribute("Binary", binary_value=b"hello"),
        "money": Attribute("Number.euro", "12"),
    }


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (DraftAttribute(4, "", "String", "x"), "a4-name"),
        (DraftAttribute(4, "kind", "String", "again"), "a4-name"),
        (DraftAttribute(4, "size", "Number", "many"), "a4-value"),
        (DraftAttribute(4, "raw", "Binary", "not base64"), "a4-value"),
        (DraftAttribute(4, "other", "String", ""), "a4-value"),
    ],
)
def test_a_row_that_is_wrong_is_named(row: DraftAttribute, field: str) -> None:
    with pytest.raises(Wrong) as caught:
        attributes([DraftAttribute(1, "kind", "String", "paid"), row])
    assert caught.value.field == field
