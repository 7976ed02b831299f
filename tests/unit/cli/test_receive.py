"""``rockdove receive``, without following."""

import json
import time

from rockdove.client import Client, Outgoing
from tests.unit.cli.outcome import Cli


def states(client: Client, queue: str) -> list[str]:
    return [message.state for message in client.peek(queue, limit=100)]


def test_one_message_is_printed_and_kept(cli: Cli, client: Client, queue: str) -> None:
    client.send_batch(queue, ["first", "second"])
    outcome = cli("receive", queue)
    assert (outcome.code, outcome.out, outcome.err) == (0, "first\n", "")
    assert sorted(states(client, queue)) == ["in-flight", "visible"]


def test_many_messages_are_printed_and_deleted(cli: Cli, client: Client, queue: str) -> None:
    client.send_batch(queue, map(str, range(150)))
    outcome = cli("receive", queue, "--max", "120", "--delete")
    assert outcome.out.split() == [str(number) for number in range(120)]
    assert len(states(client, queue)) == 30


def test_json_is_one_document_in_the_words_of_sqs(cli: Cli, client: Client, queue: str) -> None:
    client.send(queue, "grüße", attributes={"n": 1})
    document = cli("receive", queue, "--json", "--max", "10", "--delete").document
    (message,) = document["Messages"]
    assert message["Body"] == "grüße"
    assert message["MessageAttributes"] == {"n": {"DataType": "Number", "StringValue": "1"}}
    assert {"MessageId", "ReceiptHandle", "MD5OfBody", "Attributes"} <= message.keys()
    assert states(client, queue) == []
    assert cli("receive", queue, "--json").document == {"Messages": []}


def test_visibility(cli: Cli, client: Client, queue: str) -> None:
    client.send(queue, "x")
    cli("receive", queue, "--visibility", "600")
    (message,) = client.peek(queue)
    assert message.visible_from is not None
    assert 590 < message.visible_from - time.time() <= 600


def test_wait(cli: Cli, client: Client, queue: str) -> None:
    client.send(queue, "soon", delay_s=1)
    assert cli("receive", queue).out == ""
    assert cli("receive", queue, "--wait", "10").out == "soon\n"


def test_peek_disturbs_nothing(cli: Cli, client: Client, queue: str) -> None:
    client.send_batch(queue, [*map(str, range(12)), Outgoing(body="later", delay_s=600)])
    for _ in range(2):
        assert cli("receive", queue, "--peek").out.split() == [str(number) for number in range(10)]
    document = cli("receive", queue, "--peek", "--max", "100", "--json").document
    assert [message["State"] for message in document["Messages"]] == ["visible"] * 12 + ["delayed"]
    assert "ReceiptHandle" not in json.dumps(document)
    assert states(client, queue) == ["visible"] * 12 + ["delayed"]


def test_a_body_is_printed_as_it_is(cli: Cli, client: Client, queue: str) -> None:
    """Not on a terminal: whoever reads it gets every byte."""
    body = "[bold]two\nlines[/bold] \t\u009b"
    client.send(queue, body)
    assert cli("receive", queue).out == body + "\n"
