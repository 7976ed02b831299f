"""Finds what `rockdove analyse` and `rockdove watch` have written below the folder of reports, and only there."""

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from rockdove.console.wrong import Wrong

# Levels below the folder of reports, and folders in all, that are looked through.
_DEPTH: Final = 4
_MOST: Final = 2_000
# Folders that belong to what was found.
_PARTS: Final = frozenset(("queues", "windows", "metrics", "checkpoint", "state", "rows", "runs"))


class Kind(StrEnum):
    """ANALYSIS: of a trace that has ended. WATCH: a table that grows while a watch runs."""

    ANALYSIS = "analysis"
    WATCH = "watch"


class Report(Struct, frozen=True):
    """``name``: its path below the folder of reports; "." for that folder itself. ``changed_s``: since 1970."""

    name: str
    kind: Kind
    path: Path
    changed_s: float


def inside(root: Path, path: Path) -> bool:
    """Also behind links."""
    return path.resolve().is_relative_to(root.resolve())


def reports(root: Path) -> list[Report]:
    """The youngest first. Links to folders are not followed."""
    found = []
    for folder in _folders(root):
        report = _report(root, folder)
        if report is not None:
            found.append(report)
    return sorted(found, key=lambda report: -report.changed_s)


def report(root: Path, name: str) -> Report:
    """Raises `Wrong` if there is none, or if it is somewhere else."""
    path = root / name
    try:
        found = _report(root, path) if "\0" not in name and inside(root, path) else None
    except OSError:
        found = None
    if found is None:
        raise Wrong(
            f"There is no report {name} below the folder of reports. The page Analysis has all there are.", status=404
        )
    return found


def _folders(root: Path) -> Iterator[Path]:
    rest, seen = [(root, 0)], 0
    while rest and seen < _MOST:
        folder, depth = rest.pop(0)
        seen += 1
        yield folder
        if depth == _DEPTH:
            continue
        try:
            with os.scandir(folder) as entries:
                names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
        except OSError:
            continue
        rest += [(folder / name, depth + 1) for name in names if name not in _PARTS and not name.startswith((".", "_"))]


def _report(root: Path, folder: Path) -> Report | None:
    for kind, file, table in (
        (Kind.ANALYSIS, "summary.json", "queues"),
        (Kind.WATCH, "progress.json", "metrics"),
    ):
        told = folder / file
        if told.is_file() and (folder / table).is_dir() and inside(root, told) and inside(root, folder / table):
            name = str(folder.resolve().relative_to(root.resolve()))
            return Report(name, kind, folder, told.stat().st_mtime)
    return None
