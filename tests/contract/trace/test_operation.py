"""What the service records of each operation: every message once, with all that the server knows, and no body.

All that is recorded happens first, once for each store, each matter in a queue of its own; then every test looks at the
events of one queue.
"""

import time
from collections import defaultdict
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rockdove.client import Client
from rockdove.core.errors import Fault
from rockdove.trace import COLUMNS, OPS
from tests.support.server import STORES
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue
from tests.support.trail import incomplete, rows

SECRET = "the body that nobody may see"
ACCOUNT = "000000000000"
# Of these the client alone knows something.
CLIENTS = {"sender", "seq", "receiver", "checksum_ok"}


class Stage:
    """A traced service, and what its clients were told."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder / "trace"
        self.service = RunningService(folder, store, trace=self.folder)
        self.node = self.service.service.recorder.node if self.service.service.recorder else ""
        self.told: dict[str, Any] = {}
        self._events: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)

    def queue(self, name: str, **attributes: str) -> SqsQueue:
        sqs = self.service.client()
        return SqsQueue(sqs, sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def end(self) -> None:
        self.service.close()
        for row in rows(self.folder):
            self._events[row["queue"]].append(row)

    def events(self, queue: str, *ops: str) -> list[dict[str, Any]]:
        return [row for row in self._events[queue] if not ops or row["op"] in ops]


def one_by_one(stage: Stage) -> None:
    queue = stage.queue("single")
    stage.told["single"] = queue.send(SECRET, MessageAttributes={"n": {"DataType": "Number", "StringValue": "42"}})
    stage.service.advance(5)
    message = queue.receive_one()
    stage.service.advance(2)
    queue.hide(message, 60)
    queue.delete(message)
    assert queue.receive() == []


def in_batches(stage: Stage) -> None:
    queue = stage.queue("batch", RockdovePhysicalQueues="3")
    sqs, url = queue.sqs, queue.url
    entries = [{"Id": str(n), "MessageBody": SECRET} for n in range(9)]
    answer = sqs.send_message_batch(QueueUrl=url, Entries=[*entries, {"Id": "bad", "MessageBody": "\x01"}])
    assert (len(answer["Successful"]), len(answer["Failed"])) == (9, 1)
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    held = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
    held.append({"Id": "bad", "ReceiptHandle": "nothing"})
    later = [{**entry, "VisibilityTimeout": 90} for entry in held]
    assert len(sqs.change_message_visibility_batch(QueueUrl=url, Entries=later)["Failed"]) == 1
    assert len(sqs.delete_message_batch(QueueUrl=url, Entries=held)["Failed"]) == 1
    stage.told["batch"] = {each["MessageId"] for each in answer["Successful"]}


def in_groups(stage: Stage) -> None:
    queue = stage.queue("groups.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    stage.told["groups.fifo"] = queue.send("first", MessageGroupId="g1")["MessageId"]
    message = queue.receive_one()
    entry = {"Id": "0", "ReceiptHandle": message["ReceiptHandle"]}
    queue.sqs.delete_message_batch(QueueUrl=queue.url, Entries=[entry])


def to_the_dead_and_back(stage: Stage) -> None:
    dead, queue = stage.queue("dead"), stage.queue("poisoned")
    queue.redrive_to(dead, 1)
    for _ in range(2):
        stage.told.setdefault("poisoned", []).append(queue.send(SECRET)["MessageId"])
    assert len(queue.receive()) == 2
    stage.service.advance(30)
    assert queue.receive() == []
    dead.delete(dead.receive_one())
    queue.sqs.start_message_move_task(SourceArn=dead.arn)
    while queue.sqs.list_message_move_tasks(SourceArn=dead.arn)["Results"][0]["Status"] == "RUNNING":
        time.sleep(0.01)


def too_old(stage: Stage) -> None:
    swept, met = stage.queue("swept", MessageRetentionPeriod="60"), stage.queue("met", MessageRetentionPeriod="60")
    stage.told["swept"] = {swept.send("x")["MessageId"] for _ in range(3)}
    stage.told["met"] = {met.send("x")["MessageId"] for _ in range(3)}
    stage.service.advance(61)
    assert met.receive() == []
    stage.service.sweep()


def emptied(stage: Stage) -> None:
    purged, deleted = stage.queue("purged"), stage.queue("deleted")
    for queue in (purged, deleted):
        queue.send("x")
    purged.sqs.purge_queue(QueueUrl=purged.url)
    with suppress(ClientError):
        purged.sqs.purge_queue(QueueUrl=purged.url)
    deleted.sqs.delete_queue(QueueUrl=deleted.url)


def leased(stage: Stage) -> None:
    queue = stage.queue("leased", RockdovePhysicalQueues="2")
    with Client(stage.service.endpoint) as client:
        for attempt in ("one", "two"):
            client.publish_once(queue.url, "app", 0, 0, attempt, [SECRET], final=False)
            published = client.publish_once(queue.url, "app", 0, 0, attempt, [SECRET, SECRET], chunk=1)
            assert (published.winner, published.messages) == ("one", 3)
        stage.service.advance(5)
        for _ in range(2):
            messages = client.lease_batch(queue.url, "reader", 0, 0).messages
        stage.told["leased"] = {message.message_id for message in messages}
        stage.service.advance(2)
        for _ in range(2):
            client.ack_through(queue.url, "reader", 0)
        for _ in range(2):
            assert client.lease_batch(queue.url, "reader", 0, 1).messages == []
        for refused in (
            lambda: client.lease_batch(queue.url, "reader", 0, 0),
            lambda: client.ack_through(queue.url, "\n"),
            lambda: client.publish_once(queue.url, "app", 1, 0, "one", [SECRET], chunk=1),
        ):
            with pytest.raises(Fault):
                refused()


def refused(stage: Stage) -> None:
    queue = stage.queue("refused")
    sqs, url = queue.sqs, queue.url
    for call in (
        lambda: sqs.send_message(QueueUrl=url, MessageBody="\x01"),
        lambda: sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=11),
        lambda: sqs.delete_message(QueueUrl=url, ReceiptHandle="nothing"),
        lambda: sqs.change_message_visibility(QueueUrl=url, ReceiptHandle="nothing", VisibilityTimeout=1),
        lambda: sqs.send_message_batch(QueueUrl=url, Entries=[]),
        lambda: sqs.send_message(QueueUrl=url.replace("refused", "nowhere"), MessageBody="x"),
    ):
        with pytest.raises(ClientError):
            call()


@pytest.fixture(scope="module", params=STORES)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, environment: None) -> Stage:
    stage = Stage(tmp_path_factory.mktemp("stage"), request.param)
    try:
        for act in (one_by_one, in_batches, in_groups, to_the_dead_and_back, too_old, emptied, leased, refused):
            act(stage)
    finally:
        stage.end()
    return stage


def statuses(events: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["op"], row["status"]) for row in events]


def filled(row: dict[str, Any]) -> set[str]:
    return {name for name, value in row.items() if value is not None}


ALWAYS = {"event_time", "node", "side", "account", "queue", "op", "status"}


def test_a_message_from_send_to_delete(stage: Stage) -> None:
    events = stage.events("single")
    assert [row["op"] for row in events] == ["send", "receive", "change_visibility", "delete", "miss"]
    send, receive, change, delete, miss = events
    at_hand = ALWAYS | {"physical", "message_id", "sent_at", "enqueued_at", "latency_us", "bytes"}
    held = ALWAYS | {"physical", "message_id", "attempt", "dequeued_at", "latency_us"}
    assert filled(send) == at_hand
    assert filled(receive) == at_hand | {"attempt", "dequeued_at"}
    assert filled(change) == filled(delete) == held
    assert filled(miss) == ALWAYS | {"latency_us"}
    assert {row["message_id"] for row in events[:4]} == {stage.told["single"]["MessageId"]}
    assert {row["physical"] for row in events[:4]} == {0}
    assert {row["attempt"] for row in events[1:4]} == {1}
    assert send["bytes"] == receive["bytes"] == len(SECRET) + len("n") + len("Number") + len("42")
    sent = send["event_time"]
    assert send["sent_at"] == send["enqueued_at"] == receive["sent_at"] == receive["enqueued_at"] == sent
    assert receive["dequeued_at"] == change["dequeued_at"] == delete["dequeued_at"] == sent + timedelta(seconds=5)
    assert delete["event_time"] == sent + timedelta(seconds=7)
    assert all(row["latency_us"] > 0 for row in events)


def test_every_event_says_who_and_where(stage: Stage) -> None:
    events = [row for name in list(stage._events) for row in stage.events(name)]
    assert {(row["node"], row["side"], row["account"]) for row in events} == {(stage.node, "server", ACCOUNT)}
    assert {row["op"] for row in events} == set(OPS)
    assert all(isinstance(row["event_time"], datetime) and row["queue"] for row in events)
    assert all(row[name] is None for row in events for name in CLIENTS)
    assert list(events[0]) == list(COLUMNS)


def test_each_message_of_a_batch_has_its_event_and_each_failure_too(stage: Stage) -> None:
    for op, whole in (("send", 9), ("receive", 9), ("change_visibility", 9), ("delete", 9)):
        good = [row for row in stage.events("batch", op) if row["status"] == 200]
        bad = [row for row in stage.events("batch", op) if row["status"] != 200]
        assert {row["message_id"] for row in good} == stage.told["batch"]
        assert len(good) == whole
        assert len({row["latency_us"] for row in good}) <= whole
        assert [(row["status"], row["message_id"]) for row in bad] == ([] if op == "receive" else [(400, None)])


def test_the_physical_queue_is_told_by_its_index(stage: Stage) -> None:
    places = {row["message_id"]: row["physical"] for row in stage.events("batch", "send") if row["status"] == 200}
    assert sorted(places.values()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for row in stage.events("batch", "receive", "delete", "change_visibility"):
        if row["status"] == 200:
            assert row["physical"] == places[row["message_id"]]


def test_groups(stage: Stage) -> None:
    events = stage.events("groups.fifo")
    assert [row["op"] for row in events] == ["send", "receive", "delete"]
    assert {row["message_id"] for row in events} == {stage.told["groups.fifo"]}
    assert [row["group_id"] for row in events] == ["g1", "g1", None]


def test_leases_and_publishing_once(stage: Stage) -> None:
    """What is given again, or was published by another attempt, has happened before."""
    events = stage.events("leased")
    good = [(op, 200) for op in ["send"] * 3 + ["receive"] * 3 + ["delete"] * 3 + ["miss"]]
    assert statuses(events) == [*good, ("receive", 400), ("delete", 400), ("send", 400)]
    whole = events[:9]
    for three in (whole[:3], whole[3:6], whole[6:]):
        assert {row["message_id"] for row in three} == stage.told["leased"]
        assert sorted(row["physical"] for row in three) in ([0, 0, 1], [0, 1, 1])
        assert all(row["latency_us"] > 0 for row in three)
    at_hand = ALWAYS | {"physical", "message_id", "sent_at", "enqueued_at", "latency_us", "bytes"}
    held = ALWAYS | {"physical", "message_id", "latency_us"}
    expected = [at_hand] * 3 + [at_hand | {"attempt", "dequeued_at"}] * 3 + [held] * 3
    assert [filled(row) for row in whole] == expected
    sent = whole[0]["sent_at"]
    assert {(row["sent_at"], row["bytes"]) for row in whole[:6]} == {(sent, len(SECRET))}
    assert {(row["attempt"], row["dequeued_at"]) for row in whole[3:6]} == {(1, sent + timedelta(seconds=5))}
    assert {row["event_time"] for row in whole[6:]} == {sent + timedelta(seconds=7)}


def test_dead_letters_keep_their_names(stage: Stage) -> None:
    died = stage.events("poisoned", "dead_letter")
    assert [row["message_id"] for row in died] == stage.told["poisoned"]
    assert {(row["attempt"], row["status"], row["latency_us"]) for row in died} == {(1, 200, None)}
    assert [row["op"] for row in stage.events("dead")] == ["receive", "delete", "redrive"]
    received, deleted, redriven = stage.events("dead")
    assert received["message_id"] == deleted["message_id"] == stage.told["poisoned"][0]
    assert (received["attempt"], received["bytes"]) == (2, len(SECRET))
    assert redriven["message_id"] == stage.told["poisoned"][1]
    # Received once, in the queue that it came from.
    assert redriven["attempt"] == 1


@pytest.mark.parametrize("queue", ["swept", "met"])
def test_what_is_too_old(stage: Stage, queue: str) -> None:
    events = stage.events(queue, "expire")
    assert {row["message_id"] for row in events} == stage.told[queue]
    assert [filled(row) for row in events] == [ALWAYS | {"physical", "message_id"}] * 3


def test_a_purge_and_a_deleted_queue_are_one_event(stage: Stage) -> None:
    assert statuses(stage.events("purged", "purge")) == [("purge", 200), ("purge", 403)]
    assert statuses(stage.events("deleted", "purge")) == [("purge", 200)]


def test_what_is_refused_is_an_event_of_its_queue(stage: Stage) -> None:
    ops = ["send", "receive", "delete", "change_visibility", "send"]
    assert statuses(stage.events("refused")) == [(op, 400) for op in ops]
    assert all(filled(row) == ALWAYS | {"latency_us"} for row in stage.events("refused"))
    assert stage.events("nowhere") == []


def test_no_body_is_in_any_file(stage: Stage) -> None:
    files = [path for path in stage.folder.rglob("*") if path.is_file()]
    assert files
    values = {str(value) for name in list(stage._events) for row in stage.events(name) for value in row.values()}
    assert not any(SECRET in value for value in values)
    assert incomplete(stage.folder) == []
