"""What the parts of a queue's page make of what the service tells."""

import json

import pytest

from rockdove.client import Message, MoveTask, PeekedMessage
from rockdove.console.access import Statement, accounts, statements
from rockdove.console.peek import choice
from rockdove.console.physical import shares
from rockdove.console.place import name_of
from rockdove.console.queue import listed
from rockdove.console.redrive import task
from rockdove.console.shown import CUT, ShownAttribute, shown
from rockdove.console.typed import number, whole
from rockdove.console.wrong import Wrong
from rockdove.core.message import Attribute

UP = ("up", True, 1.0)


# Shares of physical queues.


def test_new_messages_go_by_weight() -> None:
    assert shares([("up", True, 3.0), UP], fifo=False) == [0.75, 0.25]


def test_what_is_down_drains_or_is_away_gets_nothing() -> None:
    parts = [UP, ("down", True, 5.0), ("draining", True, 5.0), ("up", False, 5.0), ("leaving", True, 5.0)]
    assert shares(parts, fifo=False) == [1.0, 0, 0, 0, 0]


def test_without_any_weight_those_that_are_up_share_alike() -> None:
    assert shares([("up", True, 0.0), ("up", True, 0.0), ("down", True, 1.0)], fifo=False) == [0.5, 0.5, 0.0]


def test_nothing_is_shared_out_when_all_are_down() -> None:
    assert shares([("down", True, 1.0)], fifo=False) == [0.0]


def test_fifo_queues_go_by_group_also_when_one_is_down() -> None:
    assert shares([UP, ("down", True, 1.0), ("leaving", True, 1.0)], fifo=True) == [0.5, 0.5, 0.0]


# Policies.


def policy(**statement: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def test_a_statement_is_told_in_words() -> None:
    text = policy(
        Sid="billing",
        Effect="Allow",
        Principal={"AWS": ["arn:aws:iam::123456789012:root", "111111111111"]},
        Action=["SQS:SendMessage", "sqs:*"],
    )
    assert statements(text) == [Statement("billing", True, ["123456789012", "111111111111"], ["SendMessage", "*"], "")]


def test_what_it_excepts_is_told_as_such() -> None:
    text = policy(Effect="Deny", NotPrincipal={"AWS": "*"}, NotAction="sqs:SendMessage", Condition={"Bool": {"a": "b"}})
    assert statements(text) == [
        Statement("", False, ["all but everybody"], ["all but SendMessage"], '{"Bool": {"a": "b"}}')
    ]


def test_without_a_policy_there_are_no_statements() -> None:
    assert statements("") == []


def test_accounts_are_typed_as_people_do() -> None:
    assert accounts(" 123456789012, 111111111111\n222222222222 ") == ["123456789012", "111111111111", "222222222222"]
    for text in ("", "12", "123456789012 bob"):
        with pytest.raises(Wrong) as caught:
            accounts(text)
        assert caught.value.field == "accounts"


# Messages.


def test_a_long_body_is_cut_and_its_size_is_that_of_all() -> None:
    peeked = PeekedMessage(message_id="m", md5_of_body="", body="é" * 3_000, state="in-flight", physical_queue=2)
    made = shown(peeked)
    assert (made.body, made.is_cut, made.size) == ("é" * CUT, True, 6_000)
    assert (made.state, made.physical, made.receipt) == ("in-flight", 2, None)


def test_a_received_message_has_its_receipt_and_times_in_seconds() -> None:
    attributes = {"SentTimestamp": "1500", "ApproximateReceiveCount": "3", "MessageGroupId": "g"}
    own = {"raw": Attribute("Binary", binary_value=b"hello"), "kind": Attribute("String", "paid")}
    received = Message(
        message_id="m", receipt_handle="r", md5_of_body="", body="x", attributes=attributes, message_attributes=own
    )
    made = shown(received, cut=None)
    assert (made.sent, made.receives, made.group, made.receipt, made.is_cut) == (1.5, 3, "g", "r", False)
    assert made.message_attributes == [
        ShownAttribute("raw", "Binary", "aGVsbG8="),
        ShownAttribute("kind", "String", "paid"),
    ]


def test_messages_are_chosen_by_what_is_typed() -> None:
    made = choice({"lately": "60", "group": " g ", "physical": "3"}, now_s=100.0)
    assert (made.since, made.group, made.physical) == (40.0, "g", 3)
    assert choice({}, now_s=100.0).since is None
    with pytest.raises(Wrong):
        choice({"physical": "first"}, now_s=100.0)


# The rest.


def test_a_move_task_in_seconds_and_names() -> None:
    made = task(
        MoveTask(
            status="RUNNING",
            source_arn="arn:aws:sqs:us-east-1:000000000000:dead",
            destination_arn="arn:aws:sqs:us-east-1:000000000000:jobs",
            approximate_number_of_messages_moved=3,
            started_timestamp=1_500,
        )
    )
    assert (made.destination, made.moved, made.to_move, made.started) == ("jobs", 3, None, 1.5)


def test_names_are_read_from_urls_and_arns() -> None:
    assert name_of("http://127.0.0.1:9324/000000000000/jobs.fifo") == "jobs.fifo"
    assert name_of("arn:aws:sqs:us-east-1:000000000000:jobs") == "jobs"


@pytest.mark.parametrize("text", ["-1", "1.5", "11", "x", "٣", "1" * 30])
def test_whole_numbers_out_of_range_are_named(text: str) -> None:
    with pytest.raises(Wrong, match="whole number from 0 to 10") as caught:
        whole(text, "rate", 0, 10)
    assert caught.value.field == "rate"


def test_numbers_are_read_as_people_type_them() -> None:
    assert whole(" 1,000 ", "rate", 0, 1_000) == 1_000
    assert whole("  ", "rate", 0, 10) is None
    assert number("0.5", "weight", 0, 1_000_000) == 0.5
    for text in ("nan", "-1", "1e9", "x"):
        with pytest.raises(Wrong, match="from 0 to 1,000,000"):
            number(text, "weight", 0, 1_000_000)


def test_attributes_of_the_other_kind_are_not_listed() -> None:
    standard = {attribute.name for _, attributes in listed(fifo=False) for attribute in attributes}
    fifo = {attribute.name for _, attributes in listed(fifo=True) for attribute in attributes}
    assert "ContentBasedDeduplication" in fifo - standard
    assert "RockdoveElastic" in standard - fifo
    assert all(attributes for _, attributes in listed(fifo=False))
