"""SIGTERM: whatever clients are doing, what was acknowledged is kept, and the service ends with 0 within 5 seconds."""

import os
import signal
import threading
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.support.longpoll import LongPoll
from tests.support.process import Process
from tests.support.raw import Web, Wire, json_request
from tests.support.server import COMMAND, Server, ServerFactory

# It promises five seconds, on a machine that has time for it. Whatever it would wait for here takes longer than this.
STOPS_WITHIN_S = 15
SENDERS = 8


class Sender(threading.Thread):
    """Sends on one connection until it is closed; knows what was acknowledged."""

    def __init__(self, port: int, url: str, number: int) -> None:
        super().__init__(daemon=True)
        self._web = Web(port)
        self._url = url
        self._number = number
        self.acknowledged: list[str] = []
        self.statuses: set[int] = set()
        self.busy = threading.Event()

    def run(self) -> None:
        try:
            self._send_all()
        except (OSError, HTTPException):
            """The service has hung up."""
        finally:
            self._web.close()

    def _send_all(self) -> None:
        for count in range(1_000_000):
            body = f"{self._number}-{count}"
            reply = self._web.call("SendMessage", {"QueueUrl": self._url, "MessageBody": body})
            self.statuses.add(reply.status)
            self.acknowledged.append(body)
            if count == 10:
                self.busy.set()


def drain(server: Server, url: str) -> set[str]:
    web, found = Web(server.port), set()
    while messages := web.call("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10}).json.get("Messages"):
        found |= {message["Body"] for message in messages}
    web.close()
    return found


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_under_load_with_long_polls_and_unfinished_requests(
    server: ServerFactory, store: str, new_name: Callable[..., str]
) -> None:
    own = server(store=store)
    web = Web(own.port)
    url, empty = web.create(new_name()), web.create(new_name())
    senders = [Sender(own.port, url, number) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    polls = [LongPoll(own.port, empty) for _ in range(20)]
    halves = [Wire(own.port) for _ in range(10)]
    request = json_request("SendMessage", {"QueueUrl": url, "MessageBody": "half"})
    for at, half in enumerate(halves):
        half.send(request[: 1 + at * len(request) // len(halves)])
    for sender in senders:
        assert sender.busy.wait(30)
    assert own.process.stop(STOPS_WITHIN_S) == 0
    assert own.process.err.read_text() == ""
    # Who waited was told that there is nothing, in good order.
    assert [poll.bodies() for poll in polls] == [[]] * len(polls)
    assert all(half.is_closed() for half in halves)
    for half in halves:
        half.close()
    for sender in senders:
        sender.join(10)
        assert sender.statuses == {200}
    web.close()
    if store == "sqlite":
        own.start()
        acknowledged = {body for sender in senders for body in sender.acknowledged}
        found = drain(own, url)
        assert acknowledged <= found
        assert "half" not in found
        # What was on its way when the service ended may be there as well, one for each sender at most.
        assert len(found) <= len(acknowledged) + SENDERS


def test_with_clients_that_do_not_read_their_answers(server: ServerFactory, new_name: Callable[..., str]) -> None:
    own = server()
    web = Web(own.port)
    url = web.create(new_name())
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x" * 200_000}).status == 200
    peek = json_request("Rockdove.Peek", {"QueueUrl": url})
    deaf = [Wire(own.port) for _ in range(5)]
    for wire in deaf:
        for _ in range(16):
            wire.send(peek)
    assert web.request("GET", "/health").status == 200
    assert own.process.stop(STOPS_WITHIN_S) == 0
    web.close()
    for wire in deaf:
        wire.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_in_the_first_moments(tmp_path: Path, number: signal.Signals) -> None:
    """As soon as there is a handler, which is long before anything is served."""
    command = [*COMMAND, "serve", "--port", "0", "--data", str(tmp_path / "data")]
    with Process(command, tmp_path, "serve") as own:
        own.wait_for(lambda: _heeds(own.pid, signal.SIGTERM), "handler", 20)
        os.kill(own.pid, number)
        own.wait_for(lambda: own.exit_code is not None, "end", STOPS_WITHIN_S)
        assert own.exit_code == 0
        assert own.err.read_text() == ""


def _heeds(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler of its own for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_two_signals_are_one(server: ServerFactory) -> None:
    own = server()
    web = Web(own.port)
    poll = LongPoll(own.port, web.create("q"))
    os.kill(own.process.pid, signal.SIGTERM)
    assert own.process.stop(STOPS_WITHIN_S) == 0
    assert poll.bodies() == []
    web.close()
