"""Long polling: who waits is woken by whatever makes a message visible, and by nothing else."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.patience import wait_until
from tests.support.server import FRONT_ENDS
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

# Who waits here waits for 20 s. What comes before that was brought by its cause, however slow the machine is.
_PROMPT_S = 15

Wait = Callable[..., LongPoll]


@pytest.fixture
def wait(live: RunningService) -> Iterator[Wait]:
    """Begin a receive, and go on when it waits."""
    begun: list[LongPoll] = []

    def begin(queue: SqsQueue, **options: Any) -> LongPoll:
        begun.append(LongPoll(live.port, queue.url, **options))
        return begun[-1]

    yield begin
    for waiter in begun:
        waiter.wire.close()


@pytest.fixture
def queue(make_live: QueueMaker) -> SqsQueue:
    return make_live()


@pytest.fixture
def fifo(make_live: QueueMaker) -> SqsQueue:
    return make_live.fifo()


def _brings(waiter: LongPoll, *bodies: str) -> None:
    """What was just done brings these to who waits."""
    cause = time.monotonic()
    assert waiter.bodies() == list(bodies)
    assert time.monotonic() - cause < _PROMPT_S


def test_a_message_that_is_there_comes_at_once(queue: SqsQueue) -> None:
    queue.send_all("1", "2")
    began = time.monotonic()
    assert queue.bodies(10, WaitTimeSeconds=20) == ["1", "2"]
    assert time.monotonic() - began < _PROMPT_S


def test_an_empty_answer_comes_when_the_time_is_over(make_live: QueueMaker, wait: Wait) -> None:
    quick, slow = make_live(ReceiveMessageWaitTimeSeconds="1"), make_live(ReceiveMessageWaitTimeSeconds="20")
    by_request = wait(make_live(), WaitTimeSeconds=1)
    by_queue = wait(quick, WaitTimeSeconds=None)
    before_queue = wait(slow, WaitTimeSeconds=1)
    at_once = wait(slow, WaitTimeSeconds=0)
    assert at_once.bodies() == []
    assert time.monotonic() - at_once.began < _PROMPT_S
    for waiter in (by_request, by_queue, before_queue):
        assert waiter.bodies() == []
        assert 0.95 < time.monotonic() - waiter.began < _PROMPT_S


def test_woken_by_a_send(queue: SqsQueue, wait: Wait) -> None:
    waiter = wait(queue)
    assert waiter.is_waiting()
    queue.send("x")
    _brings(waiter, "x")


def test_woken_by_a_batch(queue: SqsQueue, wait: Wait) -> None:
    waiter = wait(queue, MaxNumberOfMessages=10)
    queue.send_all("1", "2", "3")
    _brings(waiter, "1", "2", "3")


def test_several_are_woken_by_one_batch(queue: SqsQueue, wait: Wait) -> None:
    waiters = [wait(queue) for _ in range(3)]
    queue.send_all("1", "2", "3")
    cause = time.monotonic()
    assert sorted(body for waiter in waiters for body in waiter.bodies()) == ["1", "2", "3"]
    assert time.monotonic() - cause < _PROMPT_S


def test_the_longest_waiting_is_woken_first(live: RunningService, queue: SqsQueue, wait: Wait) -> None:
    """Of those who wait in one process: between front-ends there is no order."""
    first, second = wait(queue), wait(queue)
    queue.send("1")
    if live.store == FRONT_ENDS:
        wait_until(lambda: first.is_waiting() != second.is_waiting(), "message")
        first, second = (second, first) if first.is_waiting() else (first, second)
    _brings(first, "1")
    assert second.is_waiting()
    queue.send("2")
    _brings(second, "2")


def test_woken_when_a_moment_comes(make_live: QueueMaker, wait: Wait) -> None:
    """All of them at once, because each takes a second."""
    queues = {
        name: make_live.fifo() if "group" in name else make_live()
        for name in (
            "delay before",
            "delay meanwhile",
            "timeout before",
            "timeout meanwhile",
            "change before",
            "change meanwhile",
            "group's timeout",
        )
    }
    queues["delay before"].send("x", DelaySeconds=1)
    queues["timeout before"].send("x")
    queues["timeout before"].receive_one(VisibilityTimeout=1)
    changed = []
    for name in ("change before", "change meanwhile"):
        queues[name].send("x")
        changed.append(queues[name].receive_one())
    queues["change before"].hide(changed[0], 1)
    queues["group's timeout"].post("g", "x", "y")
    queues["group's timeout"].receive_one(VisibilityTimeout=1)
    waiters = {name: wait(queue, patient=False) for name, queue in queues.items() if name != "timeout meanwhile"}
    # One moment, three messages, three who wait for them.
    together = make_live()
    together.send_all("x", "x", "x")
    together.receive(3, VisibilityTimeout=1)
    waiters |= {f"together {number}": wait(together, patient=False) for number in range(3)}
    first, second = (wait(queues["timeout meanwhile"], VisibilityTimeout=1) for _ in range(2))
    queues["delay meanwhile"].send("x", DelaySeconds=1)
    queues["change meanwhile"].hide(changed[1], 1)
    queues["timeout meanwhile"].send("x")
    # Between front-ends there is no order of who waits.
    while first.is_waiting() and second.is_waiting():
        time.sleep(0.01)
    first, second = (second, first) if first.is_waiting() else (first, second)
    assert first.bodies() == ["x"]
    waiters["timeout meanwhile"] = second
    cause = time.monotonic()
    assert {name: waiter.bodies() for name, waiter in waiters.items()} == {name: ["x"] for name in waiters}
    assert time.monotonic() - cause < _PROMPT_S


def test_woken_by_a_change_of_visibility_to_zero(queue: SqsQueue, fifo: SqsQueue, wait: Wait) -> None:
    for one in (queue, fifo):
        one.send("x", **({"MessageGroupId": "g"} if one is fifo else {}))
        message = one.receive_one()
        waiter = wait(one)
        one.hide(message, 0)
        _brings(waiter, "x")


def test_woken_by_a_delete_that_frees_a_group(fifo: SqsQueue, wait: Wait) -> None:
    fifo.post("g", "1", "2")
    message = fifo.receive_one()
    waiter = wait(fifo)
    fifo.delete(message)
    _brings(waiter, "2")


def test_woken_by_a_batch_of_deletes_that_frees_groups(fifo: SqsQueue, wait: Wait) -> None:
    for group in ("g", "h"):
        fifo.post(group, f"{group} 1", f"{group} 2", f"{group} 3")
    entries = [
        {"Id": f"{turn}-{at}", "ReceiptHandle": one["ReceiptHandle"]}
        for turn in range(2)
        for at, one in enumerate(fifo.receive(2))
    ]
    waiters = [wait(fifo) for _ in range(2)]
    fifo.sqs.delete_message_batch(QueueUrl=fifo.url, Entries=entries)
    cause = time.monotonic()
    assert sorted(body for waiter in waiters for body in waiter.bodies()) == ["g 3", "h 3"]
    assert time.monotonic() - cause < _PROMPT_S


def test_a_send_to_a_blocked_group_wakes_nobody(fifo: SqsQueue, wait: Wait) -> None:
    fifo.post("g", "1")
    message = fifo.receive_one()
    waiter = wait(fifo)
    fifo.post("g", "2")
    time.sleep(0.1)
    assert waiter.is_waiting()
    fifo.delete(message)
    _brings(waiter, "2")


def test_woken_by_a_new_delay_of_a_fifo_queue(make_live: QueueMaker, wait: Wait) -> None:
    fifo = make_live.fifo(DelaySeconds="900")
    fifo.post("g", "x")
    waiter = wait(fifo)
    fifo.set(DelaySeconds="0")
    _brings(waiter, "x")


def test_woken_by_a_dead_letter(make_live: QueueMaker, wait: Wait) -> None:
    dead, queue = make_live(), make_live(VisibilityTimeout="0")
    queue.redrive_to(dead, 1)
    queue.send("x")
    queue.receive_one()
    waiter = wait(dead)
    assert queue.receive() == []
    _brings(waiter, "x")


def test_woken_by_a_move_task(make_live: QueueMaker, wait: Wait) -> None:
    dead, queue = make_live(), make_live()
    queue.redrive_to(dead, 1)
    dead.send("x")
    waiter = wait(queue)
    queue.sqs.start_message_move_task(SourceArn=dead.arn, DestinationArn=queue.arn)
    _brings(waiter, "x")


def test_one_who_waits_hears_of_every_physical_queue(make_live: QueueMaker, wait: Wait) -> None:
    queue = make_live(RockdovePhysicalQueues="4")
    for number in range(6):
        waiter = wait(queue)
        queue.send(str(number))
        _brings(waiter, str(number))


def test_every_message_goes_to_one_of_many_who_wait(queue: SqsQueue, wait: Wait) -> None:
    waiters = [wait(queue, patient=False) for _ in range(40)]
    for number in range(40):
        queue.send(str(number))
    got = [body for waiter in waiters for body in waiter.bodies()]
    assert sorted(got) == sorted(map(str, range(40)))


def test_a_purge_does_not_deafen_who_waits(queue: SqsQueue, wait: Wait) -> None:
    waiter = wait(queue)
    queue.sqs.purge_queue(QueueUrl=queue.url)
    queue.send("after the purge")
    _brings(waiter, "after the purge")


def test_who_waits_at_a_queue_that_is_deleted_is_told(queue: SqsQueue, wait: Wait) -> None:
    waiter: Any = wait(queue)
    queue.sqs.delete_queue(QueueUrl=queue.url)
    cause = time.monotonic()
    reply = waiter.reply()
    assert reply.status == 400
    assert reply.json["__type"] == "com.amazonaws.sqs#QueueDoesNotExist"
    assert time.monotonic() - cause < _PROMPT_S
