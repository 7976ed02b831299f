"""Attacks on the memory of a real service, all its processes counted: `python -m bench.abuse` attacks harder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = 150
# Far less than the attackers could make the service hold.
BUFFERED = 32 * 1024 * 1024
ATTACKS = (
    "Peek",
    "leases",
    "receives that nobody",
    "quotes",
    "megabyte",
    "nine tenths",
    "two bytes",
    "trailers",
    "ahead",
)


@pytest.mark.parametrize(("attack", "workers"), [*((attack, "1") for attack in ATTACKS), ("receives that nobody", "0")])
def test_memory_stays_within_the_sum_of_the_bounds(attack: str, workers: str, tmp_path: Path) -> None:
    options = ["--clients", str(CLIENTS), "--max-buffered-bytes", str(BUFFERED), "--hold", "2", "--workers", workers]
    command = [sys.executable, "-m", "bench.abuse", "--only", attack, *options, "--json", "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (result,) = json.loads(done.stdout)["rows"]
    assert result["clients"] == CLIENTS
    assert result["grown"] <= result["bound"], result
    assert result["failures"] == 0, result
