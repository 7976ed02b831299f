"""On a standalone cluster: a master and two workers, whose Python has no Rockdove but what was sent.

An analysis; and queries from a queue to a queue whose executors are killed, and whose tasks have copies.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pyspark
import pytest

from rockdove.client import Client
from tests.integration.spark.bare import clean_environment
from tests.integration.spark.quick import LIGHT, archived
from tests.support import plain_analysis
from tests.support.driver import Driver
from tests.support.filling import empty, fill
from tests.support.made_trace import event, received, sent, write
from tests.support.port import free_port
from tests.support.server import ServerFactory

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE_S = 600

# One cluster for all of them.
pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture(scope="module")
def master(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    port, page = free_port(), free_port()
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    worker = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", f"{port}", "--webui-port", f"{page}"],
        # Two hosts, by their names: Spark starts no copy of a task on the host that the task is on.
        *(
            [f"{deploy}.worker.Worker", *worker, "--host", f"127.0.0.{n}", "--work-dir", str(folder / f"work-{n}"), url]
            for n in (1, 2)
        ),
    ]
    running = []
    try:
        for number, command in enumerate(commands):
            with (folder / f"{number}.log").open("wb") as log:
                # Workers run in a folder of their own, so that they cannot find our sources beside them.
                place = {"cwd": folder, "env": clean_environment(), "stdout": log, "stderr": log}
                running.append(subprocess.Popen([SPARK_CLASS, *command], **place))  # type: ignore[call-overload]
        _await_workers(page, 2)
        yield url
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(PATIENCE_S)


def _await_workers(page: int, number: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/") as answer:
                if json.load(answer)["aliveworkers"] == number:
                    return
        except (OSError, ValueError, KeyError, HTTPException):
            # It is not there yet, or answers before it knows anything.
            pass
        time.sleep(0.2)
    pytest.fail("the workers did not come up")


def _settings(python: Path) -> dict[str, str]:
    return {
        "spark.pyspark.python": str(python),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        # Compiled lightly: they live for seconds only.
        "spark.executor.extraJavaOptions": f"{LIGHT} {archived()}",
        "spark.sql.shuffle.partitions": "2",
    }


def test_executors_get_all_that_they_need(master: str, python: Path, tmp_path: Path) -> None:
    events = []
    for n in range(200):
        queue = f"queue-{n % 4}"
        events += [sent(f"m{n}", n, queue=queue, latency_us=n), received(f"m{n}", 300 + n ^ 1, n, queue=queue)]
    events += [event("miss", 900, queue=f"queue-{n}") for n in range(4)]
    write(tmp_path / "trace", events)
    flags = [word for name, value in _settings(python).items() for word in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-c", "from rockdove.cli import main; main()", "analyse", str(tmp_path / "trace")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--master", master, "--json", *flags],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found, plain = json.loads(done.stdout), plain_analysis.analyse(events)
    for name in ("sent", "received", "lost", "out_of_order_rate", "displacement"):
        assert found["overall"][name] == pytest.approx(plain["overall"][name]), name
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == found
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


BATCHES = 2
SENT = [f"message {n}" for n in range(16_000)]


class Copy:
    """A query from a queue to another, two batches of two tasks; one task of each batch is held in its midst."""

    def __init__(self, endpoint: str, queues: tuple[str, str], folder: Path) -> None:
        self._held = folder / "held"
        self._held.mkdir()
        place = {"format": "rockdove", "endpoint": endpoint}
        source = {"queue": queues[0], "numPartitions": "2", "maxMessagesPerTrigger": f"{len(SENT) // BATCHES}"}
        sink = {"queue": queues[1], "checkpointLocation": str(folder / "checkpoint")}
        self.query = {"from": place | source, "to": place | sink, "hold": str(self._held)}

    def told(self, batch: int, attempt: int, what: str) -> dict[str, Any]:
        """What an attempt at the first task of a batch has told."""
        found: dict[str, Any] = json.loads(self._path(batch, attempt, what).read_text())
        return found

    def has_told(self, batch: int, attempt: int, what: str) -> bool:
        return self._path(batch, attempt, what).exists()

    def _path(self, batch: int, attempt: int, what: str) -> Path:
        return self._held / f"{batch}-0-{attempt}.{what}"


@pytest.fixture
def queues(server: ServerFactory, new_name: Callable[..., str]) -> Iterator[tuple[Client, str, tuple[str, str]]]:
    """Two: a full one, and an empty one."""
    endpoint, names = server.shared().endpoint, (new_name(), new_name())
    with Client(endpoint) as client:
        for name in names:
            client.create_queue(name)
        fill(client, names[0], SENT)
        yield client, endpoint, names


def test_an_executor_killed_within_a_task_neither_loses_nor_doubles(
    master: str, python: Path, queues: tuple[Client, str, tuple[str, str]], tmp_path: Path
) -> None:
    client, endpoint, names = queues
    copy = Copy(endpoint, names, tmp_path)
    with Driver(tmp_path, [copy.query], master=master, settings=SMALL | _settings(python)) as driver:
        killed = set()
        for batch in range(BATCHES):
            driver.wait_for(partial(copy.has_told, batch, 0, "held"), "task that is held")
            executor = copy.told(batch, 0, "held")["executor"]
            os.kill(executor, signal.SIGKILL)
            killed.add(executor)
        driver.finish()
    assert len(killed) == BATCHES
    _check_attempts(copy)
    assert Counter(empty(client, names[1])) == Counter(SENT)


def test_copies_of_slow_tasks_neither_read_other_rows_nor_write_rows_again(
    master: str, python: Path, queues: tuple[Client, str, tuple[str, str]], tmp_path: Path
) -> None:
    client, endpoint, names = queues
    copy = Copy(endpoint, names, tmp_path)
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        # As soon as half of the tasks are done, for those that take longer than they did.
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1",
        "spark.speculation.minTaskRuntime": "100ms",
    }
    with Driver(tmp_path, [copy.query], master=master, settings=SMALL | _settings(python) | speculation) as driver:
        driver.finish()
    _check_attempts(copy)
    assert Counter(empty(client, names[1])) == Counter(SENT)


# Ten rounds between Python and Java for a task: it has sent some of its rows when it is held.
SMALL = {"spark.sql.execution.arrow.maxRecordsPerBatch": "500"}


def _check_attempts(copy: Copy) -> None:
    """The first attempt at a task was in its midst, and the second has read the same rows."""
    for batch in range(BATCHES):
        held, done = copy.told(batch, 0, "held")["ids"], copy.told(batch, 1, "done")["ids"]
        assert held == done[: len(held)]
        assert 0 < len(held) < len(done)
