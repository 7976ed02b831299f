"""A workload whose service dies, or that somebody ends: it goes on, or says clearly why it does not."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.process import Process
from tests.support.server import COMMAND, Server, ServerFactory

# Long enough for somebody to come between, short enough to end.
LOAD = ("--queues", "2", "--senders", "2", "--receivers", "2", "--messages", "60", "--size", "100", "--visibility", "2")
SLOW = ("--at-once", "--send-delay", "0.05", "--receive-delay", "0.1")


@pytest.fixture
def own(server: ServerFactory) -> Iterator[Server]:
    """A server that may be killed."""
    found = server()
    yield found
    if found.process.exit_code is None:
        found.kill()


def start(folder: Path, server: Server, *words: str) -> Process:
    command = [*COMMAND, "bench", "bdqs", "--endpoint", server.endpoint, "--json", *LOAD, *SLOW, *words]
    process = Process(command, folder, "bench", group=True)
    process.wait_for(lambda: depth(server) > 0, "messages that have been sent", 30)
    return process


def depth(server: Server) -> int:
    """How many messages the bench has sent so far, by the service's count of them."""
    client = server.client()
    try:
        urls = client.list_queues(QueueNamePrefix="bench-").get("QueueUrls", [])
        return sum(
            int(client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"][name])
            for url in urls
            for name in ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        )
    finally:
        client.close()


def ended(process: Process, timeout_s: float = 60) -> int:
    process.wait_for(lambda: process.exit_code is not None, "end", timeout_s)
    assert process.exit_code is not None
    return process.exit_code


def test_it_goes_on_when_the_service_is_back(own: Server, tmp_path: Path) -> None:
    with start(tmp_path, own, "--processes", "2", "--patience", "20") as process:
        own.kill()
        own.start()
        assert ended(process) == 0, process.output()
        row = json.loads(process.out.read_text())["rows"][0]
    assert (row["sent"], row["lost"], row["corrupt"]) == (240, 0, 0)
    assert row["failures"] > 0


def test_it_gives_up_on_a_service_that_stays_away(own: Server, tmp_path: Path) -> None:
    with start(tmp_path, own, "--patience", "0.5") as process:
        own.kill()
        assert ended(process) == 4
        assert process.out.read_text() == ""
        left, reason = process.err.read_text().splitlines()
    assert left.startswith(f"left at {own.endpoint}, where they could not be removed: bench-")
    assert reason.startswith(f"rockdove: cannot reach {own.endpoint}: ")


def press_ctrl_c(pid: int) -> None:
    """What a terminal does."""
    os.killpg(pid, signal.SIGINT)


def time_out(pid: int) -> None:
    """What `timeout -s INT` does."""
    os.kill(pid, signal.SIGINT)
    os.killpg(pid, signal.SIGINT)


def terminate(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize("end", [press_ctrl_c, time_out, terminate])
def test_who_ends_it_gets_what_was_measured(own: Server, tmp_path: Path, end: Callable[[int], None]) -> None:
    with start(tmp_path, own, "--processes", "2") as process:
        end(process.pid)
        assert ended(process) == 130, process.output()
        document = json.loads(process.out.read_text())
    assert document["interrupted"] is True
    [row] = document["rows"]
    assert 0 < row["sent"] < 240
    assert row["lost"] is None
    assert "no message is lost" not in document["holds"]
    client = own.client()
    assert client.list_queues(QueueNamePrefix="bench-").get("QueueUrls", []) == []
    client.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_drain_can_be_ended_too(own: Server, tmp_path: Path, number: signal.Signals) -> None:
    # Nearly every receive is forgotten, and nothing comes back before the drain.
    words = ("--crash", "0.9", "--visibility", "60", "--messages", "5", "--receive-delay", "0")
    with start(tmp_path, own, *words) as process:
        process.wait_for(lambda: not workers(process), "the drain", 30)
        os.kill(process.pid, number)
        assert ended(process, 20) == 130
        [row] = json.loads(process.out.read_text())["rows"]
    assert (row["sent"], row["lost"]) == (20, None)
    assert depth(own) == 0


def test_its_processes_end_with_it(own: Server, tmp_path: Path) -> None:
    with start(tmp_path, own, "--processes", "2", "--prefix", "bench-orphan") as process:
        children = workers(process)
        assert len(children) == 2
        process.kill()
    watch = Process(["sleep", "30"], tmp_path, "watch")
    with watch:
        watch.wait_for(lambda: not any(is_running(child) for child in children), "end of all processes", 20)


def workers(process: Process) -> list[int]:
    """The processes that send and receive for it."""
    children = [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    return [child for child in children if b"spawn_main" in command_line(child)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
