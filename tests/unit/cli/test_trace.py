"""``rockdove serve --trace``: what it says when it cannot."""

import sys
from pathlib import Path

import pytest

from tests.unit.cli.outcome import Cli


def test_a_rule_that_is_none(cli: Cli) -> None:
    outcome = cli("serve", "--trace", "trace", "--trace-keep", "forever")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "rockdove: --trace-keep: 'forever' does not say how long to keep traces; give an age (s, m, h, d), a size (KB, "
        "MB, GB, TB) or both, such as 7d, 10GB or 7d,10GB; or all\n"
    )


def test_a_folder_that_cannot_be(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = cli("serve", "--port", "0", "--trace", str(tmp_path / "file"))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == f"rockdove: --trace: cannot record traces in {tmp_path / 'file'}: File exists\n"


def test_without_the_extra_it_says_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    outcome = cli("serve", "--port", "0", "--trace", "trace")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "rockdove: --trace: traces need pyarrow; install it with: pip install 'rockdove[trace]'\n"
