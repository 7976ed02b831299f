"""Traces under faults: the service goes on, every file that shows can be read, and what is missing is counted."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.family import children
from tests.support.metrics import Scrape
from tests.support.mount import fill, small_disk
from tests.support.raw import Web
from tests.support.server import Server
from tests.support.trail import files, incomplete, rows

PATIENCE_S = 60
# It promises five seconds, on a machine that has time for it. Whatever it would wait for here takes longer than this.
STOPS_WITHIN_S = 15
DISK_BYTES = 1_000_000


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path, "--trace", str(tmp_path / "trace"), store="memory")
    try:
        yield server
    finally:
        if server.process.exit_code is None:
            server.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def dropped(server: Server) -> int:
    web = Web(server.port)
    try:
        return int(Scrape(web.get("/metrics").body.decode())("rockdove_trace_dropped_total") or 0)
    finally:
        web.close()


class Traffic:
    """Sends, receives and deletes until told to stop; counts the sends that were acknowledged."""

    def __init__(self, server: Server) -> None:
        self.sqs: Any = server.client()
        self.url = self.sqs.create_queue(QueueName="jobs")["QueueUrl"]
        self.sent: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
            except (BotoCoreError, ClientError):
                # The service was killed.
                return

    def step(self) -> None:
        self.sent.add(self.sqs.send_message(QueueUrl=self.url, MessageBody="x" * 100)["MessageId"])
        for message in self.sqs.receive_message(QueueUrl=self.url).get("Messages", []):
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self.sqs.close()


def test_a_service_that_is_killed_leaves_files_that_can_be_read(traced: Server, tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    traffic = Traffic(traced)
    wait_for(lambda: len(traffic.sent) >= 300 and incomplete(folder) != [])
    time.sleep(1)
    traced.kill()
    traffic.end()
    # The process that writes sees that nobody is left, and completes its file.
    wait_for(lambda: files(folder) != [] and incomplete(folder) == [])
    found = {row["message_id"] for row in rows(folder) if row["op"] == "send"}
    assert len(found) >= 300
    # One that was stored and recorded, and whose answer was on its way.
    assert len(found - traffic.sent) <= 1


def test_all_is_there_after_a_stop(traced: Server, tmp_path: Path) -> None:
    traffic = Traffic(traced)
    wait_for(lambda: len(traffic.sent) >= 100)
    traffic.end()
    assert dropped(traced) == 0
    assert traced.stop() == 0
    # Whatever is missing, the log says why.
    assert traced.process.err.read_text() == ""
    found = [row["message_id"] for row in rows(tmp_path / "trace") if row["op"] == "send"]
    assert (sorted(found), incomplete(tmp_path / "trace")) == (sorted(traffic.sent), [])


def test_a_folder_that_goes_away_comes_back(traced: Server, tmp_path: Path) -> None:
    folder = tmp_path / "trace"
    traffic = Traffic(traced)
    wait_for(lambda: incomplete(folder) != [])
    shutil.rmtree(folder)
    wait_for(lambda: dropped(traced) > 0)
    before = len(traffic.sent)
    wait_for(lambda: len(traffic.sent) > before and files(folder) != [])
    traffic.end()
    assert traced.stop() == 0
    assert rows(folder) != []
    log = traced.process.err.read_text()
    assert log.count("events are missing from the trace") == 1
    assert "No such file or directory" in log


def test_a_full_disk_costs_events_and_no_request(tmp_path: Path) -> None:
    with small_disk(tmp_path / "trace", DISK_BYTES):
        server = Server(tmp_path, "--trace", str(tmp_path / "trace"), store="memory")
        try:
            traffic = Traffic(server)
            wait_for(lambda: incomplete(tmp_path / "trace") != [])
            fill(tmp_path / "trace")
            wait_for(lambda: dropped(server) > 0)
            before = len(traffic.sent)
            wait_for(lambda: len(traffic.sent) > before + 10)
            for path in (tmp_path / "trace").iterdir():
                if path.is_file():
                    path.unlink()
            wait_for(lambda: files(tmp_path / "trace") != [])
            traffic.end()
            assert server.stop() == 0
        finally:
            if server.process.exit_code is None:
                server.kill()
        assert rows(tmp_path / "trace") != []
        assert "No space left on device" in server.process.err.read_text()


def _is_writer(pid: int) -> bool:
    return b"rockdove.trace.child" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_process_that_hangs_does_not_hold_up_the_stop(traced: Server, tmp_path: Path) -> None:
    """As one does that waits for a disk. What it had is lost, and the log says so."""
    traffic = Traffic(traced)
    wait_for(lambda: len(traffic.sent) >= 10)
    members = [traced.process.pid, *children(traced.process.pid)]
    writers = [pid for member in members for pid in children(member) if _is_writer(pid)]
    assert writers
    for writer in writers:
        os.kill(writer, signal.SIGSTOP)
    before = len(traffic.sent)
    wait_for(lambda: len(traffic.sent) > before + 10)
    traffic.end()
    assert traced.process.stop(STOPS_WITHIN_S) == 0
    assert not any(Path(f"/proc/{writer}").exists() for writer in writers)
    assert "took too long at the end" in traced.process.err.read_text()
