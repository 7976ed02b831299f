"""The key file: its owner's alone, made once, and refused if it is not as it should be."""

import errno
import os
from pathlib import Path

import pytest

from rockdove.core.errors import DataFolderError
from rockdove.store.common.keyfile import KEY_FILE, KeyFile, MemoryKey


def test_a_key_is_made_once_and_kept(tmp_path: Path) -> None:
    file = KeyFile(tmp_path)
    assert file.read() is None
    key = file.create()
    assert len(key) == 32
    assert file.read() == KeyFile(tmp_path).read() == key
    with pytest.raises(DataFolderError, match=r"cannot make the key file .*: File exists"):
        file.create()
    assert file.read() == key


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_a_new_one(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        KeyFile(tmp_path).create()
    finally:
        os.umask(before)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o610])
def test_one_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    file = KeyFile(tmp_path)
    file.create()
    file.path.chmod(mode)
    with pytest.raises(DataFolderError, match=rf"\(mode {mode:04o}\); close it with: chmod 600 .*{KEY_FILE}"):
        file.read()


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_one_that_others_cannot_use_is_fine(tmp_path: Path, mode: int) -> None:
    file = KeyFile(tmp_path)
    key = file.create()
    file.path.chmod(mode)
    assert file.read() == key


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"rockdove-key-1:", b"rockdove-key-1:AAAA", b"\xff\xfe", b"rockdove-key-2:"]
)
def test_a_damaged_one_is_refused(tmp_path: Path, text: bytes) -> None:
    file = KeyFile(tmp_path)
    file.create()
    file.path.write_bytes(text)
    with pytest.raises(DataFolderError, match="is damaged; put it back from a backup"):
        file.read()


def test_a_place_where_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataFolderError, match="cannot make the key file"):
        KeyFile(tmp_path / "file").create()


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    """The data of some stores is on other machines."""
    KeyFile(tmp_path / "own" / "folder").create()
    assert (tmp_path / "own" / "folder").stat().st_mode & 0o077 == 0


def test_one_that_could_not_be_written_is_not_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = KeyFile(tmp_path)
    with monkeypatch.context() as fault:
        fault.setattr(os, "fsync", full)
        with pytest.raises(DataFolderError, match=r"cannot make the key file .*: No space left on device"):
            file.create()
    assert list(tmp_path.iterdir()) == []
    assert file.create() == file.read()
    assert [each.name for each in tmp_path.iterdir()] == [KEY_FILE]


def test_in_memory_it_lasts_as_long_as_its_object() -> None:
    key = MemoryKey()
    assert key.read() is None
    assert key.create() == key.read()
