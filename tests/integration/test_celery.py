"""A real Celery worker, in processes of its own, finishing tasks that come through a real server."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import isolated
from tests.support.process import Process
from tests.support.receiving import counts
from tests.support.server import Server, ServerFactory

ROOT = Path(__file__).parents[2]
APP = "tests.integration.celery_app"
LATE_S = 3
_TIMEOUT_S = 60


class Celery:
    """One queue with its producer, its workers and the notes that the tasks leave."""

    def __init__(self, server: Server, queue: str, folder: Path, *, acks_late: bool, visibility_s: int = 30) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.sqs = server.client()
        self.workers: list[Process] = []
        self._queue = queue
        self._folder = folder
        self._environment = isolated() | {
            "PYTHONPATH": str(ROOT),
            "TEST_PORT": str(server.port),
            "TEST_NOTES": str(self.notes),
            "TEST_QUEUE": queue,
            "TEST_ACKS_LATE": str(int(acks_late)),
            "TEST_VISIBILITY_S": str(visibility_s),
        }

    def produce(self, kind: str, count: int, seconds: float = 0) -> None:
        subprocess.run(
            [sys.executable, "-m", "tests.integration.celery_producer", kind, str(count), str(seconds)],
            cwd=self._folder,
            env=self._environment,
            timeout=_TIMEOUT_S,
            check=True,
        )

    def start_worker(self, *words: str) -> Process:
        name = f"worker-{len(self.workers)}"
        command = [sys.executable, "-m", "celery", "-A", APP, "worker", "--loglevel", "INFO", "--concurrency", "2"]
        options = ["-n", f"{name}@%h", "--without-gossip", "--without-mingle", "--without-heartbeat", *words]
        worker = Process([*command, *options], self._folder, name, environment=self._environment)
        self.workers.append(worker)
        worker.wait_for(lambda: "ready." in worker.err.read_text(), "ready line", _TIMEOUT_S)
        return worker

    def runs(self) -> list[list[str]]:
        """Every execution of a task: its name and what it wrote."""
        return sorted(path.read_text().split() for path in self.notes.glob("*.note"))

    def wait_for_runs(self, count: int) -> list[list[str]]:
        """Waits for that many executions."""
        self.workers[-1].wait_for(lambda: len(self.runs()) >= count, f"{count} executions", _TIMEOUT_S)
        return self.runs()

    def wait_until_empty(self) -> None:
        """A worker deletes a message shortly after the task: not in the same instant."""
        url = self.sqs.get_queue_url(QueueName=self._queue)["QueueUrl"]
        self.workers[-1].wait_for(lambda: counts(self.sqs, url) == (0, 0, 0), "empty queue", _TIMEOUT_S)

    def close(self) -> None:
        for worker in self.workers:
            if worker.exit_code is None:
                worker.kill()
        self.sqs.close()


MakeCelery = Callable[..., Celery]


@pytest.fixture
def make_celery(server: ServerFactory, new_name: Callable[..., str], tmp_path: Path) -> Iterator[MakeCelery]:
    made: list[Celery] = []

    def make(**options: Any) -> Celery:
        celery = Celery(server.shared(), new_name(), tmp_path, **options)
        made.append(celery)
        return celery

    yield make
    for celery in made:
        celery.close()


@pytest.mark.parametrize("acks_late", [False, True], ids=["ack early", "ack late"])
def test_tasks_are_done_once_retries_included(make_celery: MakeCelery, acks_late: bool) -> None:
    celery = make_celery(acks_late=acks_late)
    celery.produce("add", 20)
    celery.produce("flaky", 5)
    worker = celery.start_worker()
    celery.wait_for_runs(20 + 5 * 3)
    celery.wait_until_empty()
    assert worker.stop(timeout_s=30) == 0, worker.output()

    expected = [["add", str(number), "10", str(number + 10)] for number in range(20)]
    expected += [["flaky", str(number), str(attempt)] for number in range(5) for attempt in range(3)]
    assert celery.runs() == sorted(expected)
    assert worker.err.read_text().count("succeeded in") == 25


def test_a_group_with_a_countdown_waits_for_its_time(make_celery: MakeCelery) -> None:
    celery = make_celery(acks_late=True)
    worker = celery.start_worker()
    sent = time.time()
    celery.produce("late", 8, seconds=LATE_S)
    runs = celery.wait_for_runs(8)
    celery.wait_until_empty()
    assert worker.stop(timeout_s=30) == 0, worker.output()
    assert sorted(int(number) for _, number, _ in celery.runs()) == list(range(8))
    assert min(float(at) for _, _, at in runs) >= sent + LATE_S


def test_what_a_killed_worker_left_is_done_by_the_next(make_celery: MakeCelery) -> None:
    celery = make_celery(acks_late=True, visibility_s=6)
    celery.produce("slow", 2, seconds=3)
    # One process, so that SIGKILL ends the task together with its worker.
    first = celery.start_worker("--pool", "solo")
    celery.wait_for_runs(1)
    first.kill()
    assert [run[0] for run in celery.runs()] == ["slow-begun"]

    second = celery.start_worker()
    second.wait_for(
        lambda: Counter(run[0] for run in celery.runs())["slow-done"] >= 2, "tasks of the killed worker", _TIMEOUT_S
    )
    celery.wait_until_empty()
    assert second.stop(timeout_s=30) == 0, second.output()
    assert {tuple(run) for run in celery.runs() if run[0] == "slow-done"} == {("slow-done", "0"), ("slow-done", "1")}
