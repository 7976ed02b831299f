"""What is compiled from a zip file is kept by its content: Spark gives the file another path each time."""

import os
import subprocess
import sys
from pathlib import Path

from rockdove.spark.session import package

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from rockdove.spark.order import longest
assert longest(np.array([3, 1, 2])) == 2
print(sum(longest.stats.cache_hits.values()), longest.stats.cache_path)
"""


def run(archive: Path, home: Path) -> tuple[int, Path]:
    environment = os.environ | {"HOME": str(home)}
    command = [sys.executable, "-c", PROGRAM, str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    hits, path = done.stdout.split()
    return int(hits), Path(path)


def test_it_is_compiled_once_whatever_its_path(tmp_path: Path) -> None:
    home, archives = tmp_path / "home", []
    home.mkdir()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        archives.append(package(tmp_path / name))
    assert run(archives[0], home)[0] == 0
    hits, path = run(archives[1], home)
    assert hits == 1
    assert path.is_relative_to(home)


def test_where_nothing_can_be_kept_numba_looks_for_a_place(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "rockdove").write_text("no folder")
    assert run(package(tmp_path), home)[1].is_relative_to(home / ".cache" / "numba")
