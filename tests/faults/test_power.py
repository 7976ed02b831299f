"""Power cuts: what was not synced is really lost, and nothing that was answered is."""

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from rockdove.core.clock import SECOND_US, ManualClock
from rockdove.store.base import Want
from rockdove.store.sqlite import checkpoint, janitor
from rockdove.store.sqlite.folder import DATABASE, Folder
from rockdove.store.sqlite.store import SqliteStore
from tests.support.disk import Disk
from tests.support.ledger import Ledger
from tests.support.store import Bench, Queue, call

ROUNDS = 120
CUTS_PER_RUN = 150
GROUPS = 4


class Cutter:
    """Cuts the power at random moments, in whatever thread is writing, and looks at what is left."""

    def __init__(self, disk: Disk, folder: Path, ledger: Ledger, rng: random.Random) -> None:
        self._disk = disk
        self._folder = folder
        self._ledger = ledger
        self._rng = rng
        self._next = 1
        self.left: list[Path] = []
        self.wrong: list[str] = []
        self.ledgers: list[Ledger] = []

    def step(self) -> None:
        self._next -= 1
        if self._next or len(self.left) >= CUTS_PER_RUN or self.wrong:
            return
        self._next = self._rng.randint(1, 24)
        target = self._folder / f"cut-{len(self.left)}"
        ledger = self._ledger.copy()
        self._disk.cut(target)
        self.left.append(target)
        self.ledgers.append(ledger)
        self.wrong += [f"{target.name}: {fault}" for fault in faults(target, ledger)]


def faults(folder: Path, ledger: Ledger) -> list[str]:
    """What is wrong with a folder after a cut."""
    if not (folder / DATABASE).exists():
        return ledger.judge([])
    try:
        db = Folder(folder).connect()
    except Exception as error:
        return [f"cannot be opened: {error}"]
    try:
        found: list[Any] = db.execute("SELECT body FROM entry JOIN body USING (id)").fetchall()
        wrong = ledger.judge([body for (body,) in found])
        check = db.pragma("integrity_check")
        if check != "ok":
            wrong.append(check)
        lonely = "SELECT count(*) FROM entry FULL JOIN body USING (id) WHERE entry.id IS NULL OR body.id IS NULL"
        if db.execute(lonely).get:
            wrong.append("entries and bodies do not match")
    except apsw.Error as error:
        wrong = [f"cannot be read: {error}"]
    finally:
        db.close()
    return wrong


async def produce(queue: Queue, name: str, ledger: Ledger, rng: random.Random) -> None:
    for turn in range(ROUNDS):
        bodies = [f"{name}-{turn}-{n}-{'x' * rng.choice([0, 10, 3000])}" for n in range(rng.randint(1, 4))]
        group = f"g{rng.randrange(GROUPS)}" if queue.record.fifo or name == "fair" else None
        drafts = [queue.draft(body, group=group, key=body if queue.record.fifo else None) for body in bodies]
        ledger.try_send(bodies)
        await call(queue.physical().append, drafts)
        ledger.was_sent(bodies)


async def consume(queue: Queue, ledger: Ledger, rng: random.Random) -> None:
    for _ in range(ROUNDS):
        gone = ledger.gone()
        claimed = await call(queue.physical().claim, queue.want(rng.randint(1, 6)))
        ledger.got([entry.message.text for entry in claimed.entries], gone)
        for entry in claimed.entries:
            count = entry.receive_count if queue.record.fifo else None
            if rng.random() < 0.3:
                await call(queue.physical().move, entry.id, queue.bench.now_us + rng.choice([0, 10]), count)
            else:
                ledger.try_delete([entry.message.text])
                removed = await call(queue.physical().remove, entry.id, count)
                assert removed
                ledger.was_deleted([entry.message.text])
        queue.bench.clock.advance(0.001)


