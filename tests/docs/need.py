"""What a page needs beyond Python: `<!-- needs: node -->`. `make test` installs it before any test runs.

Pages that need `spark` are read in that stage, by tests/integration/spark/test_page.py.
"""

import os
import re
import shutil
from pathlib import Path

from tests.docs.page import ROOT, Page

_NEEDS = re.compile(r"^<!-- needs: (\w+) -->$", re.MULTILINE)
_PACKAGES = ROOT / "tests" / "integration" / "javascript" / "node_modules"
# Debian keeps servers where only root's PATH looks.
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"])


def is_for_spark(page: Page) -> bool:
    return "spark" in _NEEDS.findall(page.text)


def missing(page: Page) -> list[str]:
    """The programs that are not there."""
    needs = _NEEDS.findall(page.text)
    found = [need for need in needs if not shutil.which(need, path=PATH)]
    return [*found, "npm packages"] if "node" in needs and not _PACKAGES.is_dir() else found


def provide(page: Page, folder: Path) -> None:
    """Put what was installed where a reader would have it."""
    if "node" in _NEEDS.findall(page.text):
        (folder / "node_modules").symlink_to(_PACKAGES)
