"""Half a minute of the history checker on Redis servers that are killed and paused, as the service is."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 30


def test_nothing_is_lost_back_early_or_out_of_order() -> None:
    """The seed is drawn and printed; `python -m bench.history --store redis` runs for longer."""
    command = [sys.executable, "-m", "bench.history", "--seconds", str(SECONDS), "--store", "redis"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "0 violations" in done.stdout
