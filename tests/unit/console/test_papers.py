"""Figures of papers are found where commands leave them."""

import os
from pathlib import Path

import pytest

from rockdove.console import papers
from rockdove.console.papers import PAPERS, figures


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(papers, "SHIPPED", folder)
    return folder


def picture(folder: Path, name: str, second: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    path.write_text("<svg/>")
    os.utime(path, (second, second))
    return path


def test_every_figure_of_the_documentation_has_its_place() -> None:
    drawn = {path.stem for path in (Path(__file__).parents[3] / "docs" / "figures").glob("*.svg")}
    # That of a run of `rockdove demo` is no figure of a paper.
    assert drawn - {"demo"} == {name for paper in PAPERS for name, _ in paper.figures}


def test_those_of_a_checkout(shipped: Path) -> None:
    path = picture(shipped, "fig11")
    picture(shipped, "demo")
    assert figures(None) == {"fig11": path}


def test_own_figures_come_first_and_the_youngest_of_them(shipped: Path, tmp_path: Path) -> None:
    picture(shipped, "fig11")
    own = tmp_path / "own"
    picture(own / "june", "fig11", 1)
    young = picture(own / "july" / "figures", "fig11", 2)
    assert figures(own) == {"fig11": young}


def test_links_to_other_places_do_not_count(tmp_path: Path) -> None:
    other, own = picture(tmp_path / "other", "fig11"), tmp_path / "own"
    own.mkdir()
    (own / "fig11.svg").symlink_to(other)
    assert figures(own) == {}


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert figures(tmp_path / "nothing") == {}
