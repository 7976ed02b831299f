"""The data folder: one process at a time, a format of its own, and no space kept that nobody uses."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from rockdove.core.errors import DataFolderError
from rockdove.store.sqlite.backup import copy
from rockdove.store.sqlite.check import check
from rockdove.store.sqlite.folder import DATABASE, FORMAT
from tests.support.server import COMMAND, ServerFactory

BODY = "x" * 1024


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def fill(sqs: Any, url: str, batches: int) -> None:
    entries = [{"Id": str(n), "MessageBody": BODY} for n in range(10)]
    for _ in range(batches):
        sqs.send_message_batch(QueueUrl=url, Entries=entries)


def drain(sqs: Any, url: str) -> int:
    number = 0
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        number += len(messages)
    return number


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def refused(folder: Path) -> str:
    """What `serve` says when it does not start."""
    command = [*COMMAND, "serve", "--port", "0", "--data", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode != 0
    assert "ready" not in run.stdout
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    return run.stderr


def test_a_drain_gives_the_space_back(server: ServerFactory, new_name: Callable[..., str]) -> None:
    service = server()
    sqs = service.client()
    url = sqs.create_queue(QueueName=new_name())["QueueUrl"]
    fill(sqs, url, 500)
    peak = folder_bytes(service.data)
    assert peak > 5_000 * 1024
    assert drain(sqs, url) == 5_000
    assert wait_until(lambda: folder_bytes(service.data) < peak / 10, 60)
    fill(sqs, url, 1)
    assert drain(sqs, url) == 10
    assert service.stop() == 0


def test_a_purge_gives_the_space_back(server: ServerFactory, new_name: Callable[..., str]) -> None:
    service = server()
    sqs = service.client()
    url = sqs.create_queue(QueueName=new_name())["QueueUrl"]
    fill(sqs, url, 300)
    peak = folder_bytes(service.data)
    sqs.purge_queue(QueueUrl=url)
    assert wait_until(lambda: folder_bytes(service.data) < peak / 10, 60)
    assert service.stop() == 0


def test_a_second_process_is_refused(server: ServerFactory) -> None:
    service = server()
    said = refused(service.data)
    assert str(service.process.pid) in said
    assert "--data" in said
    assert service.stop() == 0


def test_a_newer_format_is_refused_and_untouched(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / DATABASE))
    db.pragma("application_id", 0x52646F76)
    db.pragma("user_version", FORMAT + 1)
    db.close()
    before = (tmp_path / DATABASE).read_bytes()
    assert f"format {FORMAT + 1}" in refused(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


def test_a_format_that_is_none_is_refused_and_untouched(tmp_path: Path) -> None:
    """A flipped bit makes it negative."""
    db = apsw.Connection(str(tmp_path / DATABASE))
    db.pragma("application_id", 0x52646F76)
    db.pragma("user_version", -FORMAT)
    db.close()
    before = (tmp_path / DATABASE).read_bytes()
    assert "holds other tables" in refused(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == before


def test_a_strange_file_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is not a database" * 1000)
    assert "not a Rockdove database" in refused(tmp_path)
    assert (tmp_path / DATABASE).read_bytes().startswith(b"this is not")


def test_another_programs_database_is_refused_and_untouched(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / DATABASE))
    db.execute("CREATE TABLE theirs (x)")
    db.close()
    assert "other tables" in refused(tmp_path)


def test_a_name_that_sqlite_cannot_be_told(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"data\xff")
    assert "is not UTF-8" in refused(odd)
    assert not odd.exists()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / DATABASE).touch()
    with pytest.raises(DataFolderError, match="is not UTF-8"):
        copy(tmp_path / "data", odd)
    (tmp_path / "data").rename(odd)
    for look in (check, lambda folder: copy(folder, tmp_path / "new")):
        with pytest.raises(DataFolderError, match="is not UTF-8"):
            look(odd)


def test_what_was_acknowledged_survives_a_kill(server: ServerFactory, new_name: Callable[..., str]) -> None:
    service = server()
    name, acknowledged = new_name(), set[str]()
    for life in range(3):
        sqs = service.client()
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        for n in range(50):
            body = f"{life}-{n}"
            sqs.send_message(QueueUrl=url, MessageBody=body)
            acknowledged.add(body)
        message = sqs.receive_message(QueueUrl=url)["Messages"][0]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        acknowledged.discard(message["Body"])
        service.kill()
        service.start()
    sqs, found = service.client(), set[str]()
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found |= {message["Body"] for message in messages}
    assert found == acknowledged
    assert service.stop() == 0
