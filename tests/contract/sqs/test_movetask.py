"""Message move tasks: out of a dead-letter queue, back to the sources or elsewhere."""

import time
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rockdove.core import limits
from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.raw import Wire, json_request
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue

_PATIENCE_S = 120


class Graveyard:
    """A dead-letter queue, and a source whose messages it got."""

    def __init__(self, service: RunningService, make: QueueMaker, fifo: bool = False) -> None:
        self._service = service
        self.make = make
        self._fifo = fifo
        self.sqs = make.sqs
        self.dead = make.fifo() if fifo else make()
        self.source = self.new_source()

    def new_source(self) -> SqsQueue:
        source = self.make.fifo() if self._fifo else self.make()
        source.redrive_to(self.dead, 1)
        return source

    def bury(self, *bodies: str, source: SqsQueue | None = None, **options: Any) -> None:
        """Let these come to the dead-letter queue."""
        source = source or self.source
        source.send_all(*bodies, **options)
        for _ in range(len(bodies) + 1):
            source.receive(VisibilityTimeout=0)
        assert source.counts() == (0, 0, 0)

    def start(self, **options: Any) -> str:
        # No two tasks begin at the same moment: the newest must be known.
        self._service.advance(1)
        handle: str = self.sqs.start_message_move_task(SourceArn=self.dead.arn, **options)["TaskHandle"]
        return handle

    def tasks(self, **options: Any) -> list[dict[str, Any]]:
        answer = self.sqs.list_message_move_tasks(SourceArn=self.dead.arn, **options)
        tasks: list[dict[str, Any]] = answer.get("Results", [])
        return tasks

    def finished(self) -> dict[str, Any]:
        """The newest task once it has come to its end."""
        deadline = time.monotonic() + _PATIENCE_S
        while (task := self.tasks()[0])["Status"] in ("RUNNING", "CANCELLING"):
            assert time.monotonic() < deadline, task
            time.sleep(0.005)
        return task


@pytest.fixture
def yard(service: RunningService, make: QueueMaker) -> Graveyard:
    return Graveyard(service, make)


@pytest.fixture
def slow_yard(services: Services, new_name: NewName) -> Graveyard:
    """For what takes a second: in one protocol, on one store."""
    service = services.shared("sqlite")
    return Graveyard(service, QueueMaker(service.client(), new_name))


def test_messages_go_back_to_where_each_came_from(yard: Graveyard) -> None:
    other = yard.new_source()
    yard.bury("1", "2")
    yard.bury("3", source=other)
    yard.start()
    assert yard.finished()["Status"] == "COMPLETED"
    assert sorted(yard.source.bodies()) == ["1", "2"]
    assert other.bodies() == ["3"]
    assert yard.dead.counts() == (0, 0, 0)


def test_messages_go_to_the_destination_that_is_given(yard: Graveyard, make: QueueMaker) -> None:
    destination = make()
    yard.bury("1", "2")
    yard.dead.send("never was anywhere else")
    yard.start(DestinationArn=destination.arn)
    assert yard.finished()["ApproximateNumberOfMessagesMoved"] == 3
    assert sorted(destination.bodies()) == ["1", "2", "never was anywhere else"]
    assert yard.source.counts() == (0, 0, 0)


def test_what_a_task_tells(service: RunningService, yard: Graveyard) -> None:
    yard.bury("1", "2")
    yard.start(DestinationArn=yard.source.arn, MaxNumberOfMessagesPerSecond=500)
    assert yard.finished() == {
        "Status": "COMPLETED",
        "SourceArn": yard.dead.arn,
        "DestinationArn": yard.source.arn,
        "MaxNumberOfMessagesPerSecond": 500,
        "ApproximateNumberOfMessagesMoved": 2,
        "ApproximateNumberOfMessagesToMove": 2,
        "StartedTimestamp": int(service.now_s * 1000),
    }
    yard.bury("1")
    yard.start()
    assert yard.finished().keys() == {
        "Status",
        "SourceArn",
        "ApproximateNumberOfMessagesMoved",
        "ApproximateNumberOfMessagesToMove",
        "StartedTimestamp",
    }


def test_a_moved_message_is_new_but_for_its_contents(service: RunningService, yard: Graveyard) -> None:
    """Documented in the developer guide: a new message id and a new time of sending."""
    attributes = {"a": {"DataType": "String", "StringValue": "1"}}
    old = yard.source.send("x", MessageAttributes=attributes, MessageGroupId="tenant")
    for _ in range(2):
        yard.source.receive(VisibilityTimeout=0)
    service.advance(10)
    yard.start()
    yard.finished()
    message = yard.source.receive_one(MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"])
    assert message["MessageId"] != old["MessageId"]
    assert (message["Body"], message["MessageAttributes"]) == ("x", attributes)
    assert message["Attributes"] == {
        "SenderId": "000000000000",
        "SentTimestamp": str(int(service.now_s * 1000)),
        "ApproximateReceiveCount": "1",
        "ApproximateFirstReceiveTimestamp": str(int(service.now_s * 1000)),
        "MessageGroupId": "tenant",
    }


def test_an_empty_queue_is_done_at_once(yard: Graveyard) -> None:
    yard.start()
    task = yard.finished()
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 0)


