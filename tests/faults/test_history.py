"""A minute of the history checker: clients of every kind while the service is killed, paused, filled and confused."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 30


@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_is_lost_back_early_or_out_of_order(workers: int) -> None:
    """The seed is drawn and printed; `python -m bench.history` runs for longer."""
    command = [sys.executable, "-m", "bench.history", "--seconds", str(SECONDS), "--workers", str(workers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "0 violations" in done.stdout
