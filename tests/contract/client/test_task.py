"""Message move tasks, through both clients."""

import json
import time
from collections.abc import Callable

import pytest

from rockdove.client import Client
from rockdove.core.errors import Fault, ResourceNotFound
from rockdove.wire.shape import ListMessageMoveTasksResultEntry as MoveTask

DEADLINE_S = 15


@pytest.fixture
def dead(client: Client, queue: str, new_name: Callable[..., str]) -> str:
    """A dead-letter queue with messages that never were anywhere else."""
    arn = client.attributes(queue, ["QueueArn"])["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    client.create_queue(new_name(), attributes={"RedrivePolicy": policy})
    client.send_batch(queue, map(str, range(30)))
    return queue


def finished(client: Client, source: str) -> MoveTask:
    deadline = time.monotonic() + DEADLINE_S
    while (task := client.move_tasks(source)[0]).status in ("RUNNING", "CANCELLING"):
        assert time.monotonic() < deadline, task
        time.sleep(0.05)
    return task


def test_messages_move_to_a_queue_given_by_name(client: Client, dead: str, new_name: Callable[..., str]) -> None:
    target = new_name()
    client.create_queue(target)
    assert client.start_move(dead, target)
    task = finished(client, dead)
    assert (task.status, task.approximate_number_of_messages_moved) == ("COMPLETED", 30)
    assert client.peek(dead) == []
    assert len(client.peek(target, limit=100)) == 30


def test_a_task_is_stopped(client: Client, dead: str, new_name: Callable[..., str]) -> None:
    target = client.create_queue(new_name())
    handle = client.start_move(dead, target, rate=1)
    with pytest.raises(Fault, match="already a task running"):
        client.start_move(dead, target)
    assert client.move_tasks(dead, limit=10)[0].task_handle == handle
    assert client.cancel_move(handle) < 30
    assert finished(client, dead).status == "CANCELLED"


def test_queues_can_be_given_by_arn(client: Client, dead: str) -> None:
    arn = client.attributes(dead, ["QueueArn"])["QueueArn"]
    assert client.move_tasks(arn) == []
    with pytest.raises(ResourceNotFound):
        client.move_tasks(arn + "-not")
