"""What the embedded store says of itself while changes fail, and after."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rockdove.core.errors import StoreError
from rockdove.store.sqlite.store import SqliteStore
from tests.support.store import Bench, submit


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench("sqlite", tmp_path)
    yield bench
    bench.close()


def fail(bench: Bench) -> None:
    """One batch that the disk refuses."""

    def refuse(db: apsw.Connection) -> None:
        raise apsw.IOError("disk I/O error")

    assert isinstance(bench.store, SqliteStore)
    with pytest.raises(StoreError, match="I/O"):
        bench.do(bench.store.writer.call, refuse)


def test_a_failed_batch_is_trouble_until_one_lands(bench: Bench) -> None:
    queue = bench.queue()
    assert bench.store.trouble is None
    fail(bench)
    assert bench.store.trouble is not None
    assert "disk I/O error" in bench.store.trouble
    assert queue.count() == (0, 0, 0)
    assert bench.store.trouble is not None, "to read is no change"
    queue.send("a")
    assert bench.store.trouble is None


def test_trouble_is_logged_when_it_begins_and_when_it_ends(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    queue = bench.queue()
    with caplog.at_level(logging.INFO, "rockdove"):
        for _ in range(3):
            fail(bench)
        queue.send("a", "b")
        queue.send("c")
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert "disk I/O error" in caplog.text
    assert "again" in caplog.text


def test_counts_are_right_when_a_claim_fails_while_its_message_is_being_deleted(bench: Bench) -> None:
    queue = bench.queue()
    first, _ = queue.send("a", "b")
    sent_on = threading.Event()

    def refuse(db: apsw.Connection) -> None:
        sent_on.wait(10)
        raise apsw.IOError("disk I/O error")

    async def scenario() -> tuple[Any, ...]:
        assert isinstance(bench.store, SqliteStore)
        writer = bench.store.writer
        batch = writer.batch
        claimed = submit(queue.physical().claim, queue.want(1, timeout_s=100))
        refused = submit(writer.call, refuse)
        while writer.batch is batch:
            await asyncio.sleep(0)
        removed = submit(queue.physical().remove, first, None)
        sent_on.set()
        return await asyncio.gather(claimed, refused, removed, return_exceptions=True)

    claimed, refused, removed = bench.run(scenario())
    assert isinstance(claimed, StoreError)
    assert isinstance(refused, StoreError)
    assert removed is True
    assert queue.count() == (1, 0, 0)
    assert queue.read() == ["b"]
