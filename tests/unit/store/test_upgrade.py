"""Data folders of older formats: upgraded in one step, or left as they were."""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from rockdove.core import ids
from rockdove.core.account import Account
from rockdove.core.clock import SystemClock
from rockdove.core.errors import DataFolderError
from rockdove.core.publication import PublicationName
from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.sqlite import folder
from rockdove.store.sqlite.check import check
from rockdove.store.sqlite.folder import APPLICATION_ID, DATABASE, FORMAT, Folder
from rockdove.store.sqlite.store import SqliteStore
from tests.support.store import Bench, Queue

SCHEMA = Path(__file__).parents[2] / "support" / "format" / "1.sql"
SECRET = bytes(range(32))
SENT_US = 1_699_999_999_000_000
QUEUES = (
    QueueRecord(
        uid="uid-standard",
        account="000000000000",
        name="jobs",
        fifo=False,
        created_us=1,
        modified_us=2,
        physical=[PhysicalRecord(1, "11111111-1111-4111-8111-11")],
        attributes={"VisibilityTimeout": "7"},
        tags={"team": "red"},
    ),
    QueueRecord(
        uid="uid-fifo",
        account="000000000000",
        name="order.fifo",
        fifo=True,
        created_us=1,
        modified_us=2,
        physical=[PhysicalRecord(2, "22222222-2222-4222-8222-22")],
    ),
)


def make(data: Path) -> None:
    """A folder as format 1 has it: two queues, three messages, a task and a deleted name."""
    data.mkdir()
    db = apsw.Connection(str(data / DATABASE))
    db.pragma("page_size", 8192)
    db.pragma("journal_mode", "wal")
    db.execute(SCHEMA.read_text())
    db.pragma("application_id", APPLICATION_ID)
    db.pragma("user_version", 1)
    db.execute("INSERT INTO meta VALUES ('secret', ?)", (SECRET,))
    for number, queue in enumerate(QUEUES, 1):
        db.execute("INSERT INTO queue VALUES (?, ?)", (queue.uid, json.dumps(_plain(queue))))
        row = (number, queue.physical[0].prefix, queue.uid, queue.fifo)
        db.execute("INSERT INTO physical VALUES (?, ?, ?, ?, 0, 100)", row)
    _insert(db, 1, 1, "a", None)
    _insert(db, 1, 2, "b", None)
    _insert(db, 2, 1, "c", "group")
    task: dict[str, object] = {"task_id": "t", "account": "000000000000", "source_arn": "arn", "destination_arn": None}
    task |= {"max_per_second": None, "status": "COMPLETED", "started_us": 1}
    db.execute("INSERT INTO task VALUES ('t', ?)", (json.dumps(task),))
    db.execute("INSERT INTO deleted VALUES ('000000000000', 'gone', ?)", (SENT_US,))
    db.close()


def _plain(queue: QueueRecord) -> dict[str, Any]:
    fields = {name: getattr(queue, name) for name in queue.__struct_fields__}
    return fields | {"physical": [{"number": one.number, "prefix": one.prefix} for one in queue.physical]}


def _insert(db: apsw.Connection, physical: int, sequence: int, body: str, group: str | None) -> None:
    id = ids.entry_id(physical, sequence)
    row = (id, physical, SENT_US + sequence, SENT_US, group)
    db.execute("INSERT INTO entry (id, pq, t, sent, grp) VALUES (?, ?, ?, ?, ?)", row)
    extra = json.dumps({"group_id": group}) if group else None
    db.execute("INSERT INTO body VALUES (?, 'md5', ?, ?)", (id, body, extra))


def version(data: Path) -> int:
    db = apsw.Connection(str(data / DATABASE))
    try:
        return int(db.pragma("user_version"))
    finally:
        db.close()


