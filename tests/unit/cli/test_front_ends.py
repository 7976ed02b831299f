"""``rockdove autoscale --front-ends``: what its flags must say, and what it shows."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from rockdove.capacity.scaling.step import Act
from rockdove.cli.scaling import front_ends
from rockdove.elastic.front_end.state import Round, ShownFrontEnd
from rockdove.elastic.state import Decided
from rockdove.elastic.worker.report import ReportFile
from tests.unit.cli.outcome import Cli

STORE = ["--store", "redis://127.0.0.1:6379"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say which queue, as in: rockdove autoscale QUEUE; or --front-ends"),
        (["jobs", "--front-ends", *STORE], "leave out QUEUE, --handler, --exec and --elastic"),
        (["--front-ends", *STORE, "--exec", "true"], "leave out QUEUE, --handler, --exec and --elastic"),
        (["jobs", "--exec", "true", "--max", "3"], "--max is for front-ends: say --front-ends, and no QUEUE"),
        (["jobs", "--exec", "true", "--high-bytes", "1GB"], "--high-bytes is for front-ends"),
        (["--front-ends"], "say which store the front-ends share: --store redis://HOST:PORT,HOST:PORT or cassandra://"),
        (["--front-ends", "--store", "sqlite"], "one process has the store 'sqlite' for itself"),
        (["--front-ends", "--store", "memory"], "one process has the store 'memory' for itself"),
        (["--front-ends", "--store", "postgres://x"], "--store: there is no store 'postgres'"),
        (["--front-ends", *STORE, "--listen", "9324"], "--listen is ADDRESS:PORT, such as 127.0.0.1:9324, not '9324'"),
        (["--front-ends", *STORE, "--listen", "127.0.0.1:0"], "--listen is ADDRESS:PORT"),
        (["--front-ends", *STORE, "--listen", "queues.lan:80"], "--listen is ADDRESS:PORT"),
        (["--front-ends", *STORE, "--min", "3", "--max", "2"], "--max 2 is less than --min 3"),
        (["--front-ends", *STORE, "--low-ms", "200"], "--low-ms 200 is not below --high-ms 200"),
        (["--front-ends", *STORE, "--high-bytes", "much"], "--high-bytes is a size such as 500MB or 10GB, not 'much'"),
        (["--front-ends", *STORE, "--high-bytes", "0"], "--high-bytes is a size"),
        (["--front-ends", *STORE, "--allow-host", "http://a"], "--allow-host: 'http://a' is not the name of a host"),
    ],
)
def test_what_is_wrong_is_told(cli: Cli, words: list[str], told: str) -> None:
    outcome = cli("autoscale", *words)
    assert told in outcome.err
    assert outcome.code == 2


def test_one_controller_at_a_time(cli: Cli, tmp_path: Path) -> None:
    lock = ReportFile(tmp_path / "state" / "controller.lock")
    outcome = cli("autoscale", "--front-ends", *STORE, "--folder", str(tmp_path / "state"))
    assert outcome.code == 5
    assert "another controller has " in outcome.err
    lock.close()


def test_what_one_sees() -> None:
    told = Round(
        at=0,
        period_s=10,
        wanted=2,
        requests=1_000,
        mean_s=0.0123,
        storage_bytes=2.5e6,
        front_ends=[
            ShownFrontEnd(
                number=1, state="up", pid=5, url="http://127.0.0.1:9001", requests=1_000, mean_s=0.0123, long_polls=7
            ),
            ShownFrontEnd(number=2, state="starting", pid=6),
        ],
        decisions=[Decided(at=0, act=Act.ADD, reason="one more", workers=1)],
    )
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(front_ends("redis://r:6379", told))
    text = capture.get()
    assert "redis://r:6379  100.0 requests/s, mean 12.3 ms, 2.5 MB stored, 2 front-ends" in text
    assert "127.0.0.1:9001" in text
    assert "starting" in text
    assert "one more" in text
