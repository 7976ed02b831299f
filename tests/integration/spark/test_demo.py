"""`rockdove demo` from end to end: all of its parts, the watch's table, and what is left of it."""

import json
import os
import signal
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.integration.spark.test_watch_command import PATIENCE_S
from tests.support.process import Process
from tests.support.server import COMMAND
from tests.unit.cli.outcome import Cli


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this process and of all that it starts."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def ours(tmp: Path) -> list[str]:
    """Command lines of what was started with this folder for temporary files."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if f"{tmp}/rockdove-demo-".encode() in text:
            found.append(text.replace(b"\0", b" ").decode())
    return found


def test_the_circle(cli: Cli, tmp_path: Path, temporary: Path) -> None:
    out = tmp_path / "out"
    done = cli("demo", "--seconds", "12", "--out", str(out), "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert {"bench", "machine", "command", "rows", "ratios", "holds", "decisions", "samples"} <= set(report)
    assert report["sent"] > 100
    assert (report["lost"], report["handled"]) == (0, report["sent"])
    # It does not begin before the watch has its first figures.
    assert report["rounds_by_watch"] > 0
    assert report["holds"]["the controller went by the watch"]
    assert len(report["samples"]) >= 12
    # Spark tells the same as who has sent and handled.
    assert sum(row["sent"] for row in report["rows"]) == report["sent"]
    assert sum(row["deleted"] for row in report["rows"]) >= report["handled"]
    assert report["service_ms"] >= 30 * 0.8
    assert any(row["delivery_ms"] for row in report["rows"])
    assert json.loads((out / "demo.json").read_text()) == report
    ET.parse(out / "demo.svg")
    assert "waiting for the first figures of the watch" in done.err
    assert list(temporary.glob("rockdove-demo-*")) == []
    assert ours(temporary) == []


def test_ctrl_c_ends_all_parts(tmp_path: Path, temporary: Path) -> None:
    with Process([*COMMAND, "demo"], tmp_path / "run", "demo", environment=os.environ, group=True) as process:
        process.wait_for(lambda: "messages/s" in process.out.read_text(), "a first line", PATIENCE_S)
        assert ours(temporary)
        os.killpg(process.pid, signal.SIGINT)
        process.wait_for(lambda: process.exit_code is not None, "end", PATIENCE_S)
        assert process.exit_code == 130
        assert "Traceback" not in process.err.read_text()
    assert list(temporary.glob("rockdove-demo-*")) == []
    assert ours(temporary) == []
