"""``rockdove send``."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rockdove.cli.failure import Failure
from rockdove.cli.line import lines
from rockdove.client import Client
from rockdove.core.message import Attribute
from tests.support.environment import isolated
from tests.support.server import COMMAND, Server
from tests.unit.cli.outcome import Cli


def bodies(client: Client, queue: str) -> list[str]:
    return [message.body for message in client.peek(queue, limit=100)]


def test_one_message(cli: Cli, client: Client, queue: str) -> None:
    outcome = cli("send", queue, "hello", "-a", "text=t=1", "-a", "n:Number=5", "-a", "raw:Binary=AAE=")
    (message,) = client.receive(queue)
    assert outcome.out == f"sent {message.message_id}\n"
    assert message.body == "hello"
    assert message.message_attributes == {
        "text": Attribute("String", "t=1"),
        "n": Attribute("Number", "5"),
        "raw": Attribute("Binary", binary_value=b"\0\1"),
    }
    document = cli("send", queue, "again", "--json").document
    assert document.keys() == {"MessageId", "MD5OfMessageBody"}


def test_delay(cli: Cli, client: Client, queue: str) -> None:
    cli("send", queue, "later", "--delay", "600")
    assert [message.state for message in client.peek(queue)] == ["delayed"]


def test_fifo(cli: Cli, client: Client, new_name: Callable[..., str]) -> None:
    name = new_name(".fifo")
    client.create_queue(name, attributes={"FifoQueue": "true"})
    outcome = cli("send", name, "x")
    assert outcome.code == 2
    assert outcome.err.endswith("; give it with --group\n")
    outcome = cli("send", name, "x", "--group", "g")
    assert outcome.code == 2
    assert "--dedup-id" in outcome.err
    first = cli("send", name, "x", "--group", "g", "--dedup-id", "1", "--json").document
    again = cli("send", name, "x", "--group", "g", "--dedup-id", "1", "--json").document
    assert first["SequenceNumber"]
    assert first["MessageId"] == again["MessageId"]


def test_lines_of_standard_input(cli: Cli, client: Client, queue: str) -> None:
    outcome = cli("send", queue, "-", "-a", "kind=line", stdin=b"one\n\ntwo \r\nthr\xc3\xa9e\nfour")
    assert (outcome.code, outcome.out, outcome.err) == (0, "sent 4 messages\n", "")
    assert bodies(client, queue) == ["one", "two ", "thrée", "four"]
    assert all("kind" in message.message_attributes for message in client.peek(queue))


def test_lines_of_a_file(cli: Cli, client: Client, queue: str, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(1, 98)))
    document = cli("send", queue, "--file", "lines", "--json").document
    assert document == {"QueueUrl": client.queue_url(queue), "Sent": 97, "Failed": 0, "Failures": []}
    assert bodies(client, queue) == [str(number) for number in range(1, 98)]


def test_nothing_to_send_is_nothing_sent(cli: Cli, queue: str) -> None:
    assert cli("send", queue, "-").out == "sent 0 messages\n"


@pytest.mark.parametrize("file", ["missing", "."])
def test_a_file_that_cannot_be_read(cli: Cli, queue: str, file: str) -> None:
    outcome = cli("send", queue, "--file", file)
    assert outcome.code == 2
    assert file in outcome.err


def test_what_is_refused_is_told_by_line_and_the_rest_is_sent(cli: Cli, client: Client, queue: str) -> None:
    text = b"good\n\nbad \x01\n" + b"x" * 1_048_000 + b"y" * 577 + b"\ngood\n"
    outcome = cli("send", queue, "-", "--json", stdin=text)
    assert outcome.code == 1
    document = outcome.document
    assert (document["Sent"], document["Failed"]) == (2, 2)
    assert [failure["Line"] for failure in document["Failures"]] == [3, 4]
    assert [line.partition(":")[0] for line in outcome.err.splitlines()] == ["line 3", "line 4", "rockdove"]
    assert bodies(client, queue) == ["good", "good"]


def test_what_is_no_text_ends_it_and_tells_how_much_was_sent(cli: Cli, client: Client, queue: str) -> None:
    """What was read in one go before the bad line is not sent: the user corrects the file and sends all of it."""
    outcome = cli("send", queue, "-", stdin=b"good\n\xff\n")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "0 messages sent before it ended\nrockdove: line 2 is not UTF-8 text; send such data in base64\n"
    )
    assert bodies(client, queue) == []


def test_a_slow_writers_lines_are_sent_as_they_come(client: Client, shared: Server, queue: str) -> None:
    command = [*COMMAND, "send", queue, "-", "--endpoint", shared.endpoint]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=isolated()) as child:
        assert child.stdin is not None
        for number in range(3):
            child.stdin.write(b"%d\n" % number)
            child.stdin.flush()
            (message,) = client.receive(queue, wait_s=20, visibility_s=600)
            assert message.body == str(number)
        out, _ = child.communicate()
    assert (child.returncode, out) == (0, b"sent 3 messages\n")


def test_a_line_that_never_ends_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"short\n" + b"x" * 3_000_000)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(Failure, match="line 2 is longer than a message may be"):
            list(lines(descriptor))
    finally:
        os.close(descriptor)
