"""Where `rockdove autoscale` keeps what tells it which processes are its own."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rockdove.cli.failure import Failure
from rockdove.cli.provisioning import own_folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"workers-{os.getuid()}"


def test_it_is_made_once_and_for_this_user_alone(place: Path) -> None:
    assert own_folder("workers") == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert own_folder("workers") == place


def _of_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def _link(place: Path) -> None:
    place.with_name("elsewhere").mkdir(mode=0o700)
    place.symlink_to(place.with_name("elsewhere"))


def _file(place: Path) -> None:
    place.touch()


@pytest.mark.parametrize("prepare", [_of_all, _link, _file])
def test_one_that_somebody_else_may_have_made_is_refused(place: Path, prepare: Callable[[Path], None]) -> None:
    prepare(place)
    with pytest.raises(Failure, match="choose another with --folder"):
        own_folder("workers")


def test_one_of_another_user_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_folder("workers")
    found = place.lstat()
    other = os.stat_result((found.st_mode, *found[1:4], found.st_uid + 1, *found[5:10]))
    monkeypatch.setattr(Path, "lstat", lambda self: other)
    with pytest.raises(Failure, match="choose another with --folder"):
        own_folder("workers")
