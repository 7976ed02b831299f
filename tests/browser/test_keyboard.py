"""All can be done without a pointer, and one sees where one is."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.site import Site

_MOST_TABS = 80
# What has the focus, and whether that shows.
_FOCUSED = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const shows = (style.outlineStyle !== "none" && style.outlineWidth !== "0px") || style.boxShadow !== "none";
  return [at.closest("[data-testid]")?.dataset.testid ?? "", at.textContent.trim(), at.tagName, shows];
}"""


def tab_to(page: Page, testid: str, text: str = "") -> None:
    """By the key Tab alone; wherever it stops on its way, the focus can be seen."""
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        at, words, tag, shows = page.evaluate(_FOCUSED)
        assert shows or tag == "BODY", f"the focus does not show on {tag} {at} {words[:80]}"
        if at == testid and text in words:
            return
    raise AssertionError(f"no way to {testid}")


def test_create_send_and_peek_by_keys_alone(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name = new_name()
    page.goto("/")
    tab_to(page, "create-queue")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("new-queue-name")).to_be_focused()
    page.keyboard.type(name)
    tab_to(page, "create-submit")
    page.keyboard.press("Enter")
    row = page.get_by_test_id("queue-row").filter(has_text=name)
    expect(row).to_have_count(1)
    expect(page.get_by_test_id("new-queue-name")).to_be_hidden()
    # Other tests' queues are there, too.
    page.keyboard.press("/")
    expect(page.get_by_test_id("search")).to_be_focused()
    page.keyboard.type(name)
    tab_to(page, "queue-name", name)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/queues/*/{name}")

    tab_to(page, "send-body")
    page.keyboard.type("by keys")
    tab_to(page, "send-submit")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("peek-row")).to_contain_text("by keys")
    expect(page.get_by_test_id("send-body")).to_be_focused()
    page.reload()
    expect(page.get_by_test_id("peek-row")).to_contain_text("by keys")
    tab_to(page, "peek-row", "by keys")
    page.keyboard.press("Enter")
    expect(page.locator("#peek-rows .open")).to_contain_text("MD5")


def test_the_first_stop_leads_to_the_content(page: Page) -> None:
    page.goto("/plan")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_a_dialog_keeps_the_focus_and_gives_it_back(page: Page) -> None:
    page.goto("/")
    tab_to(page, "create-queue")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("new-queue-name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("new-queue-name")).to_be_hidden()
    expect(page.get_by_test_id("create-queue")).to_be_focused()
