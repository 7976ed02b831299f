"""A client that goes away while it waits never swallows a message."""

import socket
import struct
import time
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.patience import wait_until
from tests.support.raw import Wire, json_request
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue


def _wait(service: RunningService, queue: SqsQueue, patient: bool = True) -> Wire:
    """A long poll on a connection of its own."""
    return LongPoll(service.port, queue.url, patient=patient, MaxNumberOfMessages=10).wire


def _reset(wire: Wire) -> None:
    """Go without a farewell, as a process that is killed does."""
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def _untouched(queue: SqsQueue, body: str) -> None:
    """It is there, long before a visibility timeout could end, and was never received before."""
    message = queue.receive_one(MessageSystemAttributeNames=["ApproximateReceiveCount"], WaitTimeSeconds=20)
    assert message["Body"] == body
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


@pytest.mark.parametrize("leave", [Wire.close, _reset], ids=["farewell", "reset"])
def test_a_message_sent_after_the_client_left(live: RunningService, make_live: QueueMaker, leave: Any) -> None:
    for queue in (make_live(), make_live.fifo()):
        wire = _wait(live, queue)
        leave(wire)
        queue.send("x", **({"MessageGroupId": "g"} if queue.name.endswith("fifo") else {}))
        _untouched(queue, "x")


@pytest.mark.parametrize("leave", [Wire.close, _reset], ids=["farewell", "reset"])
def test_a_message_sent_while_the_client_leaves(live: RunningService, make_live: QueueMaker, leave: Any) -> None:
    """The farewell and the message race; whoever wins, the message must not wait for its visibility timeout."""
    queue = make_live()
    for number in range(20):
        wire = _wait(live, queue, patient=False)
        time.sleep(0.005)
        leave(wire)
        queue.send(str(number))
        _untouched(queue, str(number))


def _sender(service: RunningService) -> Wire:
    """A connection that the service knows already, so that what comes on it is read at once."""
    wire = Wire(service.port)
    wire.send(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
    assert wire.read().status == 200
    return wire


@pytest.mark.parametrize("leave", [Wire.close, _reset], ids=["farewell", "reset"])
def test_a_farewell_that_is_not_read_yet(live: RunningService, make_live: QueueMaker, leave: Any) -> None:
    """The message wakes who waits, but he has hung up a moment ago."""
    queue = make_live()
    for body in ("1", "2", "3"):
        wire, sender = _wait(live, queue), _sender(live)
        with live.frozen():
            sender.send(json_request("SendMessage", {"QueueUrl": queue.url, "MessageBody": body}))
            leave(wire)
        assert sender.read().status == 200
        sender.close()
        _untouched(queue, body)


@pytest.mark.parametrize("leave", [Wire.close, _reset], ids=["farewell", "reset"])
def test_clients_that_leave_before_their_turn_comes(
    live: RunningService, make_live: QueueMaker, leave: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is fetched for them, although they did not wait for messages."""
    queue = make_live()
    queue.send("x")
    lines = [service.broker.context.claims for service in live.services]
    monkeypatch.setattr("rockdove.store.common.turns.MOST_CLAIMS", 0)
    wires = [Wire(live.port) for _ in range(20)]
    for wire in wires:
        wire.send(json_request("ReceiveMessage", {"QueueUrl": queue.url}))
    wait_until(lambda: sum(line.waiting for line in lines) == 20, "all to be in line")
    open_before = sum(len(service.connections) for service in live.services)
    for wire in wires:
        leave(wire)
    wait_until(lambda: sum(len(service.connections) for service in live.services) <= open_before - 20, "all to be gone")
    monkeypatch.undo()

    async def go_on() -> None:
        for line in lines:
            line.go_on()

    live.run(go_on())
    assert not any(line.waiting for line in lines)
    _untouched(queue, "x")


def test_a_client_that_leaves_while_its_message_is_fetched(live: RunningService, make_live: QueueMaker) -> None:
    """Wherever the service is in its work: who had nothing when he left has taken nothing with him."""
    queue, sender = make_live(), _sender(live)
    for number in range(25):
        poll = LongPoll(live.port, queue.url, patient=False)
        time.sleep(0.003)
        sender.send(json_request("SendMessage", {"QueueUrl": queue.url, "MessageBody": str(number)}))
        time.sleep(number * 0.00005)
        with live.frozen():
            time.sleep(0.003)
            has_nothing = poll.is_waiting()
            poll.wire.close()
        assert sender.read().status == 200
        if has_nothing:
            _untouched(queue, str(number))
    sender.close()


def test_a_farewell_makes_room_for_the_next(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    leaves, stays, sender = _wait(live, queue), _wait(live, queue), _sender(live)
    with live.frozen():
        sender.send(json_request("SendMessage", {"QueueUrl": queue.url, "MessageBody": "x"}))
        leaves.close()
    began = time.monotonic()
    assert [message["Body"] for message in stays.read().json["Messages"]] == ["x"]
    assert time.monotonic() - began < 15, "not woken, but out of time"
    assert sender.read().status == 200
    for wire in (stays, sender):
        wire.close()


def test_many_leave_at_once_and_one_stays(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    wires = [_wait(live, queue, patient=False) for _ in range(50)]
    stays = _wait(live, queue)
    for wire in wires:
        wire.close()
    queue.send_all(*map(str, range(10)))
    reply = stays.read()
    assert [message["Body"] for message in reply.json["Messages"]] == [str(number) for number in range(10)]
    stays.close()


def test_all_leave_and_every_message_is_there(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    wires = [_wait(live, queue, patient=number == 49) for number in range(50)]
    for wire in wires:
        wire.close()
    queue.send_all(*map(str, range(30)))
    got = [body for _ in range(3) for body in queue.bodies()]
    assert sorted(got) == sorted(map(str, range(30)))


def test_a_client_that_leaves_in_the_moment_in_which_a_delay_ends(live: RunningService, make_live: QueueMaker) -> None:
    """The alarm rings before the farewell is read."""
    queue = make_live()
    queue.send("x", DelaySeconds=1)
    wire = _wait(live, queue)
    with live.frozen():
        time.sleep(1)
        wire.close()
    _untouched(queue, "x")


def test_a_dead_letter_is_not_made_by_clients_that_left(live: RunningService, make_live: QueueMaker) -> None:
    dead, queue = make_live(), make_live()
    queue.redrive_to(dead, 1)
    for _ in range(3):
        _wait(live, queue).close()
    queue.send("x")
    _untouched(queue, "x")
    assert dead.counts() == (0, 0, 0)


def test_half_a_request_takes_nothing(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    wire = Wire(live.port)
    wire.send(json_request("ReceiveMessage", {"QueueUrl": queue.url, "WaitTimeSeconds": 20})[:-5])
    time.sleep(0.05)
    wire.close()
    queue.send("x")
    _untouched(queue, "x")


def test_a_request_behind_one_that_waits_is_dropped_with_it(live: RunningService, make_live: QueueMaker) -> None:
    empty, full = make_live(), make_live()
    full.send("x")
    wire = _wait(live, empty)
    wire.send(json_request("ReceiveMessage", {"QueueUrl": full.url}))
    time.sleep(0.05)
    wire.close()
    time.sleep(0.05)
    _untouched(full, "x")
