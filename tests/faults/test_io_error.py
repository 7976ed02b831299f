"""Disk errors: nothing is acknowledged, the store says so, and goes on when they are over."""

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rockdove.core.errors import StoreError
from rockdove.store.sqlite import checkpoint
from rockdove.store.sqlite.janitor import PROBE_EVERY_S
from rockdove.store.sqlite.store import SqliteStore
from tests.faults.test_power import faults
from tests.support.disk import Disk, Fault, io_error
from tests.support.ledger import Ledger
from tests.support.raw import Web
from tests.support.service import RunningService
from tests.support.store import Bench, Queue, call

ROUNDS = 150
PATIENCE_S = 120
CODES = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
}


@pytest.fixture
def disk(tmp_path: Path, rng: random.Random) -> Iterator[Disk]:
    with Disk(tmp_path / "live", rng) as disk:
        yield disk


@pytest.fixture
def bench(tmp_path: Path, disk: Disk) -> Iterator[Bench]:
    bench = Bench("sqlite", tmp_path / "live")
    yield bench
    disk.fault = lambda operation, name: None
    bench.close()


def always(operation: str) -> Fault:
    def fault(done: str, name: str) -> None:
        if done == operation:
            raise io_error(CODES[operation])

    return fault


def never(operation: str, name: str) -> None:
    pass


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_what_failed_has_not_happened(bench: Bench, disk: Disk, tmp_path: Path, operation: str) -> None:
    queue, ledger = bench.queue(), Ledger()
    ledger.try_send(["before", "after"])
    queue.send("before")
    disk.fault = always(operation)
    for body in ("lost-1", "lost-2"):
        with pytest.raises(StoreError):
            queue.send(body)
    with pytest.raises(StoreError):
        queue.take()
    assert bench.store.trouble is not None
    assert "IOError" in bench.store.trouble
    disk.fault = never
    queue.send("after")
    ledger.was_sent(["before", "after"])
    assert bench.store.trouble is None
    # Also after a power cut, whatever the disk did with what it failed to sync.
    for number in range(20):
        disk.cut(tmp_path / f"cut-{number}")
        assert faults(tmp_path / f"cut-{number}", ledger) == []
    assert queue.read() == ["before", "after"]


def test_a_read_error_is_told_and_ends(bench: Bench, disk: Disk) -> None:
    queue = bench.queue()
    queue.send("a")
    bench.store.close()
    bench._open(bench._data)
    disk.fault = always("read")
    with pytest.raises(StoreError):
        queue.take()
    disk.fault = never
    assert queue.read() == ["a"]


async def produce(queue: Queue, name: str, ledger: Ledger, rng: random.Random) -> None:
    for turn in range(ROUNDS):
        bodies = [f"{name}-{turn}-{n}-{'x' * rng.choice([0, 3000])}" for n in range(rng.randint(1, 4))]
        group = f"g{rng.randrange(3)}" if queue.record.fifo else None
        drafts = [queue.draft(body, group=group, key=body if queue.record.fifo else None) for body in bodies]
        try:
            await call(queue.physical().append, drafts)
        except StoreError:
            continue
        ledger.try_send(bodies)
        ledger.was_sent(bodies)


async def consume(queue: Queue, ledger: Ledger, rng: random.Random) -> None:
    for _ in range(ROUNDS):
        try:
            claimed = await call(queue.physical().claim, queue.want(rng.randint(1, 6)))
            for entry in claimed.entries:
                count = entry.receive_count if queue.record.fifo else None
                if await call(queue.physical().remove, entry.id, count):
                    ledger.try_delete([entry.message.text])
                    ledger.was_deleted([entry.message.text])
        except StoreError:
            pass
        await asyncio.sleep(0)


@pytest.mark.parametrize("run", range(4))
def test_errors_at_any_time(
    bench: Bench, disk: Disk, tmp_path: Path, rng: random.Random, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed means that nothing has happened; done means that it has. There is nothing in between."""
    monkeypatch.setattr(checkpoint, "LOG_PAGES", 12)
    monkeypatch.setattr(checkpoint, "MOST_LOG_PAGES", 40)
    plain, fifo, ledger = bench.queue(), bench.queue(fifo=True), Ledger()
    failures = 0

    def fault(operation: str, name: str) -> None:
        nonlocal failures
        if rng.random() < 0.02:
            failures += 1
            raise apsw.FullError("injected") if rng.random() < 0.2 else io_error(CODES[operation])

    async def work() -> None:
        await asyncio.gather(
            *(produce(queue, name, ledger, rng) for queue, name in ((plain, "p"), (fifo, "f"))),
            *(consume(queue, ledger, rng) for queue in (plain, plain, fifo)),
        )

    disk.fault = fault
    bench.run(work())
    disk.fault = never
    plain.send("last")
    ledger.try_send(["last"])
    ledger.was_sent(["last"])
    assert failures > 20
    assert len(ledger.sent) > ROUNDS
    for number in range(10):
        disk.cut(tmp_path / f"cut-{number}")
        assert faults(tmp_path / f"cut-{number}", ledger) == []
    counts = plain.count(), fifo.count()
    bench.reopen()
    found = [entry.message.text for queue in (plain, fifo) for entry in queue.peek(100_000)]
    assert ledger.judge(found) == []
    assert (plain.count(), fifo.count()) == counts


@pytest.fixture
def service(tmp_path: Path, disk: Disk) -> Iterator[RunningService]:
    service = RunningService(tmp_path / "live", "sqlite", real_time=True)
    yield service
    disk.fault = never
    service.close()


async def next_look_s(service: RunningService) -> float:
    """In how many seconds the store tries whether it works again."""
    store = service.service.store
    assert isinstance(store, SqliteStore)
    timer = store._janitor._timer
    assert timer is not None
    return timer.when() - asyncio.get_running_loop().time()


def test_the_service_says_so(service: RunningService, disk: Disk) -> None:
    web = Web(service.port)
    url = web.create("q")
    message: dict[str, Any] = {"QueueUrl": url, "MessageBody": "a"}
    assert web.call("SendMessage", message).status == 200
    assert web.get("/ready").status == 200
    disk.fault = always("sync")
    reply = web.call("SendMessage", message)
    assert reply.status == 503
    assert reply.json["__type"].endswith("ServiceUnavailable")
    ready = web.get("/ready")
    assert ready.status == 503
    assert "IOError" in ready.text
    assert web.get("/health").status == 200
    # A float of seconds since the machine began: not exact.
    assert service.run(next_look_s(service)) < PROBE_EVERY_S + 0.001
    # Nobody asks for anything while it is not ready: it finds out by itself.
    disk.fault = never
    end = time.monotonic() + PATIENCE_S
    while web.get("/ready").status != 200:
        assert time.monotonic() < end
        time.sleep(0.2)
    assert web.call("SendMessage", message).status == 200
    assert len(web.call("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10}).json["Messages"]) == 2
    web.close()
