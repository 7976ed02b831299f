"""``rockdove analyse`` as users run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rockdove.spark.session import archive
from tests.integration.spark.quick import archived
from tests.support.made_trace import event, received, sent, write
from tests.unit.cli.outcome import Cli

COMMAND = [sys.executable, "-c", "from rockdove.cli import main; main()", "analyse"]


def test_json_is_the_summary_and_nothing_else(tmp_path: Path) -> None:
    # A name that Hadoop would take for a scheme, and Spark for a pattern.
    name = "trace:[02:30] 100%"
    write(
        tmp_path / name,
        [sent("<m>", 0, queue="a<b"), received("<m>", 1, 0, queue="a<b"), event("miss", 2, queue="a<b")],
    )
    (tmp_path / name / "torn.parquet").write_bytes(b"PAR1")
    flags = ["--master", "local[1]", "--window", "1s", "--json"]
    # As Java and Spark are for users, but for the archive.
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": archived()}
    command = [*COMMAND, name, "--out", "out", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["queues"]["a<b"]["received"] == 1
    assert "torn.parquet: cannot be read" in done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert "torn.parquet" in page
    assert not [word for word in ("http://", "https://", "src=", "<link") if word in page]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "queues",
        "report.html",
        "summary.json",
        "windows",
    ]


def test_a_trace_that_is_not_there_is_said_in_one_line(cli: Cli, tmp_path: Path) -> None:
    done = cli("analyse", str(tmp_path / "nothing"), "--out", str(tmp_path / "out"))
    assert (done.code, done.out) == (3, "")
    assert done.err == f"rockdove: there is no {tmp_path / 'nothing'}\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--window", "often"), 2, "--window must be a length of time such as 10s, 1m or 2h, not 'often'"),
        (("--conf", "spark.x"), 2, "'spark.x' must have the form NAME=VALUE"),
        (("--master", "nonsense"), 1, "no master 'nonsense': it is "),
    ],
    ids=["window", "setting", "no master"],
)
def test_what_cannot_be_done_is_said_in_one_line(
    early: Cli, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = early("analyse", str(tmp_path), "--out", str(tmp_path / "out"), *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_a_folder_that_cannot_be_is_told_before_the_work(early: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = early("analyse", str(tmp_path), "--out", str(tmp_path / "file" / "out"))
    assert (done.code, done.out) == (1, "")
    assert done.err == f"rockdove: cannot write to {tmp_path / 'file' / 'out'}: Not a directory\n"


def test_without_java(early: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")
    done = early("analyse", str(tmp_path), "--out", str(tmp_path / "out"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rockdove: Spark needs Java 17 or newer: on Debian or Ubuntu, sudo apt-get install ")


def test_an_archive_that_is_there_is_not_made_again(
    early: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive().parent.mkdir()
    archive().write_bytes(b"12345")
    done = early("prepare")
    assert (done.code, done.out) == (0, f"{archive()} is there already\n")
    assert json.loads(early("prepare", "--json").out) == {"archive": str(archive()), "bytes": 5, "made": False}


def test_an_archive_that_cannot_be_made_is_told_in_one_line(
    early: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    done = early("prepare")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rockdove: cannot write")
    assert done.err.count("\n") == 1
