"""A small file system of its own, to be filled up, and a folder that nobody can write to."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_BLOCK = bytes(64 * 1024)


@contextmanager
def small_disk(path: Path, size_bytes: int) -> Iterator[Path]:
    """Mount one on a folder. Needs root; where that cannot be had, the test says so."""
    path.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},mode=700", "none", str(path)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"NOT TESTED: a full disk needs leave to mount one, so run this as root: {mounted.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Also for root."""
    mount = ["mount", "--bind", "-o", "ro", str(folder), str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        return
    if os.access(folder, os.W_OK) and not os.getuid():
        pytest.skip("NOT TESTED: for root only a mount can be read-only, and there is no leave to make one")
    modes = {path: path.stat().st_mode for path in (*folder.iterdir(), folder)}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path in reversed(modes):
            path.chmod(modes[path])


def fill(path: Path) -> Path:
    """Take all that is free; gives the file that has it."""
    filler = path / "filler"
    with filler.open("ab", buffering=0) as file:
        for block in (_BLOCK, bytes(4096), b"\0"):
            try:
                while True:
                    file.write(block)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    return filler


def free_bytes(path: Path) -> int:
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize
