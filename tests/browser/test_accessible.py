"""Nothing serious is in the way of people who cannot see well, cannot point, or have a phone."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from rockdove.client import Client, Credentials
from tests.support import exhibit
from tests.support.chromium import Findings, Visits, axe_findings, sign_in
from tests.support.site import Site

_SCHEMES = ("light", "dark")
_SERIOUS = ("critical", "serious")
# Of a phone.
_NARROW = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Site]:
    """An account whose pages all have something to show."""
    folder = tmp_path_factory.mktemp("shop")
    exhibit.report(folder / "reports" / "monday", exhibit.BEGIN)
    with Site(folder, "ann", "bob", reports=folder / "reports") as site:
        sqs = site.sqs("ann")
        urls = exhibit.queues(sqs)
        for number in range(3):
            sqs.send_message(QueueUrl=urls["orders"], MessageBody=exhibit.body(number))
            sqs.send_message(QueueUrl=urls["orders-dead"], MessageBody=exhibit.body(number))
        key = site.keys["ann"]
        with Client(site.server.endpoint, credentials=Credentials(key.access_key, key.secret_key)) as client:
            exhibit.steer(client, [12, 9], [exhibit.decided(40, 1, "the load was above maxLoad")])
        yield site


def pages(shop: Site) -> dict[str, str]:
    """Addresses, and what is there only when the page is."""
    account = shop.keys["ann"].id
    return {
        "/": "[data-testid=queue-row]",
        f"/queues/{account}/orders": "[data-testid=peek-row]",
        f"/queues/{account}/orders-dead": "#redrive-form",
        f"/queues/{account}/invoices.fifo": "#peek-empty",
        "/elastic": "#rows tr",
        f"/elastic?queue={exhibit.ELASTIC}": "#decisions tr",
        "/analysis": "[data-testid=report]",
        "/analysis?report=monday": "#rows tr",
        "/plan": "#over-threads canvas",
        "/papers": "[data-testid=figure]",
        "/accounts": "#rows tr",
    }


@pytest.fixture
def page(visits: Visits, shop: Site, request: pytest.FixtureRequest) -> Page:
    """Signed in."""
    page = visits.page(shop.origin, **getattr(request, "param", {}))
    page.goto("/login")
    sign_in(page, "ann")
    expect(page.get_by_test_id("queue-row").first).to_be_visible()
    return page


def check(findings: dict[str, Findings]) -> None:
    """By what they were found on."""
    for place, found in findings.items():
        for impact, words in found.items():
            print(f"{place}: {impact}: {words}")
    serious = {place: found for place, found in findings.items() if any(impact in found for impact in _SERIOUS)}
    assert not serious, json.dumps(serious, indent=2)


def show(page: Page, address: str, there: str) -> None:
    page.goto(address)
    expect(page.locator(there).first).to_be_visible()


@pytest.mark.parametrize("page", [{"color_scheme": scheme} for scheme in _SCHEMES], indirect=True, ids=_SCHEMES)
def test_axe_finds_nothing_serious_on_pages(page: Page, shop: Site) -> None:
    findings = {}
    for address, there in pages(shop).items():
        show(page, address, there)
        expect(page.locator("h1")).to_have_count(1)
        findings[address] = axe_findings(page)
    check(findings)


@pytest.mark.parametrize("scheme", _SCHEMES)
def test_axe_finds_nothing_serious_where_people_sign_in(visits: Visits, shop: Site, scheme: str) -> None:
    page = visits.page(shop.origin, color_scheme=scheme)
    page.goto("/login")
    before = axe_findings(page)
    sign_in(page, "ann", "wrong horse")
    expect(page.get_by_test_id("login-error")).to_be_visible()
    check({"/login": before, "/login, wrong": axe_findings(page)})


@pytest.mark.parametrize("page", [{"color_scheme": scheme} for scheme in _SCHEMES], indirect=True, ids=_SCHEMES)
def test_axe_finds_nothing_serious_in_what_opens(page: Page, shop: Site) -> None:
    findings = {}
    page.get_by_test_id("create-queue").click()
    page.get_by_test_id("create-submit").click()
    expect(page.get_by_test_id("new-queue-name")).to_have_attribute("aria-invalid", "true")
    findings["the form of a new queue"] = axe_findings(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Actions for orders", exact=True).click()
    findings["the menu of a queue"] = axe_findings(page)
    page.get_by_role("menuitem", name="Purge…").click()
    findings["the question before a purge"] = axe_findings(page)
    show(page, f"/queues/{shop.keys['ann'].id}/orders", "[data-testid=peek-row]")
    page.get_by_test_id("peek-row").first.get_by_role("button").click()
    page.get_by_test_id("receive-submit").click()
    expect(page.get_by_test_id("held-row").first).to_be_visible()
    findings["messages by hand"] = axe_findings(page)
    page.get_by_test_id("held-back").click()
    check(findings)


@pytest.mark.parametrize("page", [{"viewport": _NARROW, "has_touch": True}], indirect=True, ids=["phone"])
def test_pages_fit_a_phone(page: Page, shop: Site) -> None:
    widths = {}
    for address, there in pages(shop).items():
        show(page, address, there)
        widths[address] = page.evaluate("document.scrollingElement.scrollWidth")
    assert {address: width for address, width in widths.items() if width > _NARROW["width"]} == {}
