"""deploy/: the unit and the image name only what there is."""

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rockdove.cli.main import app

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "deploy" / "rockdove.service"
IMAGE = ROOT / "deploy" / "Containerfile"
README = ROOT / "deploy" / "README.md"


def serve() -> Any:
    return get_command(app).commands["serve"]  # type: ignore[attr-defined]


def unit() -> configparser.SectionProxy:
    # A unit may say one thing twice.
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(UNIT.read_text())
    return parser["Service"]


def test_the_unit_starts_a_command_that_there_is() -> None:
    program, command, *words = shlex.split(unit()["ExecStart"])
    assert (Path(program).name, command) == ("rockdove", "serve")
    flags = {flag for parameter in serve().params for flag in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= flags
    assert words[words.index("--data") + 1] == f"/var/lib/{unit()['StateDirectory']}"


@pytest.mark.parametrize("path", [UNIT, IMAGE, README], ids=lambda path: path.name)
def test_settings_are_known(path: Path) -> None:
    known = {parameter.envvar for parameter in serve().params if getattr(parameter, "envvar", None)}
    named = set(re.findall(r"\b(ROCKDOVE_[A-Z_]+)\b", path.read_text()))
    assert named
    assert named <= known


def test_the_service_may_take_as_long_to_stop_as_it_needs() -> None:
    assert int(unit()["TimeoutStopSec"]) > 5


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("rockdove")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/rockdove/.venv/bin/rockdove", str(program)))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_gets_what_it_copies_and_no_more() -> None:
    ignored = (ROOT / ".containerignore").read_text()
    assert (ROOT / ".dockerignore").read_text() == ignored
    kept = set(re.findall(r"^!(.+)$", ignored, re.MULTILINE))
    copied: set[str] = set()
    for line in re.findall(r"^COPY (?!--from)(.+)$", IMAGE.read_text(), re.MULTILINE):
        copied |= set(line.split()[:-1])
    assert copied == kept
    assert "*" in ignored.splitlines()
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_does_not_run_as_root() -> None:
    assert re.search(r"^USER 10001:10001$", IMAGE.read_text(), re.MULTILINE)
