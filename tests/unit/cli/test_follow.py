"""``rockdove receive --follow`` as a process of its own: restarts, signals, pipes."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from rockdove.client import Client, Outgoing
from tests.support.longpoll import LongPoll
from tests.support.process import Process
from tests.support.server import COMMAND, Server, ServerFactory
from tests.unit.cli.outcome import buffered

DEADLINE_S = 15


def command(server: Server, queue: str, *flags: str) -> Sequence[str]:
    return [*COMMAND, "receive", queue, "--follow", "--endpoint", server.endpoint, *flags]


def states(client: Client, queue: str) -> dict[str, str]:
    return {message.body: message.state for message in client.peek(queue, limit=100)}


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def follow(shared: Server, queue: str, tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts a follower of `queue` with its output in a file."""
    started: list[Process] = []

    def start(*flags: str) -> Process:
        started.append(Process(command(shared, queue, *flags), tmp_path, f"follow-{len(started)}"))
        return started[-1]

    yield start
    for process in started:
        if process.exit_code is None:
            process.kill()


@contextmanager
def piped(server: Server, queue: str) -> Iterator[subprocess.Popen[bytes]]:
    """A follower whose output is a pipe."""
    with subprocess.Popen(
        command(server, queue), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered()
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def printed(process: Process, lines: Sequence[str]) -> None:
    """Waits until exactly these lines are printed."""
    text = "".join(f"{line}\n" for line in lines)
    process.wait_for(lambda: process.out.read_text() == text, f"the lines {lines}", DEADLINE_S)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_messages_are_printed_as_they_come_and_deleted(
    client: Client, queue: str, follow: Callable[..., Process], number: signal.Signals
) -> None:
    client.send_batch(queue, ["there", "before"])
    process = follow()
    printed(process, ["there", "before"])
    client.send(queue, "later")
    printed(process, ["there", "before", "later"])
    wait_until(lambda: states(client, queue) == {}, "all deleted")
    os.kill(process.pid, number)
    wait_until(lambda: process.exit_code is not None, "the end")
    assert (process.exit_code, process.err.read_text()) == (0, "")
    # Its long poll has ended with it: the next message is for somebody else.
    client.send(queue, "for others")
    assert [message.body for message in client.receive(queue, wait_s=5)] == ["for others"]


def test_json_lines_up_to_a_number(client: Client, queue: str, follow: Callable[..., Process]) -> None:
    client.send_batch(queue, [Outgoing(body=f"{number}\n", attributes={"n": number}) for number in range(15)])
    process = follow("--json", "--max", "12")
    wait_until(lambda: process.exit_code is not None, "the end")
    records = [json.loads(line) for line in process.out.read_text().splitlines()]
    assert [record["Body"] for record in records] == [f"{number}\n" for number in range(12)]
    assert records[3]["MessageAttributes"] == {"n": {"DataType": "Number", "StringValue": "3"}}
    assert states(client, queue) == {f"{number}\n": "visible" for number in (12, 13, 14)}


def test_keep_prints_again_when_the_time_is_up(client: Client, queue: str, follow: Callable[..., Process]) -> None:
    client.send(queue, "stays")
    process = follow("--keep", "--visibility", "1", "--max", "2")
    wait_until(lambda: process.exit_code is not None, "the end")
    assert process.out.read_text() == "stays\nstays\n"
    assert list(states(client, queue)) == ["stays"]


def test_a_reader_that_has_seen_enough_loses_nothing(shared: Server, client: Client, queue: str) -> None:
    bodies = [str(number) for number in range(20)]
    client.send_batch(queue, bodies)
    pipeline = f"set -o pipefail; {' '.join(command(shared, queue))} | head -n 1"
    done = subprocess.run(["bash", "-c", pipeline], capture_output=True, env=buffered(), text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert states(client, queue) == dict.fromkeys(bodies[1:], "visible")


def test_what_nobody_has_read_is_not_deleted(shared: Server, client: Client, queue: str) -> None:
    client.send_batch(queue, ["a", "b"])
    with piped(shared, queue) as child:
        wait_until(lambda: states(client, queue)["a"] == "in-flight", "the first received")
        # It is in the pipe, and nobody reads.
        time.sleep(0.3)
        assert states(client, queue) == {"a": "in-flight", "b": "visible"}
        child.send_signal(signal.SIGINT)
        assert child.wait(DEADLINE_S) == 0
    assert states(client, queue) == {"a": "visible", "b": "visible"}


def test_a_reader_that_goes_while_nothing_comes_ends_it(shared: Server, queue: str) -> None:
    with piped(shared, queue) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        # Long enough for it to wait for a message.
        time.sleep(1.5)
        assert child.poll() is None
        child.stdout.close()
        assert child.wait(DEADLINE_S) == 0
        assert child.stderr.read() == b""


def test_a_quick_reader_gets_everything_once_and_in_order(shared: Server, client: Client, queue: str) -> None:
    bodies = [str(number) for number in range(300)]
    client.send_batch(queue, bodies)
    done = subprocess.run(
        command(shared, queue, "--max", "300"), stdout=subprocess.PIPE, env=buffered(), text=True, timeout=30
    )
    assert (done.returncode, done.stdout.split()) == (0, bodies)
    assert states(client, queue) == {}


@pytest.mark.parametrize("end", [Server.stop, Server.kill])
def test_a_restart_of_the_service_is_survived(
    server: ServerFactory, tmp_path: Path, end: Callable[[Server], object]
) -> None:
    own = server()
    with Client(own.endpoint) as client, Process(command(own, "q"), tmp_path, "early") as early:
        # A queue that is not there is no reason to wait.
        wait_until(lambda: early.exit_code is not None, "the end")
        assert early.exit_code == 3
        client.create_queue("q")
        with Process(command(own, "q"), tmp_path, "follow") as process:
            client.send("q", "before")
            printed(process, ["before"])
            end(own)
            process.wait_for(lambda: "waiting for it" in process.err.read_text(), "a note", DEADLINE_S)
            own.start()
            client.send("q", "after")
            printed(process, ["before", "after"])
            wait_until(lambda: states(client, "q") == {}, "all deleted")
            assert process.err.read_text().splitlines() == [
                f"rockdove: {own.endpoint} does not answer; waiting for it to come back",
                f"rockdove: {own.endpoint} is back",
            ]
            client.delete_queue("q")
            wait_until(lambda: process.exit_code is not None, "the end")
            assert process.exit_code == 3
    own.stop()


def test_a_service_that_goes_before_the_delete_is_waited_for(server: ServerFactory) -> None:
    own = server()
    with Client(own.endpoint) as client:
        client.create_queue("q")
        client.send("q", "a")
        with piped(own, "q") as child:
            assert child.stdout is not None
            assert child.stderr is not None
            wait_until(lambda: states(client, "q")["a"] == "in-flight", "received")
            own.kill()
            # Only now it is read, and so it is to be deleted.
            assert child.stdout.readline() == b"a\n"
            assert b"waiting for it" in child.stderr.readline()
            own.start()
            assert child.stderr.readline().endswith(b"is back\n")
            wait_until(lambda: states(client, "q") == {}, "deleted")
    own.stop()


def test_a_service_that_is_too_busy_is_waited_for(server: ServerFactory) -> None:
    own = server("--max-long-polls", "1")
    with Client(own.endpoint) as client:
        url = client.create_queue("q")
        other = LongPoll(own.port, url)
        with piped(own, "q") as child:
            assert child.stdout is not None
            assert child.stderr is not None
            assert child.stderr.readline().endswith(b"is too busy; waiting for it to come back\n")
            other.wire.close()
            client.send("q", "a")
            assert child.stdout.readline() == b"a\n"
    own.stop()


def test_what_a_full_disk_did_not_take_is_given_back(shared: Server, client: Client, queue: str) -> None:
    client.send_batch(queue, ["a", "b"])
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(command(shared, queue), stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE_S)
    assert (ended.returncode, ended.stderr) == (1, b"rockdove: cannot write the output: No space left on device\n")
    assert states(client, queue) == {"a": "visible", "b": "visible"}
