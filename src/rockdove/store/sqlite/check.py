"""Looks a data folder over, from the first byte to the last, changing nothing: what is wrong, and what can be read."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

from rockdove.core import ids
from rockdove.core.account import Account, sealed_for
from rockdove.core.cipher import Cipher, Unsealable
from rockdove.core.errors import DataFolderError
from rockdove.core.queue import MoveTask, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.common.keyfile import KEY_FILE, KeyFile
from rockdove.store.sqlite.backup import NothingThere
from rockdove.store.sqlite.damage import can_read, index_kept, log_damage
from rockdove.store.sqlite.folder import (
    APPLICATION_ID,
    DATABASE,
    FORMAT,
    LOCK,
    LOG,
    OPEN,
    UNRELEASED,
    FolderInUse,
    check_name,
    lacking,
)
from rockdove.store.sqlite.grouped import WAITING_US
from rockdove.store.sqlite.lease_check import check_leases
from rockdove.store.sqlite.scan import Progress, Scan

# Problems of one kind that are told one by one.
MOST_TOLD = 20
_MAGIC = b"SQLite format 3\0"
_RECORDS = (("queue", QueueRecord), ("task", MoveTask), ("account", Account), ("topic", TopicRecord))
# Since which format there are which tables.
_TABLES = {
    1: ("meta", "queue", "task", "deleted", "physical", "entry", "body", "seen", "attempt"),
    2: ("account",),
    3: ("lease", "consumer", "stage", "published"),
    4: ("application",),
    5: ("landing",),
    6: ("topic",),
}


class Problem(msgspec.Struct, frozen=True):
    """Something that should not be. ``where`` is a table, or a file."""

    where: str
    what: str


class Report(msgspec.Struct):
    """What was found. ``messages`` counts the index; ``readable`` those whose body is there and as it was sent."""

    bytes: int = 0
    format: int | None = None
    queues: int = 0
    messages: int = 0
    readable: int = 0
    problems: list[Problem] = msgspec.field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.problems

    @property
    def unreleased(self) -> bool:
        """Whether nothing is known to be wrong but that its format was never released."""
        return any(problem.what.startswith(UNRELEASED) for problem in self.problems)

    def add(self, where: str, what: str) -> None:
        self.problems.append(Problem(where, " ".join(what.split())))


def check(folder: Path, progress: Progress = lambda number: None) -> Report:
    """``progress`` is told how many messages were read so far. Raises `DataFolderError` if it cannot be looked at."""
    database = folder / DATABASE
    if not database.is_file():
        raise NothingThere(f"there is no {DATABASE} in {folder}; name the folder that a service used with --data")
    check_name(folder)
    if _has_log(folder) and not can_read(folder):
        raise DataFolderError(
            f"{folder} cannot be written, so that its log cannot be read; copy it, and check the copy"
        )
    report = Report(bytes=database.stat().st_size)
    with _held(folder), index_kept(folder):
        _check_files(folder, report)
        try:
            db = _open(folder)
        except apsw.Error as error:
            report.add(DATABASE, f"cannot be opened: {error}")
            return report
        try:
            if _check_format(db, report):
                _check_contents(folder, db, report, progress)
        finally:
            db.close()
    return report


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """No service may begin meanwhile, nor be there."""
    try:
        lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise DataFolderError(f"cannot read {folder / LOCK}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        holder = os.pread(lock, 64, 0).decode("ascii", "replace").split()
        raise FolderInUse(folder, holder[0] if holder else "unknown") from None
    finally:
        os.close(lock)


def _check_files(folder: Path, report: Report) -> None:
    database = folder / DATABASE
    with database.open("rb") as file:
        header = file.read(100)
    if not header:
        report.add(DATABASE, "is empty")
    elif not header.startswith(_MAGIC):
        report.add(DATABASE, "is no database: it begins with other bytes than one does")
    elif not _has_log(folder) and report.bytes < (expected := _expected_bytes(header)):
        report.add(DATABASE, f"is cut off: it has {report.bytes:,} bytes, and should have {expected:,}")
    lock = folder / LOCK
    if lock.exists() and lock.read_text("ascii", "replace").strip().endswith(OPEN) and not (folder / LOG).exists():
        report.add(LOG, "is missing: the service was killed, and what it had written last was there")
    wrong = log_damage(folder)
    if wrong is not None:
        report.add(LOG, f"is damaged: {wrong}")
    try:
        KeyFile(folder).read()
    except DataFolderError as error:
        report.add(KEY_FILE, str(error))


def _open(folder: Path) -> apsw.Connection:
    """For reading. SQLite makes a file beside the database only if there is a log to be read."""
    path = (folder / DATABASE).absolute()
    if _has_log(folder):
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    else:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"{path.as_uri()}?immutable=1", flags=flags)
    db.set_busy_timeout(5000)
    # Else SQLite would read nothing at all of a file that is cut off.
    db.pragma("writable_schema", True)
    return db


def _has_log(folder: Path) -> bool:
    log = folder / LOG
    return log.exists() and log.stat().st_size > 0


def _expected_bytes(header: bytes) -> int:
    """What a database's header says of its size."""
    page = int.from_bytes(header[16:18], "big")
    return (65_536 if page == 1 else page) * int.from_bytes(header[28:32], "big")


