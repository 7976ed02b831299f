"""The page on JMS does what it shows, with the versions that the tests here have."""

import re
from pathlib import Path

import pytest

from tests.docs.need import is_for
from tests.docs.page import Page, page, pages
from tests.docs.reader import read

FOLDER = Path(__file__).parent
HOW_TO = page("docs/how-to/jms.md")
_DEPENDENCY = re.compile(r"<dependency>(.*?)</dependency>", re.DOTALL)


def _dependencies(text: str) -> list[str]:
    return ["".join(found.split()) for found in _DEPENDENCY.findall(text)]


@pytest.mark.parametrize("page", [page for page in pages() if is_for("jms", page)], ids=lambda page: page.name)
def test_what_a_page_tells_to_do_does_what_it_shows(page: Page, tmp_path: Path) -> None:
    read(page, tmp_path)


def test_the_page_has_the_versions_that_are_tested() -> None:
    assert is_for("jms", HOW_TO)
    tested = [_dependencies((FOLDER / name).read_text()) for name in ("pom.xml", "spring/pom.xml")]
    assert _dependencies(HOW_TO.text) == [dependency for each in tested for dependency in each]
