"""What the other tests rely on can fail: trouble on a page is seen, and so is what axe looks for."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.chromium import Visits, axe_findings
from tests.support.site import Site

_UNNAMED = """() => {
  const button = document.createElement("button");
  document.getElementById("main").append(button);
}"""


@pytest.mark.parametrize(
    ("script", "seen"),
    [
        ("console.error('trouble')", "trouble"),
        ("setTimeout(() => { throw new Error('thrown') })", "thrown"),
        ("fetch('http://127.0.0.2:9/elsewhere').catch(() => null)", "http://127.0.0.2:9/elsewhere"),
        ("document.body.innerHTML = '<b>'", "TrustedHTML"),
    ],
)
def test_trouble_is_seen(chromium: Browser, site: Site, script: str, seen: str) -> None:
    visits = Visits(chromium)
    page = visits.page(site.origin)
    page.goto("/papers")
    page.evaluate(f"() => {{ try {{ {script} }} catch {{}} }}")
    page.wait_for_timeout(300)
    expect(page.locator("h1")).to_have_count(1)
    with pytest.raises(AssertionError, match=seen):
        visits.close()


def test_axe_finds_what_it_should(visits: Visits, site: Site) -> None:
    page = visits.page(site.origin)
    page.goto("/papers")
    page.evaluate(_UNNAMED)
    assert any("button-name" in words for words in axe_findings(page)["critical"])