def _check_format(db: apsw.Connection, report: Report) -> bool:
    try:
        application, report.format = db.pragma("application_id"), db.pragma("user_version")
    except apsw.Error as error:
        report.add(DATABASE, f"cannot be read: {error}")
        return False
    if application != APPLICATION_ID:
        report.add(DATABASE, "is not Rockdove's")
        return False
    if not 1 <= report.format <= FORMAT:
        report.add(DATABASE, f"has format {report.format}, and this Rockdove reads up to {FORMAT}")
        return False
    try:
        lacks = lacking(db)
    except apsw.Error:
        # What is wrong, the checks that follow tell.
        return True
    if lacks is not None:
        report.add(DATABASE, f"{UNRELEASED}: {lacks}")
    return lacks is None


def _check_contents(folder: Path, db: apsw.Connection, report: Report, progress: Progress) -> None:
    for examine in (_check_structure, _check_tables, _check_records, _check_places, _check_groups, _check_leases):
        try:
            examine(folder, db, report)
        except (apsw.Error, ValueError, TypeError) as error:
            report.add(DATABASE, f"cannot be read any further: {error}")
    scan = Scan(db)
    scan.run(progress)
    report.messages, report.readable = scan.messages, scan.readable
    report.problems += [Problem(f"table {table}", what) for table, what in scan.problems()]


def _check_structure(folder: Path, db: apsw.Connection, report: Report) -> None:
    """SQLite's own check of all pages and indexes."""
    trees: dict[str, str] = {}
    for name, table, root in db.execute("SELECT name, tbl_name, rootpage FROM sqlite_schema WHERE rootpage"):
        trees[str(root)] = f"table {table}" if name == table else f"index {name} of table {table}"
    for (line,) in db.execute(f"PRAGMA integrity_check({MOST_TOLD})"):
        for text in str(line).splitlines():
            if text == "ok" or text.startswith("***"):
                continue
            words = text.split()
            where = trees.get(words[1], DATABASE) if words[0] == "Tree" and len(words) > 1 else DATABASE
            report.add(where, text)


def _check_tables(folder: Path, db: apsw.Connection, report: Report) -> None:
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    told = report.format or 0
    for since, tables in _TABLES.items():
        for table in tables:
            if since > told and table in there:
                report.add(f"table {table}", f"is one of format {since}, and the file says that it has {told}")
            elif since <= told and table not in there:
                report.add(f"table {table}", "is missing")
    secret = db.execute("SELECT value FROM meta WHERE name = 'secret'").get
    if not isinstance(secret, bytes) or len(secret) < 16:
        report.add("table meta", "the key that signs receipt handles is missing")


def _check_records(folder: Path, db: apsw.Connection, report: Report) -> None:
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table, kind in _RECORDS:
        if table not in there:
            continue
        number = 0
        # Of an account that was removed there is only the id.
        for (text,) in db.execute(f"SELECT record FROM {table} WHERE record IS NOT NULL"):
            number += 1
            try:
                record = msgspec.json.decode(text, type=kind)
                if isinstance(record, Account):
                    _check_secrets(folder, record, report)
            except (msgspec.DecodeError, TypeError, UnicodeError) as error:
                report.add(f"table {table}", f"a record cannot be read: {error}")
        if table == "queue":
            report.queues = number
        if table == "account" and number and not (folder / KEY_FILE).exists():
            report.add(KEY_FILE, f"is missing, and without it the secrets of {number} accounts cannot be read")


def _check_secrets(folder: Path, account: Account, report: Report) -> None:
    """Whether the key file, if it is there and can be read, is the one that was used with this data."""
    try:
        key = KeyFile(folder).read()
    except DataFolderError:
        return
    for one in account.keys if key is not None else []:
        try:
            Cipher(key or b"").open(one.sealed, sealed_for(account.id, one.access_key))
        except Unsealable:
            report.add(KEY_FILE, f"does not open the secret {one.access_key} of the account {account.name}")


def _check_places(folder: Path, db: apsw.Connection, report: Report) -> None:
    """Queues have physical queues, those have entries, and those have numbers that were given out."""
    rows = db.execute("SELECT number, queue, reserved FROM physical")
    physical: dict[int, tuple[Any, ...]] = {number: (queue, reserved) for number, queue, reserved in rows}
    uids = {uid for (uid,) in db.execute("SELECT uid FROM queue")}
    for uid, text in db.execute("SELECT uid, record FROM queue"):
        try:
            record = msgspec.json.decode(text, type=QueueRecord)
        except (msgspec.DecodeError, TypeError, UnicodeError):
            continue
        for part in record.physical:
            if physical.get(part.number, (None, 0))[0] != uid:
                report.add("table physical", f"queue {record.name}: its physical queue {part.number} is missing")
    for number, (queue, _) in physical.items():
        if queue is not None and queue not in uids:
            report.add("table physical", f"physical queue {number} belongs to a queue that is not there")
    for number, count, last in db.execute("SELECT pq, count(*), max(id) FROM entry GROUP BY pq"):
        if number not in physical:
            report.add("table entry", f"{count:,} messages are in physical queue {number}, which is not there")
        elif ids.physical_of(last) != number:
            report.add("table entry", f"message {last} is in physical queue {number}, and its id says another")
        elif (last & ids.SEQUENCE_MASK) >= physical[number][1]:
            report.add("table physical", f"physical queue {number} would give ids again that messages have")


def _check_groups(folder: Path, db: apsw.Connection, report: Report) -> None:
    sql = (
        "SELECT pq, grp, count(*) FROM entry JOIN physical ON number = pq WHERE fifo AND queue IS NOT NULL "
        "GROUP BY pq, grp HAVING min(t) >= ?"
    )
    for number, group, count in db.execute(sql, (WAITING_US,)):
        report.add("table entry", f"{count:,} messages of group {group!r} in physical queue {number} wait for nothing")


def _check_leases(folder: Path, db: apsw.Connection, report: Report) -> None:
    check_leases(db, report.add)
