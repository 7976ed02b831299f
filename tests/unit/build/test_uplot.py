"""What charts are drawn with is fetched only as it is pinned."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from rockdove.console.render import UPLOT
from scripts import uplot


def archive(folder: Path) -> Path:
    """A package that is not the one that is meant."""
    path = folder / "other.tgz"
    with tarfile.open(path, "w:gz") as packed:
        member = tarfile.TarInfo("package/dist/uPlot.iife.min.js")
        member.size = 5
        packed.addfile(member, io.BytesIO(b"evil("))
    return path


def test_another_package_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(uplot, "_pack", archive)
    monkeypatch.setattr(uplot, "PLACE", tmp_path / "vendor")
    with pytest.raises(uplot.FetchError, match="is not used"):
        uplot.fetch()
    assert not (tmp_path / "vendor").exists()


def test_without_npm_it_says_so(tmp_path: Path) -> None:
    copy = tmp_path / "scripts" / "uplot.py"
    copy.parent.mkdir()
    copy.write_text(Path(uplot.__file__).read_text())
    done = subprocess.run(
        [sys.executable, str(copy)],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "rockdove: there is no npm\n")


def test_the_console_looks_for_it_where_it_is_put() -> None:
    assert uplot.PLACE / uplot.FILES["package/dist/uPlot.iife.min.js"] == UPLOT


def test_git_does_not_have_it() -> None:
    ignored = (uplot.PLACE.parents[4] / ".gitignore").read_text().splitlines()
    assert "/src/rockdove/console/static/vendor/" in ignored
