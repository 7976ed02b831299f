"""The pages of the documentation that need Spark do what they show."""

from pathlib import Path

import pytest

from tests.docs.need import is_for
from tests.docs.page import Page, pages
from tests.docs.reader import read

PAGES = [page for page in pages() if is_for("spark", page)]


def test_there_are_such_pages() -> None:
    assert "docs/tutorial-report.md" in [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_tells_to_do_does_what_it_shows(page: Page, tmp_path: Path, environment: None) -> None:
    read(page, tmp_path)
