"""Lists the licences of all that constraints.txt pins, from installed metadata.

`licences.py` writes docs/reference/licences.md, `licences.py --check` tells whether it is right. Both fail if a licence
does not fit where its package is used."""

import sys
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "licences.md"

# What may be part of a running service, under Rockdove's own licence (Apache-2.0).
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSD",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-CMU",
    "MIT-0",
    "PSF-2.0",
    "Zlib",
    "any OSI licence",
}
# What may be used beside it, in files that stay as they are and are not handed on with it.
BESIDE = {*PERMISSIVE, "CNRI-Python", "MPL-2.0", "public domain"}
# What tests alone import, to compare our results with another program's; no extra that anybody runs has it.
ORACLES = {"snakes": "LGPL"}

# Where the metadata says it in words, or says nothing a program could understand.
WORDS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "any-OSI": "any OSI licence",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
}
KNOWN = {
    # Said in its LICENSE file alone.
    "ciw": "MIT",
    # Its sources have one file under the GPL, for Emacs, which is not installed.
    "docutils": "public domain AND PSF-2.0 AND BSD-2-Clause",
    "python-dateutil": "Apache-2.0 AND BSD-3-Clause",
    "trustme": "MIT OR Apache-2.0",
    "uvloop": "MIT OR Apache-2.0",
    # Used to build a package, in an environment of its own: not installed here.
    "editables": "MIT",
    "hatchling": "MIT",
    "tomlkit": "MIT",
    "trove-classifiers": "Apache-2.0",
}

HEAD = """\
# Licences

Rockdove is under the Apache License 2.0. These are the packages it is used and tested with, at the versions that
`constraints.txt` pins, with the licences that their metadata names. *Serving* is what `make serve` installs. The rest
is for extras, tests, benchmarks and builds, and no part of the service. `make licences` writes this page, and a test
compares it with what is installed.

| package | version | licence | used for |
|---|---|---|---|
"""


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def licence(name: str) -> str:
    if name in KNOWN:
        return KNOWN[name]
    found = metadata(name)
    if found.get("License-Expression"):
        return str(found["License-Expression"])
    short = (found.get("License") or "").strip()
    if short in BESIDE:
        return short
    classifiers = [line.split("::")[-1].strip() for line in found.get_all("Classifier") or [] if "License ::" in line]
    words = classifiers or [short]
    return " AND ".join(WORDS.get(word, word) for word in words) or "unknown"


def fits(expression: str, allowed: set[str]) -> bool:
    return any(
        all(part.strip("() ") in allowed for part in choice.split(" AND ")) for choice in expression.split(" OR ")
    )


def serving() -> set[str]:
    """What the service itself needs, through all that its packages need."""
    found: set[str] = set()
    todo = ["rockdove"]
    while todo:
        for line in requires(todo.pop()) or []:
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                found.add(name)
                todo.append(name)
    return found


def main() -> int:
    served, rows, wrong = serving(), [], []
    for name, version in sorted(pins().items()):
        try:
            named = licence(name)
        except PackageNotFoundError:
            print(f"{name} is pinned, but neither installed nor known here; run make setup", file=sys.stderr)
            return 1
        use = "serving" if name in served else "development"
        allowed = PERMISSIVE if name in served else {*BESIDE, ORACLES.get(name, "MIT")}
        if not fits(named, allowed):
            wrong.append(f"{name} {version}, used for {use}: {named}")
        rows.append(f"| {name} | {version} | {named} | {use} |\n")
    for line in wrong:
        print(f"this licence does not fit, or is not known to: {line}", file=sys.stderr)
    text = HEAD + "".join(rows)
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE.relative_to(ROOT)} is not what is installed; run make licences", file=sys.stderr)
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
