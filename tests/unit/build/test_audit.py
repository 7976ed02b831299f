"""scripts/audit.py: it never says that all is well when it could not look."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "audit.py"

GOOD = {"name": "good", "version": "1", "vulns": []}
WEAK = {"name": "weak", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "unknown", "skip_reason": "not found"}


def run(folder: Path, packages: list[Any] | None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """With a stand-in for pip-audit that gives this answer, or fails as it does without a network."""
    answer = folder / "answer"
    answer.write_text("" if packages is None else json.dumps({"dependencies": packages}))
    program = folder / "pip-audit"
    program.write_text(f'#!/bin/sh\ncat {answer}\necho "no such host" >&2\nexit {code}\n')
    program.chmod(0o755)
    return subprocess.run([sys.executable, SCRIPT, program], capture_output=True, text=True, check=False)


def test_all_is_well(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD, GOOD])
    assert (done.returncode, done.stdout) == (0, "audit: 2 of 2 packages looked up, 0 known weaknesses\n")


def test_a_weakness(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD, WEAK, UNKNOWN], code=1)
    assert done.returncode == 1
    assert "weak 2: CVE-1, fixed in 3\n" in done.stdout


@pytest.mark.parametrize("packages", [[GOOD, UNKNOWN], [UNKNOWN], []], ids=["some", "all", "none at all"])
def test_packages_that_nobody_knows(tmp_path: Path, packages: list[Any]) -> None:
    done = run(tmp_path, packages)
    assert done.returncode == 4
    assert "gave no answer" in done.stderr


def test_no_network(tmp_path: Path) -> None:
    done = run(tmp_path, None, code=1)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "audit: nothing was checked: the advisories could not be reached (no such host)\n"
