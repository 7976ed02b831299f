"""The planner answers while a slider is dragged."""

import re

from playwright.sync_api import Locator, Page, expect

_NOTE = """element => {
  window.noted = [element.textContent];
  new MutationObserver(() => window.noted.push(element.textContent)).observe(
    element, { childList: true, characterData: true, subtree: true });
}"""
_STEPS = 24
_NUMBER = re.compile(r"\d")


def middle(slider: Locator) -> tuple[float, float, float]:
    """Where its thumb is, and how wide it is."""
    box = slider.bounding_box()
    assert box is not None
    share = slider.evaluate("each => (each.value - each.min) / (each.max - each.min)")
    # The thumb stays within.
    thumb = box["height"]
    return box["x"] + thumb / 2 + share * (box["width"] - thumb), box["y"] + box["height"] / 2, box["width"]


def ready(page: Page) -> Locator:
    page.goto("/plan")
    mean = page.locator("#mean")
    expect(mean).to_contain_text(_NUMBER)
    # What is behind the means comes a moment later.
    expect(page.locator("#p99")).to_contain_text(_NUMBER)
    return mean


def test_answers_follow_the_drag(page: Page) -> None:
    mean = ready(page)
    slider = page.get_by_test_id("plan-service")
    slider.scroll_into_view_if_needed()
    mean.evaluate(_NOTE)
    x, y, width = middle(slider)
    before = float(slider.input_value())
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, _STEPS + 1):
        page.mouse.move(x - step * width / 80, y)
        page.wait_for_timeout(25)
    # Before it is let go.
    page.wait_for_function("window.noted.length > 3")
    page.mouse.up()
    assert float(slider.input_value()) < before
    noted = page.evaluate("window.noted")
    assert len(set(noted)) > 3, noted
    expect(page.get_by_test_id("plan-result")).to_contain_text("99 of 100")
    assert "service_ms" in page.url


def test_too_few_workers_are_told_and_mended(page: Page) -> None:
    ready(page)
    page.get_by_label("Messages arrive, a second").fill("150")
    page.get_by_label("Workers, threads").fill("1")
    unstable = page.locator("#unstable")
    expect(unstable).to_contain_text("At least")
    unstable.get_by_role("button").click()
    expect(unstable).to_be_hidden()
    expect(page.locator("#mean")).to_contain_text(_NUMBER)


def test_a_slider_moves_by_keys(page: Page) -> None:
    ready(page)
    slider = page.get_by_test_id("plan-arrival")
    before = float(slider.input_value())
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert float(slider.input_value()) > before
    expect(page.locator("#command")).to_contain_text(f"--arrival {slider.input_value()}")


def test_a_plan_is_confirmed_by_simulation(page: Page) -> None:
    ready(page)
    page.get_by_test_id("plan-simulate").click()
    # Of a machine that has never run it, the first one compiles it.
    verdict = page.get_by_test_id("plan-verdict")
    expect(verdict).to_contain_text("onfirmed", timeout=240_000)
    expect(page.locator("#trial-table")).to_be_visible()
