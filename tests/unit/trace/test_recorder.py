"""The recorder with its process: nothing lost when all goes well, everything counted when it does not."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rockdove.trace import Recorder, TraceFolderError
from tests.support.trail import event, files, incomplete, numbers, rows

PATIENCE_S = 60
NOW_US = 1_700_000_000_000_000


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def child_of(recorder: Recorder) -> int:
    process = recorder._process
    assert process is not None
    return process.pid


def test_events_of_many_threads_are_all_there(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "deep" / "trace", "driver-1", "client")
    recorder.start()
    assert (tmp_path / "deep" / "trace").stat().st_mode & 0o777 == 0o700

    def produce(first: int) -> None:
        for number in range(first, first + 5_000):
            recorder.add(event(number, NOW_US, sender="s", seq=number, checksum_ok=True))

    threads = [threading.Thread(target=produce, args=(first,)) for first in range(0, 20_000, 5_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "deep" / "trace").rglob("*")}
    assert modes == {0o700, 0o600}, "for the owner only, folders and files"
    assert numbers(tmp_path / "deep" / "trace") == list(range(20_000))
    assert (recorder.written, recorder.dropped) == (20_000, 0)
    row = rows(tmp_path / "deep" / "trace")[0]
    assert (row["node"], row["side"], row["sender"], row["checksum_ok"]) == ("driver-1", "client", "s", True)


def test_nothing_that_takes_long_is_left_for_the_end(tmp_path: Path) -> None:
    """Loading takes a large part of a second, or many on a busy machine."""
    recorder = Recorder(tmp_path, "n", "server")
    recorder.start()
    recorder.settle()
    assert "pyarrow" in Path(f"/proc/{child_of(recorder)}/maps").read_text()
    recorder.close()


def test_nobody_waits_for_one_that_has_died(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "n", "server")
    recorder.start()
    process = recorder._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    assert process.settled.wait(PATIENCE_S)
    recorder.close()


def test_files_come_while_it_runs(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "n", "server", roll_s=0.1)
    recorder.start()
    for number in range(3):
        recorder.add(event(number, NOW_US))
        wait_for(lambda number=number: recorder.written == number + 1)  # type: ignore[misc]
    assert numbers(tmp_path) == [0, 1, 2]
    recorder.close()


def test_what_finds_no_room_is_dropped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(tmp_path, "n", "server", buffer=100)
    for number in range(150):
        recorder.add(event(number, NOW_US))
    assert recorder.dropped == 50
    recorder.start()
    recorder.close()
    assert numbers(tmp_path) == list(range(100))
    assert (recorder.written, recorder.dropped) == (100, 50)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "more than can be written" in caplog.text


def test_a_process_that_is_killed_is_replaced_and_what_it_had_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(tmp_path, "n", "server")
    recorder.start()
    first = child_of(recorder)
    recorder.add(event(0, NOW_US))
    wait_for(lambda: incomplete(tmp_path) != [])
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: recorder.dropped == 1)
    wait_for(lambda: recorder._process is not None and child_of(recorder) != first)
    recorder.add(event(1, NOW_US))
    recorder.close()
    assert numbers(tmp_path) == [1]
    assert (recorder.written, recorder.dropped) == (1, 1)
    assert "the process that writes it has died" in caplog.text
    # What the killed one left behind was removed by the next.
    assert incomplete(tmp_path) == []


def test_what_was_handed_over_survives_the_death_of_who_recorded_it(tmp_path: Path) -> None:
    code = f"""
import os, signal, sys, time
from pathlib import Path
from rockdove.trace import Event, Recorder
recorder = Recorder(Path({str(tmp_path)!r}), "n", "client")
recorder.start()
for number in range(1_000):
    recorder.add(Event({NOW_US}, None, "q", None, "send", message_id=f"id-{{number}}"))
while recorder._rows or not list(Path({str(tmp_path)!r}).glob("*/*/.*")):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE_S)
    assert done.returncode == -signal.SIGKILL
    wait_for(lambda: files(tmp_path) != [])
    assert numbers(tmp_path) == list(range(1_000))


def test_bad_events_are_lost_alone(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "n", "server")
    recorder.start()
    for number, queue in enumerate(["a", object(), "\ud800", "b", 5]):
        recorder.add(event(number, NOW_US)._replace(queue=queue))  # type: ignore[arg-type]
    recorder.close()
    assert numbers(tmp_path) == [0, 3]
    assert (recorder.written, recorder.dropped) == (2, 3)


def test_a_folder_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TraceFolderError, match=r"cannot record traces in .*file/trace: Not a directory"):
        Recorder(tmp_path / "file" / "trace", "n", "server").start()


def test_closing_twice_or_without_start_is_nothing(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "n", "server")
    recorder.close()
    recorder.start()
    recorder.close()
    recorder.close()
