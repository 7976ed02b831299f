"""What a page needs beyond Python: `<!-- needs: node -->`. `make test` installs it before any test runs.

Pages that need `spark` or `jms` are read in that stage, by its own test_page.py.
"""

import os
import re
import shutil
from pathlib import Path

from tests.docs.page import ROOT, Page

_NEEDS = re.compile(r"^<!-- needs: (\w+) -->$", re.MULTILINE)
_PACKAGES = ROOT / "tests" / "integration" / "javascript" / "node_modules"
_JARS = ROOT / ".setup" / "jms"
# Stages that read their pages themselves.
_STAGES = {"spark", "jms"}
# Debian keeps servers where only root's PATH looks.
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])


def is_for(need: str, page: Page) -> bool:
    """Whether the page says that it needs this program, or this stage of tests."""
    return need in _NEEDS.findall(page.text)


def has_own_stage(page: Page) -> bool:
    return any(is_for(stage, page) for stage in _STAGES)


def missing(page: Page) -> list[str]:
    """The programs that are not there."""
    needs = _NEEDS.findall(page.text)
    found = [need for need in needs if not shutil.which(need, path=PATH)]
    return [*found, "npm packages"] if "node" in needs and not _PACKAGES.is_dir() else found


def provide(page: Page, folder: Path) -> None:
    """Put what was installed where a reader would have it."""
    if is_for("node", page):
        (folder / "node_modules").symlink_to(_PACKAGES)
    if is_for("jms", page):
        (folder / "lib").symlink_to(_JARS / "lib")
        (folder / "spring").symlink_to(_JARS / "spring")
