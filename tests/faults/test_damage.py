"""A damaged database: the service refuses it and says what to do, and `rockdove check` tells what is wrong."""

import asyncio
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from rockdove.core.clock import ManualClock
from rockdove.core.errors import DataFolderError, StoreError
from rockdove.store.base import Page, Scanned, Snapshot
from rockdove.store.sqlite.check import Report, check
from rockdove.store.sqlite.folder import DATABASE, LOCK, LOG, PAGE_BYTES
from rockdove.store.sqlite.store import SqliteStore
from tests.support.mount import read_only
from tests.support.server import COMMAND
from tests.support.store import Bench

ROOT = Path(__file__).parents[2]
MESSAGES = 600
FLIPS = 60
HEADER_BYTES = 100
LOG_HEADER_BYTES, FRAME_BYTES = 32, 24 + PAGE_BYTES
INDEX = f"{DATABASE}-shm"
ACCOUNT = '{"id": "1", "name": "a", "created_us": 1}'


def body(number: int) -> str:
    return f"{number}:" + "abcdefgh" * (number % 300)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A data folder as a stop leaves it, and one as a kill leaves it."""
    root = tmp_path_factory.mktemp("damage")
    bench = Bench("sqlite", root)
    plain, fifo = bench.queue(), bench.queue(fifo=True)
    for number in range(0, MESSAGES, 10):
        plain.send(*[body(n) for n in range(number, number + 10)])
        fifo.send(*[body(n) for n in range(number, number + 10)], group=f"g{number % 7}")
    plain.take(5)
    shutil.copytree(root / "data", root / "killed")
    bench.close()
    return {"stopped": root / "data", "killed": root / "killed"}


@pytest.fixture
def stopped(folders: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["stopped"], tmp_path / "folder"))


@pytest.fixture
def killed(folders: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["killed"], tmp_path / "folder"))


def told(report: Report) -> str:
    return "\n".join(f"{problem.where}: {problem.what}" for problem in report.problems)


def refusal(folder: Path) -> str:
    """What a service says that does not start; it leaves the folder as it was."""
    before = (folder / DATABASE).read_bytes()
    command = [*COMMAND, "serve", "--port", "0", "--data", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 1
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert (folder / DATABASE).read_bytes() == before
    return run.stderr


def change(folder: Path, sql: str, *bindings: Any) -> None:
    db = apsw.Connection(str(folder / DATABASE))
    db.execute(sql, bindings)
    db.close()


def overwrite(folder: Path, at: int, data: bytes) -> None:
    with (folder / DATABASE).open("r+b") as file:
        file.seek(at)
        file.write(data)


def page_of(folder: Path, name: str) -> int:
    """Where the root page of a table is."""
    db = apsw.Connection(str(folder / DATABASE))
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).get
    db.close()
    return (int(root) - 1) * PAGE_BYTES


@pytest.mark.parametrize("kind", ["stopped", "killed"])
def test_a_sound_folder(folders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    folder = Path(shutil.copytree(folders[kind], tmp_path / kind))
    before = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}
    report = check(folder)
    assert told(report) == ""
    assert (report.queues, report.messages, report.readable) == (2, 2 * MESSAGES, 2 * MESSAGES)
    after = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}
    assert after == before


def test_a_file_that_was_cut_off(stopped: Path) -> None:
    size = (stopped / DATABASE).stat().st_size
    with (stopped / DATABASE).open("r+b") as file:
        file.truncate(size // 2 - 100)
    report = check(stopped)
    assert "cut off" in told(report)
    assert 0 < report.readable < 2 * MESSAGES
    said = refusal(stopped)
    assert "damaged" in said
    assert "rockdove check" in said
    assert "backup" in said


@pytest.mark.parametrize("table", ["entry", "body", "queue", "ready", "lane"])
def test_a_page_of_zeros(stopped: Path, table: str) -> None:
    overwrite(stopped, page_of(stopped, table), bytes(PAGE_BYTES))
    report = check(stopped)
    assert not report.sound
    owner = "entry" if table in ("ready", "lane") else table
    assert f"table {owner}" in told(report)
    assert "damaged" in refusal(stopped)


def test_a_body_that_has_changed(stopped: Path) -> None:
    change(stopped, "UPDATE body SET body = body || 'x' WHERE id = (SELECT min(id) FROM body)")
    report = check(stopped)
    assert "1 messages are not as they were sent" in told(report)
    assert report.readable == 2 * MESSAGES - 1


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("DELETE FROM body WHERE id IN (SELECT id FROM body LIMIT 3)", "3 messages have no body"),
        ("DELETE FROM entry WHERE id IN (SELECT id FROM entry LIMIT 2)", "2 bodies belong to no message"),
        ("DELETE FROM physical WHERE number = 1", "600 messages are in physical queue 1, which is not there"),
        ("DELETE FROM queue WHERE uid = 'uid-1'", "belongs to a queue that is not there"),
        ("UPDATE physical SET reserved = 5 WHERE number = 1", "would give ids again"),
        ("UPDATE entry SET t = (1 << 61) + id WHERE pq = 2", "wait for nothing"),
        ("UPDATE queue SET record = '{' WHERE uid = 'uid-1'", "a record cannot be read"),
        ("DELETE FROM meta", "receipt handles"),
        ("DROP TABLE attempt", "table attempt: is missing"),
        ('INSERT INTO account VALUES (\'1\', \'{"id":"1","name":"a","created_us":1}\')', "account.key: is missing"),
        ("PRAGMA user_version = 99", "format 99"),
        ("PRAGMA user_version = -5", "format -5"),
        ("PRAGMA user_version = 2", "table lease: is one of format 3, and the file says that it has 2"),
        ("PRAGMA application_id = 1", "not Rockdove's"),
    ],
)
def test_what_sqlite_does_not_know_of(stopped: Path, sql: str, what: str) -> None:
    change(stopped, sql)
    assert what in told(check(stopped))


def test_a_log_that_is_missing(killed: Path) -> None:
    (killed / LOG).unlink()
    assert f"{LOG}: is missing" in told(check(killed))
    said = refusal(killed)
    assert LOG in said
    assert "put it back" in said
    (killed / LOCK).unlink()
    store = opened(killed)
    store.close()


def test_a_kill_at_the_start_misses_no_log(stopped: Path) -> None:
    """A service that was killed before it had a log, or when it had none any more, starts again."""
    (stopped / LOCK).write_text("12345\n")
    opened(stopped).close()


def test_an_empty_file(stopped: Path) -> None:
    (stopped / DATABASE).write_bytes(b"")
    assert "empty" in told(check(stopped))
    assert "or none" in refusal(stopped)


def test_a_strange_file(stopped: Path) -> None:
    (stopped / DATABASE).write_bytes(b"something else " * 5_000)
    assert "no database" in told(check(stopped))
    assert "not a Rockdove database" in refusal(stopped)


def cut_log(folder: Path, size: int) -> None:
    os.truncate(folder / LOG, size)


def overwrite_log(folder: Path, at: int, data: bytes) -> None:
    with (folder / LOG).open("r+b") as file:
        file.seek(at)
        file.write(data)


def bad_page(folder: Path) -> None:
    """In the middle, so that changes follow it."""
    overwrite_log(folder, LOG_HEADER_BYTES + 20 * FRAME_BYTES + 100, b"something else")


def without_index(folder: Path) -> None:
    """As after a power cut, where nothing tells how long the log was."""
    (folder / INDEX).unlink()
    bad_page(folder)


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda folder: (folder / LOG).write_bytes(b"something else " * 5_000), "first bytes"),
        (lambda folder: overwrite_log(folder, 3, b"\xff"), "first bytes"),
        (lambda folder: overwrite_log(folder, 0, bytes(PAGE_BYTES)), "first bytes"),
        (lambda folder: cut_log(folder, (folder / LOG).stat().st_size - 1), "written and synced"),
        (lambda folder: cut_log(folder, (folder / LOG).stat().st_size // 2), "written and synced"),
        (lambda folder: cut_log(folder, LOG_HEADER_BYTES), "written and synced"),
        (bad_page, "written and synced"),
        (without_index, "follow them"),
    ],
)
def test_a_log_that_is_damaged(killed: Path, harm: Callable[[Path], object], what: str) -> None:
    """SQLite would take it for shorter, or for none, and what was answered would be missing without a word."""
    harm(killed)
    before = (killed / LOG).read_bytes()
    for _ in range(2):
        report = check(killed)
        assert f"{LOG}: is damaged" in told(report)
        assert what in told(report)
        with pytest.raises(DataFolderError, match=rf"{LOG} is damaged: .*{what}.*rockdove check.*backup"):
            opened(killed)
    assert (killed / LOG).read_bytes() == before
    (killed / LOG).unlink()
    with pytest.raises(DataFolderError, match=f"{LOG} is missing"):
        opened(killed)


def test_a_log_that_a_power_cut_leaves(killed: Path) -> None:
    """Its last change was not synced yet, or it was just begun, or it has what failed to be synced: it is used."""
    (killed / INDEX).unlink()
    cut_log(killed, (killed / LOG).stat().st_size - 1)
    assert told(check(killed)) == ""
    failed = (killed / LOG).read_bytes()[-2 * FRAME_BYTES :]
    with (killed / LOG).open("ab") as file:
        file.write(failed)
    assert told(check(killed)) == ""
    for content in (b"", bytes(LOG_HEADER_BYTES), bytes(FRAME_BYTES)):
        (killed / LOG).write_bytes(content)
        assert told(check(killed)) == ""
        opened(killed).close()


@pytest.mark.parametrize("index", [None, b"", bytes(32_768)], ids=["true", "empty", "zeros"])
def test_a_log_that_cannot_be_written(killed: Path, index: bytes | None) -> None:
    """A snapshot that is mounted for reading: its index may be older than its log, and SQLite cannot make it anew."""
    if index is not None:
        (killed / INDEX).write_bytes(index)
    with read_only(killed):
        report = check(killed)
    assert told(report) == ""
    assert report.readable == 2 * MESSAGES
    bad_page(killed)
    with read_only(killed):
        assert f"{LOG}: is damaged" in told(check(killed))


def test_a_log_that_can_neither_be_written_nor_read(killed: Path) -> None:
    (killed / INDEX).unlink()
    with read_only(killed), pytest.raises(DataFolderError, match="copy it, and check the copy"):
        check(killed)


def opened(folder: Path) -> Any:
    loop = asyncio.new_event_loop()
    try:
        store = SqliteStore(folder, ManualClock(), random.Random(1), loop)
        return _Opened(store, loop.run_until_complete(store.open()), loop)
    except BaseException:
        loop.close()
        raise


class _Opened:
    """A store, and the loop that it needs."""

    def __init__(self, store: SqliteStore, snapshot: Snapshot, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.snapshot = snapshot
        self._loop = loop

    def do(self, function: Callable[..., None], *arguments: Any) -> Any:
        future: asyncio.Future[Any] = self._loop.create_future()
        function(*arguments, future.set_result)
        return self._loop.run_until_complete(asyncio.wait_for(future, 30))

    def close(self) -> None:
        self.store.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


def test_a_header_of_an_unknown_file_format(folders: dict[str, Path], tmp_path: Path) -> None:
    content = bytearray((folders["stopped"] / DATABASE).read_bytes())
    # SQLite's number of the schema's format, which is at most 4.
    content[44:48] = (9).to_bytes(4)
    (tmp_path / DATABASE).write_bytes(content)
    assert not check(tmp_path).sound
    with pytest.raises(DataFolderError, match=r"is damaged: .*rockdove check"):
        opened(tmp_path)


@pytest.mark.parametrize("which", [0, 1, -1])
def test_ids_out_of_order(stopped: Path, which: int) -> None:
    """SQLite believes that they are in order, and who goes on from the last one could do so for ever."""
    db = apsw.Connection(str(stopped / DATABASE))
    leaves: list[Any] = db.execute(
        "SELECT pageno FROM dbstat WHERE name = 'entry' AND pagetype = 'leaf' ORDER BY pageno"
    ).fetchall()
    db.close()
    start = (leaves[which][0] - 1) * PAGE_BYTES
    with (stopped / DATABASE).open("r+b") as file:
        file.seek(start + 3)
        cells = int.from_bytes(file.read(2))
        file.seek(start + 8)
        pointers = file.read(2 * cells)
        # The last cell of the page stands first, and the first last.
        file.seek(start + 8)
        file.write(pointers[-2:] + pointers[2:-2] + pointers[:2])
    report = check(stopped)
    assert "out of order" in told(report)
    assert 0 < report.messages <= 2 * MESSAGES
    assert report.readable == report.messages


def test_flipped_bytes_anywhere(folders: dict[str, Path], tmp_path: Path, rng: random.Random) -> None:
    """Found, or refused, or a failed request: never anything that nobody expected."""
    original = (folders["stopped"] / DATABASE).read_bytes()
    found = 0
    for number in range(FLIPS):
        folder = tmp_path / str(number)
        folder.mkdir()
        content = bytearray(original)
        start = 0 if number % 4 == 0 else rng.randrange(len(content))
        for _ in range(rng.choice([1, 8, 64])):
            at = min(start + rng.randrange(PAGE_BYTES if start else HEADER_BYTES), len(content) - 1)
            content[at] ^= 1 << rng.randrange(8)
        (folder / DATABASE).write_bytes(content)
        found += not check(folder).sound
        try:
            store = opened(folder)
        except DataFolderError:
            continue
        try:
            for record in store.snapshot.queues:
                for part in record.physical:
                    physical = store.store.physical(record, part)
                    outcome = store.do(store.store.browsing.scan, physical, Page(0, 10_000, 1_000_000))
                    assert isinstance(outcome, Scanned | StoreError)
        finally:
            store.close()
    assert found > FLIPS // 3


def test_the_command_tells_it_all(stopped: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "check", "--data", str(stopped)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0
    assert run.stdout.startswith("sound: ")
    overwrite(stopped, page_of(stopped, "body"), bytes(PAGE_BYTES))
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert "table body" in run.stdout
    assert "backup" in run.stdout
    assert run.stderr == ""
    run = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=False)
    report = json.loads(run.stdout)
    assert (run.returncode, report["sound"], report["messages"]) == (1, False, 2 * MESSAGES)
    nothing = [*COMMAND, "check", "--data", str(tmp_path / "nothing")]
    assert subprocess.run(nothing, capture_output=True, check=False).returncode == 3


def test_a_folder_in_use_is_not_checked(tmp_path: Path) -> None:
    store = opened(tmp_path / "data")
    try:
        command = [*COMMAND, "check", "--data", str(tmp_path / "data")]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert run.returncode == 5
        assert "rockdove backup" in run.stderr
    finally:
        store.close()


def test_what_can_be_read_is_saved_as_the_page_says(stopped: Path, tmp_path: Path) -> None:
    stopped.rename(tmp_path / "data")
    data = tmp_path / "data"
    overwrite(data, page_of(data, "ready"), bytes(PAGE_BYTES))
    overwrite(data, 60 * PAGE_BYTES, bytes(PAGE_BYTES))
    before = check(data)
    assert not before.sound
    page = (ROOT / "docs/how-to/when-things-break.md").read_text()
    script = page.partition("```sh\n")[2].partition("```")[0]
    path = f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    run = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.returncode, run.stdout.partition(":")[0]) == (0, "sound"), run
    saved = check(tmp_path / "saved")
    assert 0 < saved.messages == saved.readable == before.readable
    store = opened(tmp_path / "saved")
    assert len(store.snapshot.queues) == 2
    store.close()
