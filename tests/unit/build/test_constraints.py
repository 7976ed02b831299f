"""constraints.txt pins everything that Rockdove and its extras bring in, by name and version alone."""

import re
from importlib.metadata import metadata, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
PIN = re.compile(r"([a-z0-9-]+)==([0-9][0-9a-z.+]*)")


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    matches = [PIN.fullmatch(line) for line in lines]
    assert None not in matches, "a line is not name==version"
    return {match[1]: match[2] for match in matches if match}


def needed(name: str, extras: frozenset[str], found: set[tuple[str, frozenset[str]]]) -> None:
    """Adds a distribution and, through its own requirements, all that it brings in on this machine."""
    if (name, extras) in found:
        return
    found.add((name, extras))
    for line in requires(name) or []:
        requirement = Requirement(line)
        contexts = [{"extra": extra} for extra in (extras or {""})]
        if requirement.marker is None or any(requirement.marker.evaluate(context) for context in contexts):
            needed(canonicalize_name(requirement.name), frozenset(requirement.extras), found)


def test_everything_installed_for_rockdove_is_pinned_to_its_version() -> None:
    extras = frozenset(metadata("rockdove").get_all("Provides-Extra") or [])
    assert {"dev", "peers"} <= extras
    found: set[tuple[str, frozenset[str]]] = set()
    needed("rockdove", extras, found)
    names = {name for name, _ in found} - {"rockdove"}
    assert len(names) > 50
    assert {name: version(name) for name in names} == {name: pins().get(name) for name in names}


def test_what_builds_and_installs_rockdove_is_pinned() -> None:
    assert {"hatchling", "editables", "uv"} <= set(pins())
