"""``rockdove analyse`` as users run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.made_trace import event, received, sent, write

COMMAND = [sys.executable, "-c", "from rockdove.cli import main; main()", "analyse"]


# What makes Spark quick for tests, and different from what users have.
QUICK = ("SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS")


def run(
    *words: str | Path, leave_out: tuple[str, ...] = (), cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in leave_out}
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, cwd=cwd, env={**inherited, **environment}
    )


def test_json_is_the_summary_and_nothing_else(tmp_path: Path) -> None:
    # A name that Hadoop would take for a scheme, and Spark for a pattern.
    name = "trace:[02:30] 100%"
    write(
        tmp_path / name,
        [sent("<m>", 0, queue="a<b"), received("<m>", 1, 0, queue="a<b"), event("miss", 2, queue="a<b")],
    )
    (tmp_path / name / "torn.parquet").write_bytes(b"PAR1")
    flags = ["--master", "local[1]", "--window", "1s", "--json"]
    done = run(name, "--out", "out", *flags, leave_out=QUICK, cwd=tmp_path)
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


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--window", "often"), 2, "--window must be a length of time such as 10s, 1m or 2h, not 'often'"),
        (("--conf", "spark.x"), 2, "'spark.x' must have the form NAME=VALUE"),
        (("--master", "local[1]"), 3, "there is no "),
        (("--master", "nonsense"), 1, "no master 'nonsense': it is "),
    ],
    ids=["window", "setting", "no trace", "no master"],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = run(tmp_path / "nothing", "--out", tmp_path / "out", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(tmp_path, "--out", tmp_path / "file" / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"rockdove: cannot write to {tmp_path / 'file' / 'out'}: Not a directory\n"


def test_without_java(tmp_path: Path) -> None:
    done = run(tmp_path, "--out", tmp_path / "out", PATH=str(tmp_path), JAVA_HOME="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("rockdove: Spark needs Java 17 or newer: on Debian or Ubuntu, sudo apt-get install ")
