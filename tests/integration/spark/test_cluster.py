"""The analysis on a standalone cluster: a master and two workers, whose Python has no Rockdove but what was sent."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.support import plain_analysis
from tests.support.made_trace import event, received, sent, write
from tests.support.port import free_port

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with our packages, but without Rockdove: what an editable installation adds is not looked at there."""
    home = tmp_path_factory.mktemp("python") / "env"
    venv.create(home, with_pip=False, symlinks=True)
    packages = next(home.glob("lib/python*/site-packages"))
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    program = home / "bin" / "python"
    look = [str(program), "-c", "import numba, pyarrow, importlib.util; print(importlib.util.find_spec('rockdove'))"]
    done = subprocess.run(look, capture_output=True, text=True, check=True, env=_clean(), cwd=home)
    assert done.stdout == "None\n"
    return program


@pytest.fixture(scope="module")
def master(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    port, page = free_port(), free_port()
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    worker = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", f"{port}", "--webui-port", f"{page}"],
        *([f"{deploy}.worker.Worker", *worker, "--work-dir", str(folder / f"work-{n}"), url] for n in (1, 2)),
    ]
    running = []
    try:
        for number, command in enumerate(commands):
            with (folder / f"{number}.log").open("wb") as log:
                # Workers run in a folder of their own, so that they cannot find our sources beside them.
                place = {"cwd": folder, "env": _clean(), "stdout": log, "stderr": log}
                running.append(subprocess.Popen([SPARK_CLASS, *command], **place))  # type: ignore[call-overload]
        _await_workers(page, 2)
        yield url
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(PATIENCE_S)


def _clean() -> dict[str, str]:
    """The environment of a machine that knows nothing of this repository."""
    ours = re.compile("PYTHON|PYSPARK|SPARK|ROCKDOVE|VIRTUAL_ENV|COV")
    return {name: value for name, value in os.environ.items() if not ours.match(name)} | {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "512m",
    }


def _await_workers(page: int, number: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/") as answer:
                if json.load(answer)["aliveworkers"] == number:
                    return
        except OSError:
            pass
        time.sleep(0.2)
    pytest.fail("the workers did not come up")


def test_executors_get_all_that_they_need(master: str, python: Path, tmp_path: Path) -> None:
    events = []
    for n in range(200):
        queue = f"queue-{n % 4}"
        events += [sent(f"m{n}", n, queue=queue, latency_us=n), received(f"m{n}", 300 + n ^ 1, n, queue=queue)]
    events += [event("miss", 900, queue=f"queue-{n}") for n in range(4)]
    write(tmp_path / "trace", events)
    settings = {
        "spark.pyspark.python": str(python),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        # Compiled lightly: they live for seconds only.
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.shuffle.partitions": "2",
    }
    flags = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-c", "from rockdove.cli import main; main()", "analyse", str(tmp_path / "trace")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--master", master, "--json", *flags],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found, plain = json.loads(done.stdout), plain_analysis.analyse(events)
    for name in ("sent", "received", "lost", "out_of_order_rate", "displacement"):
        assert found["overall"][name] == pytest.approx(plain["overall"][name]), name
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == found
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