async def tidy(store: Any) -> None:
    """What the janitor does every five seconds."""
    for _ in range(ROUNDS // 10):
        for _ in range(10):
            await asyncio.sleep(0.005)
        tidied = asyncio.get_running_loop().create_future()
        store.writer.aside(store._janitor._tidy, lambda tidied=tidied: tidied.set_result(None))
        await tidied


@contextmanager
def shaken(folder: Path, rng: random.Random) -> Iterator[Cutter]:
    """A store that has worked on a disk whose power was cut again and again (each time from the same state)."""
    (folder / "live").mkdir()
    ledger = Ledger()
    with Disk(folder / "live", rng) as disk:
        cutter = Cutter(disk, folder, ledger, rng)
        disk.step = cutter.step
        bench = Bench("sqlite", folder / "live")
        try:
            plain, fifo, fair = bench.queue(), bench.queue(fifo=True), bench.queue()

            async def work() -> None:
                await asyncio.gather(
                    *(produce(queue, name, ledger, rng) for queue, name in ((plain, "p"), (fifo, "f"), (fair, "fair"))),
                    *(consume(queue, ledger, rng) for queue in (plain, plain, fifo, fair)),
                    tidy(bench.store),
                )

            bench.run(work())
            yield cutter
        finally:
            bench.close()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is copied back all the time, and the file rewritten as soon as a little is free."""
    monkeypatch.setattr(checkpoint, "LOG_PAGES", 12)
    monkeypatch.setattr(checkpoint, "MOST_LOG_PAGES", 40)
    monkeypatch.setattr(janitor, "SHRINK_OVER_BYTES", 1)
    monkeypatch.setattr(janitor, "SHRINK_FREE_SHARE", 0.05)


@pytest.mark.parametrize("run", range(4))
@pytest.mark.usefixtures("often")
def test_nothing_answered_is_lost_or_undone(tmp_path: Path, rng: random.Random, run: int) -> None:
    with shaken(tmp_path, rng) as cutter:
        assert cutter.wrong == []
        assert len(cutter.left) == CUTS_PER_RUN
    for folder, ledger in list(zip(cutter.left, cutter.ledgers, strict=True))[::10]:
        assert ledger.judge(drained(folder)) == []


def drained(folder: Path) -> list[str]:
    """What a store gives that starts on a folder after the cut."""
    loop, clock, found = asyncio.new_event_loop(), ManualClock(), list[str]()
    clock.advance(3600)
    store = SqliteStore(folder, clock, random.Random(1), loop)
    snapshot = loop.run_until_complete(store.open())

    async def drain(physical: Any, fifo: bool) -> None:
        while True:
            claimed = await call(physical.claim, Want(10, 30 * SECOND_US))
            if not claimed.entries:
                return
            for entry in claimed.entries:
                found.append(entry.message.text)
                await call(physical.remove, entry.id, entry.receive_count if fifo else None)

    try:
        for record in snapshot.queues:
            for part in record.physical:
                loop.run_until_complete(drain(store.physical(record, part), record.fifo))
    finally:
        store.close()
        loop.close()
    return found


@pytest.mark.usefixtures("often")
def test_a_store_that_does_not_sync_is_found_out(
    tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: without syncs, it does."""
    connect = Folder.connect

    def careless(folder: Folder) -> apsw.Connection:
        db = connect(folder)
        db.pragma("synchronous", "off")
        return db

    monkeypatch.setattr(Folder, "connect", careless)
    with shaken(tmp_path, rng) as cutter:
        assert any("lost" in fault or "back" in fault or "cannot" in fault for fault in cutter.wrong)


def test_every_new_folder_is_on_disk_before_the_store_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_store: Callable[[Path], Any]
) -> None:
    synced: set[str] = set()
    fsync = os.fsync

    def record(descriptor: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    store = make_store(tmp_path / "a" / "b" / "c")
    asyncio.run(store.open())
    store.close()
    assert {str(tmp_path / part) for part in ("", "a", "a/b", "a/b/c")} <= synced


@pytest.fixture
def make_store() -> Iterator[Callable[[Path], Any]]:
    loop = asyncio.new_event_loop()
    yield lambda folder: SqliteStore(folder, ManualClock(), random.Random(1), loop)
    loop.close()
