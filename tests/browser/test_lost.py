"""A service or a console that is away: pages say so, go on by themselves, and lose nothing that was typed."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.support.chromium import Visits
from tests.support.console import Console
from tests.support.site import Site


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory, environment: None) -> Iterator[Site]:
    """One whose service may be ended and started; what is in it lasts."""
    with Site(tmp_path_factory.mktemp("frail"), store="sqlite") as site:
        yield site


@pytest.fixture
def page(visits: Visits, frail: Site) -> Iterator[Page]:
    page = visits.page(frail.origin)
    page.goto("/")
    yield page
    if frail.server.process.exit_code is not None:
        frail.server.start()


def test_a_half_filled_form_outlives_the_service(page: Page, frail: Site, new_name: Callable[..., str]) -> None:
    name = new_name()
    banner, typed = page.locator("#banner"), page.get_by_test_id("new-queue-name")
    page.get_by_test_id("create-queue").click()
    typed.fill(name)
    expect(banner).to_be_hidden()
    frail.server.stop()
    expect(banner).to_be_visible()
    expect(banner).to_contain_text("goes on by itself")
    page.get_by_test_id("create-submit").click()
    expect(page.locator("#create-form footer .error")).to_be_visible()
    expect(typed).to_have_value(name)
    frail.server.start()
    expect(banner).to_be_hidden()
    expect(typed).to_have_value(name)
    page.get_by_test_id("create-submit").click()
    expect(page.get_by_test_id("queue-row").filter(has_text=name)).to_have_count(1)


def test_figures_go_on_after_the_service_was_away(page: Page, frail: Site, new_name: Callable[..., str]) -> None:
    name = new_name()
    frail.sqs().create_queue(QueueName=name)
    depth = page.get_by_test_id("queue-row").filter(has_text=name).get_by_test_id("queue-depth")
    expect(depth).to_have_text("0")
    page.evaluate("window.same = true")
    frail.server.stop()
    expect(page.locator("#banner")).to_be_visible()
    # The last figures stay.
    expect(depth).to_have_text("0")
    frail.server.start()
    sqs = frail.sqs()
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"], MessageBody="after")
    expect(depth).to_have_text("1")
    expect(page.locator("#banner")).to_be_hidden()
    assert page.evaluate("window.same")


def test_a_page_asked_for_meanwhile_comes_by_itself(
    page: Page, frail: Site, visits: Visits, new_name: Callable[..., str]
) -> None:
    name = new_name()
    frail.sqs().create_queue(QueueName=name)
    # The page that says so has a status that tells it, too.
    visits.watch(page).allow("status of 502", "status of 503", "status of 504")
    frail.server.stop()
    page.goto(f"/queues/000000000000/{name}")
    expect(page.get_by_role("heading", name="The service is away")).to_be_visible()
    frail.server.start()
    expect(page.get_by_test_id("send-body")).to_be_visible()


def test_what_is_typed_outlives_a_reload(page: Page, frail: Site, new_name: Callable[..., str]) -> None:
    name = new_name()
    frail.sqs().create_queue(QueueName=name)
    page.goto(f"/queues/000000000000/{name}")
    page.get_by_test_id("send-body").fill("half a messa")
    page.reload()
    expect(page.get_by_test_id("send-body")).to_have_value("half a messa")


def test_a_lost_console_is_told(page: Page, frail: Site, visits: Visits) -> None:
    console = Console(frail.server.folder, frail.server.endpoint)
    other = visits.page(console.origin)
    visits.watch(other).allow("ERR_")
    other.goto("/")
    expect(other.locator("#health")).to_have_attribute("data-state", "up")
    console.process.stop()
    expect(other.locator("#banner")).to_contain_text("The console does not answer")