def test_a_message_that_dies_again_can_be_moved_again(yard: Graveyard) -> None:
    yard.bury("x")
    for _ in range(3):
        yard.start()
        yard.finished()
        assert yard.source.bodies(VisibilityTimeout=0) == ["x"]
        assert yard.source.receive() == []
        assert yard.dead.counts() == (1, 0, 0)


def test_fifo_messages_keep_their_groups_and_order(service: RunningService, make: QueueMaker) -> None:
    yard = Graveyard(service, make, fifo=True)
    yard.bury("a1", "a2", "a3", MessageGroupId="a")
    yard.bury("b1", MessageGroupId="b")
    yard.start()
    assert yard.finished()["Status"] == "COMPLETED"
    messages = yard.source.receive(MessageSystemAttributeNames=["MessageGroupId"])
    by_group: dict[str, list[str]] = {}
    for message in messages:
        by_group.setdefault(message["Attributes"]["MessageGroupId"], []).append(message["Body"])
    assert by_group == {"a": ["a1", "a2", "a3"], "b": ["b1"]}


def test_only_dead_letter_queues_can_be_moved_from(queue: SqsQueue) -> None:
    with refused("InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue."):
        queue.sqs.start_message_move_task(SourceArn=queue.arn)


def test_source_and_destination_must_be_there(yard: Graveyard) -> None:
    missing = "arn:aws:sqs:us-east-1:000000000000:never-made"
    text = "The resource that you specified for the {} parameter doesn't exist."
    with refused("ResourceNotFoundException", text.format("SourceArn"), status=404):
        yard.sqs.start_message_move_task(SourceArn=missing)
    with refused("ResourceNotFoundException", text.format("DestinationArn"), status=404):
        yard.start(DestinationArn=missing)
    with refused("ResourceNotFoundException", text.format("SourceArn"), status=404):
        yard.sqs.list_message_move_tasks(SourceArn=missing)


@pytest.mark.parametrize("rate", [0, -1, 501])
def test_the_rate_is_1_to_500(yard: Graveyard, rate: int) -> None:
    with refused("InvalidParameterValue"):
        yard.start(MaxNumberOfMessagesPerSecond=rate)
    assert yard.tasks() == []


