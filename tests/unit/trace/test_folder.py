"""The folder of a trace: leftovers go, what is being written stays, and the oldest files make room."""

import os
from pathlib import Path

from rockdove.core.clock import SECOND_US
from rockdove.trace import folder
from rockdove.trace.keep import Keep

NOW_S = 1_800_000_000
HOUR = NOW_S // 3_600


def put(root: Path, name: str, age_s: float = 0, size: int = 10, hour: int = HOUR) -> Path:
    path = folder.partition(root, hour) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))
    return path


def tidy(root: Path, keep: Keep) -> int:
    return folder.tidy(root, keep, NOW_S * SECOND_US)


def test_the_place_of_an_hour(tmp_path: Path) -> None:
    assert folder.partition(tmp_path, 0) == tmp_path / "date=1970-01-01" / "hour=00"
    assert folder.partition(tmp_path, 24 * 365 + 13) == tmp_path / "date=1971-01-01" / "hour=13"


def test_incomplete_files_that_nobody_writes_are_removed(tmp_path: Path) -> None:
    complete, left, written = put(tmp_path, "a.parquet"), put(tmp_path, ".b.parquet"), put(tmp_path, ".c.parquet")
    other = put(tmp_path, ".note")
    with written.open("rb") as file:
        assert folder.lock(file.fileno())
        assert folder.clean(tmp_path) == 1
    assert [complete.exists(), left.exists(), written.exists(), other.exists()] == [True, False, True, True]


def test_a_folder_that_is_not_there_is_clean_and_tidy(tmp_path: Path) -> None:
    assert folder.clean(tmp_path / "none") == 0
    assert tidy(tmp_path / "none", Keep(1, 1)) == 0


def test_files_older_than_the_rule_go(tmp_path: Path) -> None:
    old, young = put(tmp_path, "old.parquet", 101), put(tmp_path, "young.parquet", 99)
    assert tidy(tmp_path, Keep(seconds=100)) == 1
    assert [old.exists(), young.exists()] == [False, True]


def test_the_oldest_go_until_the_rest_is_small_enough(tmp_path: Path) -> None:
    files = [put(tmp_path, f"{age}.parquet", age, 10) for age in (1, 2, 3, 4)]
    assert tidy(tmp_path, Keep(bytes=20)) == 2
    assert [file.exists() for file in files] == [True, True, False, False]


def test_both_rules_hold(tmp_path: Path) -> None:
    files = [put(tmp_path, f"{age}.parquet", age, 10) for age in (1, 2, 3, 4)]
    assert tidy(tmp_path, Keep(seconds=3, bytes=15)) == 3
    assert [file.exists() for file in files] == [True, False, False, False]


def test_no_rule_removes_nothing(tmp_path: Path) -> None:
    put(tmp_path, "old.parquet", 10**9, 10**6)
    assert tidy(tmp_path, Keep()) == 0


def test_folders_that_are_empty_then_go_with_them(tmp_path: Path) -> None:
    old, young = put(tmp_path, "a.parquet", 10_000, hour=HOUR - 30), put(tmp_path, "b.parquet")
    tidy(tmp_path, Keep(seconds=100))
    assert [path.name for path in tmp_path.iterdir()] == [young.parent.parent.name]
    assert old.parent.parent != young.parent.parent


def test_incomplete_files_and_those_of_others_are_left_alone(tmp_path: Path) -> None:
    files = [put(tmp_path, ".a.parquet", 1_000), put(tmp_path, "notes.txt", 1_000)]
    assert tidy(tmp_path, Keep(seconds=100, bytes=1)) == 0
    assert all(file.exists() for file in files)
