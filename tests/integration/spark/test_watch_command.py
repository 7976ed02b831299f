"""``rockdove watch`` as users run it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from tests.support.made_trace import received, sent, write
from tests.support.process import Process

COMMAND = [sys.executable, "-c", "from rockdove.cli import main; main()", "watch"]
MASTER = ["--master", "local[1]"]
PATIENCE_S = 600


def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, words)], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_it_follows_alone_and_ends_when_told(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace", tmp_path / "out"
    write(trace / "date=2026-03-01" / "hour=12", [sent("a", 0), received("a", 1, 0)], "one")
    words = [str(trace), "--out", str(out)]
    command = [*COMMAND, *words, *MASTER, "--json"]
    with Process(command, tmp_path / "run", "watch", environment=os.environ, group=True) as process:

        def batches() -> list[str]:
            return process.out.read_text().splitlines()

        process.wait_for(lambda: len(batches()) == 1, "first batch", PATIENCE_S)
        second = run(*words)
        assert (second.returncode, second.stdout) == (5, "")
        assert second.stderr == f"rockdove: another watch is writing to {out}; stop it, or give another --out\n"
        (trace / "torn.parquet").write_bytes(b"PAR1")
        write(trace / "date=2026-03-01" / "hour=13", [sent("b", 3600)], "two")
        process.wait_for(lambda: '"closed":[{' in batches()[-1], "closed window", PATIENCE_S)
        process.wait_for(lambda: json.loads(batches()[-1])["files"] == 3, "all files", PATIENCE_S)
        # As Ctrl-C on a terminal: Spark and its workers get the signal as well.
        os.killpg(process.pid, signal.SIGINT)
        process.wait_for(lambda: process.exit_code is not None, "end", PATIENCE_S)
        assert process.exit_code == 0
        lines = [json.loads(line) for line in batches()]
        said = process.err.read_text()
    closed = [row for line in lines for row in line["closed"]]
    assert [(row["queue"], row["sent"], row["received"], row["arrival_rate"]) for row in closed] == [
        ("jobs", 1, 1, 0.1)
    ]
    assert (lines[-1]["events"], lines[-1]["corrupt"], lines[-1]["late"]) == (3, 1, 0)
    assert [row["sent"] for row in lines[-1]["open"]] == [1]
    assert "torn.parquet: cannot be read" in said
    assert said.splitlines()[-1] == f"stopped; the next watch of {out} goes on from there"
    assert "Traceback" not in said
    assert "Exception" not in said
    assert pq.read_table(out / "metrics")["sent"].to_pylist() == [1]

    changed = run(*words, "--window", "1m")
    assert (changed.returncode, changed.stdout) == (5, "")
    assert changed.stderr.endswith(f"{out} has windows of 10s, not of 60s; give --window 10s, or another --out\n")

    # What is older than the watermark is complete: nothing stays open.
    once = run(*words, *MASTER, "--once")
    assert once.returncode == 0, once.stderr
    assert once.stdout.splitlines()[0].startswith("queue   arrivals/s   served/s   misses ")
    # Of this run: the files were read by the one before.
    assert once.stdout.splitlines()[-1] == "0 events in 0 files · 1 window closed, 0 open · 0 late events"
    assert pq.read_table(out / "metrics")["sent"].to_pylist() == [1, 1]


def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path) -> None:
    none = run(tmp_path / "none", "--out", tmp_path / "out")
    assert (none.returncode, none.stdout) == (3, "")
    assert none.stderr == (
        f"rockdove: there is no folder {tmp_path / 'none'}; record a trace with: rockdove serve --trace DIR\n"
    )
    wrong = run(tmp_path, "--out", tmp_path / "out", "--watermark", "soon")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--watermark must be a length of time such as 10s" in wrong.stderr
    java = run(tmp_path, "--out", tmp_path / "out", PATH=str(tmp_path), JAVA_HOME="")
    assert (java.returncode, java.stdout) == (1, "")
    assert java.stderr.startswith("rockdove: Spark needs Java 17 or newer: on Debian or Ubuntu, sudo apt-get install ")
    assert not (tmp_path / "out").exists()