def tables(data: Path) -> set[str]:
    db = apsw.Connection(str(data / DATABASE))
    try:
        return {str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    finally:
        db.close()


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[Bench]:
    make(tmp_path / "data")
    bench = Bench("sqlite", tmp_path)
    yield bench
    bench.close()


def test_everything_is_still_there(upgraded: Bench, tmp_path: Path) -> None:
    snapshot = upgraded.snapshot
    assert sorted(snapshot.queues, key=lambda queue: queue.name) == list(QUEUES)
    assert [task.task_id for task in snapshot.tasks] == ["t"]
    assert [gone.name for gone in snapshot.deleted] == ["gone"]
    assert snapshot.secret == SECRET
    assert (snapshot.accounts, snapshot.former_accounts) == ([], [])
    assert Queue(upgraded, QUEUES[0]).read() == ["a", "b"]
    assert Queue(upgraded, QUEUES[1]).read() == ["c"]
    assert version(tmp_path / "data") == FORMAT


def test_accounts_can_be_kept_then(upgraded: Bench) -> None:
    account = Account(id="000000000000", name="ann", created_us=1)
    upgraded.put_account(account)
    upgraded.reopen()
    assert upgraded.snapshot.accounts == [account]
    assert Queue(upgraded, QUEUES[0]).count() == (2, 0, 0)


def test_messages_can_be_leased_then(upgraded: Bench) -> None:
    jobs = Queue(upgraded, QUEUES[0])
    assert jobs.leased(0, limit=1) == ["a"]
    upgraded.reopen()
    assert jobs.leased(0) == ["a"]
    assert jobs.count() == (1, 1, 0)


def test_accounts_of_format_2_are_kept(tmp_path: Path) -> None:
    """With all that format 1 had; and then there can be leases and publications."""
    make(tmp_path / "data")
    account = Account(id="000000000000", name="ann", created_us=1)
    db = apsw.Connection(str(tmp_path / "data" / DATABASE))
    db.execute("CREATE TABLE account (id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID")
    db.execute(
        "INSERT INTO account VALUES (?, ?)",
        (account.id, json.dumps({"id": account.id, "name": "ann", "created_us": 1})),
    )
    db.execute("INSERT INTO account VALUES ('111111111111', NULL)")
    db.pragma("user_version", 2)
    db.close()
    bench = Bench("sqlite", tmp_path)
    assert version(tmp_path / "data") == FORMAT
    assert bench.snapshot.accounts == [account]
    assert bench.snapshot.former_accounts == ["111111111111"]
    assert sorted(bench.snapshot.queues, key=lambda queue: queue.name) == list(QUEUES)
    jobs, order = (Queue(bench, queue) for queue in QUEUES)
    assert (jobs.leased(0), order.leased(0)) == (["a", "b"], ["c"])
    name = PublicationName(jobs.record.uid, "app", 0, 0)
    assert bench.do(bench.publications.publish, name, "one", [(jobs.physical(), [jobs.draft("d")])]).appended
    assert jobs.read() == ["d"]
    bench.close()


def test_an_upgraded_folder_is_like_a_new_one(tmp_path: Path) -> None:
    make(tmp_path / "data")
    for path in (tmp_path / "data", tmp_path / "new"):
        path.mkdir(exist_ok=True)
        Folder(path).connect().close()
    assert tables(tmp_path / "data") == tables(tmp_path / "new")


def test_a_step_that_fails_leaves_the_old_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "data")
    before = tables(tmp_path / "data")
    broken = {FORMAT: f"{folder._STEPS[FORMAT]}; INSERT INTO nowhere VALUES (1)"}
    monkeypatch.setattr(folder, "_STEPS", folder._STEPS | broken)
    with pytest.raises(DataFolderError, match="no such table: nowhere"):
        Folder(tmp_path / "data").connect()
    assert version(tmp_path / "data") == 1
    assert tables(tmp_path / "data") == before


def test_a_format_that_was_never_released_is_not_called_damaged(tmp_path: Path) -> None:
    """As commits before format 2 was released wrote it."""
    make(tmp_path / "data")
    db = apsw.Connection(str(tmp_path / "data" / DATABASE))
    db.execute("DROP INDEX late; ALTER TABLE entry DROP COLUMN late; PRAGMA user_version = 2")
    db.close()
    with pytest.raises(DataFolderError) as caught:
        Folder(tmp_path / "data").connect()
    assert "has a format that was never released: table entry has no column late; empty its queues" in str(caught.value)
    report = check(tmp_path / "data")
    assert [problem.what for problem in report.problems] == [
        "has a format that was never released: table entry has no column late"
    ]
    assert version(tmp_path / "data") == 2


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "data")
    db = apsw.Connection(str(tmp_path / "data" / DATABASE))
    db.pragma("user_version", FORMAT + 1)
    db.close()
    for _ in range(2):
        # It says the same however often it is tried: a start that was refused leaves the folder as it was.
        with pytest.raises(
            DataFolderError, match=f"has format {FORMAT + 1}, this Rockdove reads {FORMAT}; use a newer"
        ):
            asyncio.run(open_store(tmp_path / "data"))
    assert version(tmp_path / "data") == FORMAT + 1


async def open_store(data: Path) -> None:
    await SqliteStore(data, SystemClock(), random.Random(1), asyncio.get_running_loop()).open()
