"""The code in README and docs does what the pages say."""

import pytest

from tests.docs.conftest import Read
from tests.docs.need import has_own_stage, missing
from tests.docs.page import PICTURES, Page, pages

# What contributors and measurements have to say is no code for users.
CODED = [page for page in pages() if page.name != "CONTRIBUTING.md" and "benchmarks" not in page.path.parts]


@pytest.mark.parametrize(
    "page",
    [page for page in CODED if any(block.is_run for block in page.blocks()) and not has_own_stage(page)],
    ids=lambda page: page.name,
)
def test_what_a_page_tells_to_do_does_what_it_shows(page: Page, read: Read) -> None:
    lacking = missing(page)
    assert not lacking, f"no {', no '.join(lacking)}: `make test-clients` installs it, or names the command"
    read(page)


@pytest.mark.parametrize("page", CODED, ids=lambda page: page.name)
def test_code_that_is_not_run_says_why(page: Page) -> None:
    for block in page.blocks():
        said = block.word.startswith("not run: ")
        assert block.is_run or said or block.language in PICTURES, f"{block.place}: why is it not run?"
