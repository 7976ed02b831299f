"""The commands on queues."""

import json
import time
from collections.abc import Callable

import pytest

from rockdove.client import Client, Outgoing
from tests.support.server import Server
from tests.unit.cli.outcome import Cli

NewName = Callable[..., str]


@pytest.fixture
def dead(cli: Cli, client: Client, queue: str, new_name: NewName) -> str:
    """A dead-letter queue; its source is `queue`, which lets a message die after one receive."""
    name = new_name("-dead")
    client.create_queue(name)
    arn = client.attributes(name, ["QueueArn"])["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    assert cli("queue", "set", queue, f"RedrivePolicy={policy}").code == 0
    return name


def test_create(cli: Cli, shared: Server, client: Client, new_name: NewName) -> None:
    name = new_name()
    url = f"{shared.endpoint}/000000000000/{name}"
    words = ("queue", "create", name, "--attribute", "DelaySeconds=5", "--tag", "team=red", "--tag", "eq=a=b")
    assert cli(*words).out == f"{url}\n"
    assert cli(*words, "--json").document == {"QueueUrl": url}
    assert client.attributes(name, ["DelaySeconds"]) == {"DelaySeconds": "5"}
    assert client.tags(name) == {"team": "red", "eq": "a=b"}


def test_create_with_other_attributes_is_refused(cli: Cli, queue: str) -> None:
    outcome = cli("queue", "create", queue, "--attribute", "DelaySeconds=9")
    assert outcome.code == 5
    assert 'rockdove queue set"' in outcome.err


@pytest.mark.parametrize("flags", [(), ("--fifo",)])
def test_create_fifo(cli: Cli, client: Client, new_name: NewName, flags: tuple[str, ...]) -> None:
    name = new_name(".fifo")
    assert cli("queue", "create", name, *flags).code == 0
    assert client.attributes(name, ["FifoQueue"]) == {"FifoQueue": "true"}


def test_create_with_what_the_service_does_not_take(cli: Cli, shared: Server, new_name: NewName) -> None:
    outcome = cli("queue", "create", new_name(), "--attribute", "Nonsense=1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Nonsense" in outcome.err
    assert outcome.err.count("\n") == 1


def test_list(cli: Cli, client: Client, new_name: NewName) -> None:
    prefix = new_name("-list")
    one, two = f"{prefix}-1", f"{prefix}-2"
    urls = [client.create_queue(name) for name in (one, two)]
    client.send_batch(two, ["a", "b", Outgoing(body="c", delay_s=600)])
    client.receive(two)
    listed = cli("queue", "list", "--prefix", prefix)
    assert [line.split() for line in listed.out.splitlines()] == [
        ["queue", "visible", "in", "flight", "delayed"],
        [one, "0", "0", "0"],
        [two, "1", "1", "1"],
    ]
    names = ("", "NotVisible", "Delayed")
    assert cli("queue", "list", "--prefix", prefix, "--json").document == {
        "Queues": [
            {"QueueName": name, "QueueUrl": url, **{f"ApproximateNumberOfMessages{n}": number for n in names}}
            for name, url, number in zip((one, two), urls, (0, 1), strict=True)
        ]
    }


def test_list_of_nothing(cli: Cli, shared: Server, new_name: NewName) -> None:
    prefix = new_name("-none")
    outcome = cli("queue", "list", "--prefix", prefix)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith(f"no queue whose name begins with {prefix}")
    assert cli("queue", "list", "--prefix", prefix, "--json").document == {"Queues": []}


def test_show(cli: Cli, client: Client, queue: str, dead: str) -> None:
    client.tag_queue(queue, {"team": "red"})
    client.set_attributes(queue, {"VisibilityTimeout": "90"})
    client.send_batch(queue, map(str, range(1500)))
    shown = dict(line.split(maxsplit=1) for line in cli("queue", "show", queue).out.splitlines())
    assert shown["queue"] == queue
    assert shown["messages"] == "1,500 visible, 0 in flight, 0 delayed"
    assert shown["dead"] == f"letters                    go to {dead} after 1 receive"
    assert shown["tag"] == "team=red"
    assert shown["VisibilityTimeout"] == "1 min 30 s (90 s)"
    assert shown["MaximumMessageSize"] == "1 MiB (1,048,576 bytes)"
    assert shown["MessageRetentionPeriod"] == "4 days (345,600 s)"
    assert f"dead letters of                 {queue}\n" in cli("queue", "show", dead).out


def test_show_as_json_has_everything(cli: Cli, client: Client, queue: str, dead: str) -> None:
    url = client.queue_url(dead)
    document = cli("queue", "show", dead, "--json").document
    attributes = document.pop("Attributes")
    assert attributes == client.attributes(dead)
    assert document == {
        "QueueName": dead,
        "QueueUrl": url,
        "Tags": {},
        "DeadLetterSourceQueueUrls": [client.queue_url(queue)],
        "MessageMoveTasks": [],
    }


def test_set(cli: Cli, client: Client, queue: str, dead: str) -> None:
    outcome = cli("queue", "set", queue, "VisibilityTimeout=7", "RedrivePolicy=")
    assert [line.split() for line in outcome.out.splitlines()] == [
        ["VisibilityTimeout", "7"],
        ["RedrivePolicy", "(removed)"],
    ]
    assert "RedrivePolicy" not in client.attributes(queue)
    assert cli("queue", "set", queue, "DelaySeconds=3", "--json").document == {"Attributes": {"DelaySeconds": "3"}}
    assert cli("queue", "set", queue, "DelaySeconds=9999").code == 2


def test_purge(cli: Cli, client: Client, queue: str) -> None:
    client.send_batch(queue, "abc")
    refused = cli("queue", "purge", queue)
    assert (refused.code, refused.out) == (5, "")
    assert "--yes" in refused.err
    assert len(client.peek(queue)) == 3
    assert cli("queue", "purge", queue, "--yes", "--json").document == {
        "QueueUrl": client.queue_url(queue),
        "Purged": 3,
    }
    assert client.peek(queue) == []
    again = cli("queue", "purge", queue, "--yes")
    assert again.code == 5
    assert "60 seconds" in again.err


def test_delete(cli: Cli, client: Client, queue: str) -> None:
    client.send(queue, "x")
    assert cli("queue", "delete", queue).code == 5
    assert cli("queue", "delete", queue, "--yes").out == f"deleted {queue} with 1 message\n"
    assert cli("queue", "delete", queue, "--yes").code == 3
    recreated = cli("queue", "create", queue)
    assert recreated.code == 5
    assert "wait 60 seconds" in recreated.err


def test_move_back_and_wait(cli: Cli, client: Client, queue: str, dead: str) -> None:
    client.send_batch(queue, "abc")
    assert len(client.receive(queue, limit=10, visibility_s=0)) == 3
    assert client.receive(queue, limit=10) == []
    assert cli("queue", "move", dead, "--wait").out == f"moved 3 messages from {dead}\n"
    assert sorted(message.body for message in client.peek(queue)) == ["a", "b", "c"]


def test_move_elsewhere(cli: Cli, client: Client, queue: str, dead: str, new_name: NewName) -> None:
    target = new_name()
    client.create_queue(target)
    client.send_batch(dead, "abc")
    task = cli("queue", "move", dead, target, "--wait", "--json").document
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 3)
    assert len(client.peek(target)) == 3
    assert f"completed, 3 of 3 messages moved to {target}" in cli("queue", "show", dead).out


def test_move_is_slow_and_stopped(cli: Cli, client: Client, queue: str, dead: str, new_name: NewName) -> None:
    client.send_batch(dead, map(str, range(20)))
    target = new_name()
    client.create_queue(target)
    assert cli("queue", "move", dead, "--cancel").code == 3
    started = cli("queue", "move", dead, target, "--rate", "1")
    assert started.out.startswith(f"moving 20 messages from {dead}; ")
    assert f"running, 1 of 20 messages moved to {target}, at most 1 a second" in _shown(cli, dead)
    assert cli("queue", "move", dead, "--cancel").out == "stopped after 1 message\n"


def _shown(cli: Cli, queue: str) -> str:
    """As soon as one message has been moved."""
    deadline = time.monotonic() + 10
    while "running, 0 of" in (out := cli("queue", "show", queue).out):
        assert time.monotonic() < deadline
    return out


def test_moves_that_cannot_be(cli: Cli, client: Client, queue: str, dead: str, new_name: NewName) -> None:
    missing = new_name()
    outcome = cli("queue", "move", dead, missing)
    assert outcome.code == 3
    assert missing in outcome.err
    # Nobody's dead letters go there.
    assert cli("queue", "move", queue).code == 2
    # Sent there by hand, it came from nowhere.
    client.send(dead, "x")
    failed = cli("queue", "move", dead, "--wait")
    assert failed.code == 1
    assert failed.err.startswith("rockdove: the move failed: ")
