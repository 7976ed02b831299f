"""A Celery application on the service, as the producer and the worker processes of test_celery.py import it.

Every run of a task leaves one file in the notes folder, so that a test sees each execution, not only the last.
"""

import os
import time
import uuid
from pathlib import Path
from typing import Any

from celery import Celery

PORT = os.environ["TEST_PORT"]
NOTES = Path(os.environ["TEST_NOTES"])

app = Celery("birds", broker=f"sqs://test-key:test-secret@127.0.0.1:{PORT}//")
app.conf.update(
    broker_transport_options={
        "region": "us-east-1",
        "is_secure": False,
        "visibility_timeout": int(os.environ["TEST_VISIBILITY_S"]),
        "wait_time_seconds": 5,
        "polling_interval": 0,
    },
    task_default_queue=os.environ["TEST_QUEUE"],
    task_acks_late=os.environ["TEST_ACKS_LATE"] == "1",
    task_ignore_result=True,
    worker_enable_remote_control=False,
    worker_prefetch_multiplier=4,
    broker_connection_retry_on_startup=True,
)


def note(*words: object) -> None:
    """One execution: a file whose name nobody else has."""
    path = NOTES / f"{uuid.uuid4().hex}.tmp"
    path.write_text(" ".join(map(str, words)))
    path.rename(path.with_suffix(".note"))


@app.task
def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@app.task(bind=True, max_retries=3)
def flaky(self: Any, number: int) -> None:
    """Fails at its first two runs."""
    attempt = self.request.retries
    note("flaky", number, attempt)
    if attempt < 2:
        raise self.retry(countdown=1, exc=RuntimeError(f"attempt {attempt}"))


@app.task
def late(number: int) -> None:
    note("late", number, time.time())


@app.task
def slow(number: int, seconds: float) -> None:
    note("slow-begun", number)
    time.sleep(seconds)
    note("slow-done", number)
