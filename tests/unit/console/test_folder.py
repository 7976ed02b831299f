"""Reports are found below the folder of reports, and nowhere else."""

import os
from pathlib import Path

import pytest

from rockdove.console.folder import Kind, report, reports
from rockdove.console.wrong import Wrong


def analysis(folder: Path) -> Path:
    (folder / "queues").mkdir(parents=True)
    (folder / "summary.json").write_text("{}")
    return folder


def watch(folder: Path) -> Path:
    (folder / "metrics").mkdir(parents=True)
    (folder / "progress.json").write_text("{}")
    return folder


def names(root: Path) -> list[tuple[str, Kind]]:
    return [(each.name, each.kind) for each in reports(root)]


def test_the_youngest_first(tmp_path: Path) -> None:
    old, new = analysis(tmp_path / "july" / "first"), watch(tmp_path / "live")
    os.utime(old / "summary.json", (1, 1))
    os.utime(new / "progress.json", (2, 2))
    assert names(tmp_path) == [("live", Kind.WATCH), ("july/first", Kind.ANALYSIS)]


def test_the_folder_itself_may_be_one(tmp_path: Path) -> None:
    analysis(tmp_path)
    assert names(tmp_path) == [(".", Kind.ANALYSIS)]
    assert report(tmp_path, ".").path == tmp_path / "."


def test_half_of_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "summary.json").write_text("{}")
    (tmp_path / "b" / "queues").mkdir(parents=True)
    assert names(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert reports(tmp_path / "nothing") == []


def test_links_lead_nowhere_else(tmp_path: Path) -> None:
    root, other = tmp_path / "root", analysis(tmp_path / "other")
    root.mkdir()
    (root / "link").symlink_to(other)
    half = root / "half"
    half.mkdir()
    (half / "summary.json").symlink_to(other / "summary.json")
    (half / "queues").mkdir()
    assert names(root) == []
    for name in ("link", "half"):
        with pytest.raises(Wrong):
            report(root, name)


@pytest.mark.parametrize("name", ["..", "../other", "a/../../other", "/etc", "", "a\0b", "nothing", "x" * 5_000])
def test_other_places_are_not_there(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    analysis(tmp_path / "other")
    (root / "a").mkdir()
    with pytest.raises(Wrong) as caught:
        report(root, name)
    assert caught.value.status == 404


def test_an_absolute_name_of_another_report(tmp_path: Path) -> None:
    other = analysis(tmp_path / "other")
    with pytest.raises(Wrong):
        report(tmp_path / "root", str(other))
