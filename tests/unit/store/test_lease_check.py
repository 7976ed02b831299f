"""What a check of a data folder says of leases: nothing, unless they and the messages do not belong together."""

import shutil
from pathlib import Path

import apsw
import pytest

from rockdove.core.publication import Parcel, PublicationName
from rockdove.store.sqlite.check import check
from rockdove.store.sqlite.folder import DATABASE
from tests.support.store import Bench


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With leases in every state that they can come to."""
    root = tmp_path_factory.mktemp("leases")
    bench = Bench("sqlite", root)
    plain, fifo, purged = bench.queue(), bench.queue(fifo=True), bench.queue()
    for queue in (plain, purged):
        queue.send(*"abcdefgh")
    fifo.send(*"abcdefgh", group="g")
    early = plain.take(1, timeout_s=0)
    for queue in (plain, fifo, purged):
        assert queue.leased(0, limit=2)
    plain.remove(early[0].id)
    purged.purge()
    assert plain.leased(1, limit=2, consumer="other") == ["c", "d"]
    plain.ack(1, consumer="other")
    plain.leased(2, consumer="other", limit=1)
    plain.give_back("other")
    assert plain.leased(3, consumer="other", limit=1) == ["e"]
    name = PublicationName(plain.record.uid, "app", 0, 0)
    bench.do(bench.publications.stage, name, "one", 0, [Parcel("x", "md5", 0)], 1)
    bench.close()
    return root / "data"


def told(folder: Path) -> list[str]:
    return [f"{problem.where}: {problem.what}" for problem in check(folder).problems]


def test_all_that_can_happen_is_sound(folder: Path) -> None:
    assert told(folder) == []


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        (
            "DELETE FROM lease WHERE queue = 'uid-1'",
            "2 messages in physical queue 1 are leased, and no lease names them",
        ),
        ("UPDATE lease SET queue = 'uid-3' WHERE consumer = 'other'", "1 messages in physical queue 1 are leased"),
        (
            "UPDATE entry SET t = 5 WHERE pq = 2",
            "table lease: 2 messages that reader has leased can be received by others",
        ),
        ("INSERT INTO lease SELECT queue, consumer, 7, 9, 0, 1, ids FROM lease", "messages are in two leases"),
        ("DELETE FROM consumer WHERE name = 'other'", "other has leases, and is not in the table of consumers"),
        ("UPDATE consumer SET ended = 9 WHERE name = 'other'", "other has leases that have ended"),
        ("UPDATE stage SET queue = 'gone'", "table stage: 1 rows belong to a queue that is not there"),
        ("UPDATE lease SET ids = '['", "cannot be read any further: malformed JSON"),
    ],
)
def test_what_does_not_fit_is_told(folder: Path, tmp_path: Path, sql: str, what: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    db = apsw.Connection(str(copy / DATABASE))
    db.execute(sql)
    db.close()
    assert any(what in problem for problem in told(copy)), told(copy)
