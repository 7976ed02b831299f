"""scripts/stages.sh: stages run in their order, and the first that fails ends the run by name."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "stages.sh"


@pytest.fixture
def make(tmp_path: Path) -> Path:
    """A stand-in for make: notes the target it was given, and fails at `bad`."""
    program = tmp_path / "make"
    program.write_text(f'#!/bin/sh\necho "$2" >>{tmp_path}/ran\ntest "$2" != bad\n')
    program.chmod(0o755)
    return program


def run(make: Path, *targets: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    done = subprocess.run([SCRIPT, make, *targets], capture_output=True, text=True, check=False)
    return done, (make.parent / "ran").read_text().split()


def test_all_stages_run_and_are_timed(make: Path) -> None:
    done, ran = run(make, "lint", "test-quick")
    assert (done.returncode, ran) == (0, ["lint", "test-quick"])
    assert "=== test-quick ok, 0 s" in done.stdout
    assert "All stages ok" in done.stdout


def test_the_first_failure_ends_the_run(make: Path) -> None:
    done, ran = run(make, "lint", "bad", "test-quick")
    assert (done.returncode, ran) == (1, ["lint", "bad"])
    assert "=== bad FAILED" in done.stderr
    assert "All stages ok" not in done.stdout