def test_tasks_of_an_account_are_bounded(slow_yard: Graveyard, monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer than usual: the first one must not end before the last one begins."""
    assert limits.MAX_MOVE_TASKS == 100
    monkeypatch.setattr(limits, "MAX_MOVE_TASKS", most := 8)
    sqs, make, handles = slow_yard.sqs, slow_yard.make, list[str]()

    def start() -> str:
        dead, source = make(), make()
        source.redrive_to(dead, 1)
        for _ in range(3):
            dead.send_all(*"0123456789")
        options = {"DestinationArn": source.arn, "MaxNumberOfMessagesPerSecond": 1}
        handle: str = sqs.start_message_move_task(SourceArn=dead.arn, **options)["TaskHandle"]
        return handle

    try:
        text = f"An account can have at most {most} active tasks. Cancel one, or wait until one is done."
        with refused("OverLimit", text, status=403):
            for _ in range(most + 1):
                handles.append(start())
        assert len(handles) == most
    finally:
        for handle in handles:
            with suppress(ClientError):
                sqs.cancel_message_move_task(TaskHandle=handle)


def test_one_task_at_a_time_for_a_queue(service: RunningService, yard: Graveyard, make: QueueMaker) -> None:
    """The code and the text as recorded from SQS."""
    yard.bury("1", "2", "3")
    handle = yard.start(MaxNumberOfMessagesPerSecond=1)
    text = "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    with refused("InvalidParameterValue", text):
        yard.start()
    other = Graveyard(service, make)
    other.bury("x")
    other.start()
    assert other.finished()["Status"] == "COMPLETED"
    yard.sqs.cancel_message_move_task(TaskHandle=handle)


def test_of_two_that_start_at_once_one_is_refused(service: RunningService, make_json: QueueMaker) -> None:
    yard = Graveyard(service, make_json)
    yard.bury("1", "2", "3")
    content = {"SourceArn": yard.dead.arn, "MaxNumberOfMessagesPerSecond": 1}
    wires = [Wire(service.port) for _ in range(4)]
    for wire in wires:
        wire.send(json_request("StartMessageMoveTask", content))
    replies = [wire.read() for wire in wires]
    for wire in wires:
        wire.close()
    assert sorted(reply.status for reply in replies) == [200, 400, 400, 400]
    assert len(yard.tasks(MaxResults=10)) == 1
    [handle] = [reply.json["TaskHandle"] for reply in replies if reply.status == 200]
    yard.sqs.cancel_message_move_task(TaskHandle=handle)


def test_a_running_task_can_be_cancelled(yard: Graveyard) -> None:
    yard.bury(*map(str, range(5)))
    handle = yard.start(MaxNumberOfMessagesPerSecond=1)
    [running] = yard.tasks()
    assert (running["Status"], running["TaskHandle"]) == ("RUNNING", handle)
    moved = yard.sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert moved < 5
    assert "TaskHandle" not in yard.tasks()[0]
    task = yard.finished()
    assert task["Status"] == "CANCELLED"
    assert task["ApproximateNumberOfMessagesMoved"] < 5
    # What was moved stays moved, the rest stays where it is.
    assert yard.source.counts()[0] == task["ApproximateNumberOfMessagesMoved"]
    assert sum(yard.dead.counts()) == 5 - task["ApproximateNumberOfMessagesMoved"]
    yard.start()
    assert yard.finished()["Status"] == "COMPLETED"
    assert sorted(yard.source.bodies()) == [str(number) for number in range(5)]


def test_only_a_running_task_can_be_cancelled(yard: Graveyard) -> None:
    handle = yard.start()
    yard.finished()
    with pytest.raises(ClientError) as caught:
        yard.sqs.cancel_message_move_task(TaskHandle=handle)
    assert caught.value.response["Error"]["Message"] == "Only active tasks can be cancelled."
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize("handle", ["garbage", "", "e30=", "bnVsbA==", "ä"])
def test_what_is_no_task_handle_is_refused(queue: SqsQueue, handle: str) -> None:
    with refused("InvalidParameterValue", "Value for parameter TaskHandle is invalid."):
        queue.sqs.cancel_message_move_task(TaskHandle=handle)


def test_tasks_are_listed_newest_first(service: RunningService, yard: Graveyard) -> None:
    times = []
    for _ in range(12):
        yard.start()
        times.append(int(service.now_s * 1000))
        yard.finished()
    assert [task["StartedTimestamp"] for task in yard.tasks()] == times[-1:]
    assert [task["StartedTimestamp"] for task in yard.tasks(MaxResults=3)] == times[:-4:-1]
    assert [task["StartedTimestamp"] for task in yard.tasks(MaxResults=10)] == times[:-11:-1]
    for number in (0, 11):
        with refused("InvalidParameterValue"):
            yard.tasks(MaxResults=number)


def test_a_queue_has_its_own_tasks(service: RunningService, yard: Graveyard, make: QueueMaker) -> None:
    other = Graveyard(service, make)
    yard.start()
    yard.finished()
    assert other.tasks(MaxResults=10) == []
    assert yard.source.sqs.list_message_move_tasks(SourceArn=yard.source.arn).get("Results", []) == []


def test_a_new_queue_of_the_same_name_has_no_tasks(service: RunningService, yard: Graveyard) -> None:
    yard.start()
    yard.finished()
    name = yard.dead.url.rpartition("/")[2]
    yard.sqs.delete_queue(QueueUrl=yard.dead.url)
    service.advance(61)
    yard.sqs.create_queue(QueueName=name)
    assert yard.tasks(MaxResults=10) == []


@pytest.mark.parametrize("first_chunk_has_landed", [True, False])
def test_a_task_fails_when_its_destination_goes(slow_yard: Graveyard, first_chunk_has_landed: bool) -> None:
    """The reason as recorded from SQS."""
    yard, destination = slow_yard, slow_yard.make()
    yard.bury(*map(str, range(3)))
    yard.start(DestinationArn=destination.arn, MaxNumberOfMessagesPerSecond=2)
    while first_chunk_has_landed and not yard.tasks()[0]["ApproximateNumberOfMessagesMoved"]:
        time.sleep(0.005)
    destination.sqs.delete_queue(QueueUrl=destination.url)
    task = yard.finished()
    assert (task["Status"], task.get("FailureReason")) == ("FAILED", "AWS.SimpleQueueService.NonExistentQueue")
    assert yard.dead.counts() == (3 - task["ApproximateNumberOfMessagesMoved"], 0, 0)


def test_a_message_without_a_past_has_no_way_back(yard: Graveyard) -> None:
    yard.dead.send("sent here")
    yard.start()
    task = yard.finished()
    assert (task["Status"], task["FailureReason"]) == ("FAILED", "CouldNotDetermineMessageSource")
    assert yard.dead.bodies() == ["sent here"]


def test_the_region_of_an_arn_does_not_matter(yard: Graveyard) -> None:
    yard.bury("x")
    foreign = yard.dead.arn.replace("us-east-1", "ap-south-1")
    yard.sqs.start_message_move_task(SourceArn=foreign, DestinationArn=yard.source.arn.replace("us-east-1", "x"))
    assert yard.finished()["Status"] == "COMPLETED"
    assert len(yard.sqs.list_message_move_tasks(SourceArn=foreign)["Results"]) == 1
    assert yard.source.bodies() == ["x"]


def test_many_messages(slow_yard: Graveyard) -> None:
    yard = slow_yard
    yard.dead.send_all(*map(str, range(250)))
    yard.start(DestinationArn=yard.source.arn)
    task = yard.finished()
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 250)
    assert (yard.dead.counts(), yard.source.counts()) == ((0, 0, 0), (250, 0, 0))


def test_the_rate_is_kept(slow_yard: Graveyard) -> None:
    yard = slow_yard
    yard.dead.send_all(*map(str, range(60)))
    began = time.monotonic()
    yard.start(DestinationArn=yard.source.arn, MaxNumberOfMessagesPerSecond=50)
    while True:
        moved = yard.source.counts()[0]
        if time.monotonic() - began >= 0.8:
            break
        assert moved <= 50, "not more in a second than the rate allows"
        time.sleep(0.05)
    assert yard.finished()["ApproximateNumberOfMessagesMoved"] == 60
    assert time.monotonic() - began > 0.8


def test_the_rate_is_that_of_all_physical_queues_together(slow_yard: Graveyard) -> None:
    yard = slow_yard
    yard.dead = yard.make(RockdovePhysicalQueues="10")
    yard.source.redrive_to(yard.dead, 1)
    yard.dead.send_all(*map(str, range(20)))
    handle = yard.start(DestinationArn=yard.source.arn, MaxNumberOfMessagesPerSecond=1)
    while not yard.tasks()[0]["ApproximateNumberOfMessagesMoved"]:
        time.sleep(0.005)
    yard.sqs.cancel_message_move_task(TaskHandle=handle)
    assert yard.finished()["ApproximateNumberOfMessagesMoved"] < 10


def test_a_task_leaves_a_new_queue_of_the_same_name_alone(services: Services, new_name: NewName) -> None:
    service = services("sqlite", cool_down=False)
    yard = Graveyard(service, QueueMaker(service.client(), new_name))
    yard.dead.send_all("1", "2", "3")
    yard.start(DestinationArn=yard.source.arn, MaxNumberOfMessagesPerSecond=1)
    while not yard.tasks()[0]["ApproximateNumberOfMessagesMoved"]:
        time.sleep(0.005)
    yard.sqs.delete_queue(QueueUrl=yard.dead.url)
    yard.sqs.create_queue(QueueName=yard.dead.url.rsplit("/", 1)[1])
    yard.dead.send("new")
    while any(task["Status"] == "RUNNING" for task in yard.tasks()):
        time.sleep(0.005)
    assert yard.dead.bodies() == ["new"]


def test_a_task_is_known_after_a_restart_in_another_region(services: Services, new_name: NewName) -> None:
    service = services("sqlite")
    yard = Graveyard(service, QueueMaker(service.client(), new_name))
    yard.dead.send_all(*map(str, range(10)))
    destination = yard.source.arn
    yard.start(DestinationArn=destination, MaxNumberOfMessagesPerSecond=1)
    service.restart(region="eu-central-1")
    yard.sqs = sqs = service.client()
    yard.dead = SqsQueue(sqs, yard.dead.url)
    assert ":eu-central-1:" in yard.dead.arn
    with refused("InvalidParameterValue"):
        yard.start(DestinationArn=destination)
    [task] = yard.tasks(MaxResults=10)
    sqs.cancel_message_move_task(TaskHandle=task["TaskHandle"])
    assert yard.finished()["Status"] == "CANCELLED"


def test_a_task_goes_on_after_a_restart(services: Services, new_name: NewName) -> None:
    service = services("sqlite")
    yard = Graveyard(service, QueueMaker(service.client(), new_name))
    bodies = [str(number) for number in range(30)]
    yard.dead.send_all(*bodies)
    yard.start(DestinationArn=yard.source.arn, MaxNumberOfMessagesPerSecond=20)
    while not yard.tasks()[0]["ApproximateNumberOfMessagesMoved"]:
        time.sleep(0.005)
    service.restart()
    sqs = service.client()
    yard.sqs = sqs
    yard.dead, yard.source = SqsQueue(sqs, yard.dead.url), SqsQueue(sqs, yard.source.url)
    task = yard.finished()
    assert (task["Status"], task["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 30)
    assert task["ApproximateNumberOfMessagesToMove"] == 30
    got = [body for _ in range(3) for body in yard.source.bodies()]
    assert sorted(got) == sorted(bodies)
    assert yard.dead.counts() == (0, 0, 0)
