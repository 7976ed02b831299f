"""Bytes of devices as messages, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.client import Message
from rockdove.core.message import Attribute
from rockdove.gateway.error import Refused, Why
from rockdove.gateway.message import outgoing, payload_of


def received(body: str, attributes: dict[str, Attribute]) -> Message:
    return Message(message_id="", receipt_handle="", md5_of_body="", body=body, message_attributes=attributes)


@given(st.binary(min_size=1, max_size=200) | st.text(min_size=1).map(lambda text: text.encode(errors="replace")))
def test_there_and_back(payload: bytes) -> None:
    made = outgoing(payload, {"a": "b"}, "device", "jobs")
    marks = {name: Attribute("String", str(value)) for name, value in (made.attributes or {}).items()}
    assert payload_of(received(made.body, marks)) == payload


def test_said_to_be_base64() -> None:
    marks = {"Encoding": Attribute("String", "base64")}
    assert payload_of(received("no base64!", marks)) == b"no base64!"


def test_groups() -> None:
    assert outgoing(b"x", {}, "device", "jobs").group_id is None
    assert outgoing(b"x", {}, "device", "jobs", "tenant").group_id == "tenant"
    fifo = [outgoing(b"x", {}, sender, "jobs.fifo") for sender in ("device", "a b", "a b", "ä", "x" * 200)]
    assert fifo[0].group_id == "device"
    assert fifo[1].group_id == fifo[2].group_id
    assert len({each.group_id for each in fifo}) == 4
    assert len({each.deduplication_id for each in fifo}) == 5
    assert outgoing(b"x", {}, "device", "jobs.fifo", dedup="7").deduplication_id == "7"


@pytest.mark.parametrize(
    ("payload", "why"), [(b"", Why.CONTENT), (b"x" * 1_048_577, Why.TOO_LARGE), (b"\xff" * 800_000, Why.TOO_LARGE)]
)
def test_refused(payload: bytes, why: Why) -> None:
    with pytest.raises(Refused) as refused:
        outgoing(payload, {}, "device", "jobs")
    assert refused.value.why is why
