"""The commands on leases."""

from rockdove.client import Client
from tests.unit.cli.outcome import Cli


def fill(client: Client, queue: str) -> None:
    client.send_batch(queue, ["a", "b", "c"])
    assert len(client.lease_batch(queue, "nightly", 0, 7, limit=2).messages) == 2
    assert len(client.lease_batch(queue, "nightly", 1, 7).messages) == 1


def test_list(cli: Cli, client: Client, queue: str) -> None:
    empty = cli("lease", "list", queue)
    assert (empty.code, empty.out, empty.err) == (0, "", f"nobody has leased messages of {queue}\n")
    fill(client, queue)
    lines = cli("lease", "list", queue).out.splitlines()
    assert lines[0].split() == ["consumer", "leases", "messages", "silent", "for"]
    assert lines[1].split()[:3] == ["nightly", "2", "3"]
    lines = cli("lease", "list", queue, "--each").out.splitlines()
    assert lines[0].split() == ["consumer", "shard", "sequence", "messages", "leased"]
    assert [line.split()[:4] for line in lines[1:]] == [["nightly", "0", "7", "2"], ["nightly", "1", "7", "1"]]
    assert cli("lease", "list", queue, "--consumer", "x").err == f"x holds no leases of {queue}\n"
    document = cli("lease", "list", queue, "--json").document
    assert [(held["Consumer"], held["Messages"]) for held in document["Consumers"]] == [("nightly", 3)]
    assert [lease["Shard"] for lease in document["Leases"]] == [0, 1]


def test_ack(cli: Cli, client: Client, queue: str) -> None:
    fill(client, queue)
    asked = cli("lease", "ack", queue, "nightly")
    assert asked.code == 5
    assert "--yes" in asked.err
    assert cli("lease", "ack", queue, "nightly", "--yes").out == "deleted 3 messages of 2 leases\n"
    again = cli("lease", "ack", queue, "nightly", "--yes")
    assert (again.code, again.out) == (3, "")
    assert "nightly holds no leases" in again.err
    assert client.peek(queue) == []


def test_release(cli: Cli, client: Client, queue: str) -> None:
    fill(client, queue)
    assert cli("lease", "release", queue, "nightly", "--yes", "--json").document == {"Leases": 2, "Messages": 3}
    assert cli("lease", "release", queue, "nightly", "--yes").code == 3
    assert cli("lease", "release", queue, "nightly", "--forget", "--yes").out.endswith("and forgot nightly\n")
    assert len(client.lease_batch(queue, "nightly", 0, 0).messages) == 3


def test_a_leased_message_is_shown(cli: Cli, client: Client, queue: str) -> None:
    fill(client, queue)
    messages = cli("receive", queue, "--peek", "--json").document["Messages"]
    assert {message["State"] for message in messages} == {"leased"}


def test_a_queue_that_is_not_there(cli: Cli, client: Client) -> None:
    for words in (("list", "nowhere"), ("ack", "nowhere", "x", "--yes"), ("release", "nowhere", "x", "--yes")):
        assert cli("lease", *words).code == 3
