"""Links between pages lead somewhere."""

import pytest

from tests.docs.page import ROOT, Page, pages

# Pages whose code is not for this machine.
ASIDE = [Page(ROOT / "SECURITY.md"), Page(ROOT / "deploy" / "README.md")]


@pytest.mark.parametrize("page", [*pages(), *ASIDE], ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Page) -> None:
    for link in page.links():
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), f"{page.name}: no {link}"
        assert target.is_relative_to(ROOT), f"{page.name}: {link} leads out of the repository"
        if anchor:
            assert anchor in Page(target).anchors(), f"{page.name}: no heading for {link}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, left = set(), [ROOT / "README.md"]
    while left:
        path = left.pop()
        if path in reached:
            continue
        reached.add(path)
        links = [link.partition("#")[0] for link in Page(path).links() if "://" not in link]
        left += [target for link in links if (target := (path.parent / link).resolve()).suffix == ".md"]
    assert [page.name for page in pages() if page.path not in reached] == [], "link them from docs/README.md"
