"""Pages follow what happens in the service, without being asked to."""

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.chromium import Visits
from tests.support.site import Site

# Notes when the text of an element was which, by the clock that the test has, too.
_NOTE = """element => {
  window.noted = {};
  const note = () => (window.noted[element.textContent] ??= Date.now() / 1000);
  new MutationObserver(note).observe(element, { childList: true, characterData: true, subtree: true });
  note();
}"""
_MOST_S = 2
# The first ones may meet a machine that does something else.
_ROUNDS = 6


def test_a_row_follows_within_two_seconds(page: Page, visits: Visits, site: Site, new_name: Callable[..., str]) -> None:
    name, sqs = new_name(), site.sqs()
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    page.goto("/")
    row = page.get_by_test_id("queue-row").filter(has_text=name)
    depth = row.get_by_test_id("queue-depth")
    expect(depth).to_have_text("0")
    depth.evaluate(_NOTE)
    asked = len(visits.watch(page).requests)
    answered = {}
    for count in range(1, _ROUNDS + 1):
        sqs.send_message(QueueUrl=url, MessageBody="from boto3")
        answered[str(count)] = time.time()
        # Each follows the one before at once, so that a page that looks every few seconds would always be late.
        expect(depth).to_have_text(str(count))
    noted = page.evaluate("window.noted")
    delays = [noted[text] - answered_s for text, answered_s in answered.items()]
    print(f"delays: {delays}")
    assert min(delays[1:]) < _MOST_S
    # By the stream that was open: no load of the page, and no question.
    assert visits.watch(page).requests[asked:] == []


def test_queues_come_and_go(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name, sqs = new_name(), site.sqs()
    page.goto("/")
    expect(page.get_by_test_id("create-queue")).to_be_visible()
    page.evaluate("window.same = true")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    row = page.get_by_test_id("queue-row").filter(has_text=name)
    expect(row).to_have_count(1)
    sqs.delete_queue(QueueUrl=url)
    expect(row).to_have_count(0)
    assert page.evaluate("window.same")


def test_the_page_of_a_queue_follows(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name, sqs = new_name(), site.sqs()
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    page.goto(f"/queues/000000000000/{name}")
    expect(page.get_by_test_id("visible")).to_have_text("0")
    page.evaluate("window.same = true")
    sqs.send_message(QueueUrl=url, MessageBody="one")
    expect(page.get_by_test_id("visible")).to_have_text("1")
    expect(page.get_by_test_id("peek-row")).to_contain_text("one")
    [message] = sqs.receive_message(QueueUrl=url)["Messages"]
    expect(page.get_by_test_id("visible")).to_have_text("0")
    expect(page.get_by_test_id("peek-row")).to_contain_text("in flight")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    expect(page.get_by_test_id("peek-row")).to_have_count(0)
    sqs.delete_queue(QueueUrl=url)
    expect(page.locator("#gone")).to_be_visible()
    assert page.evaluate("window.same")


def test_charts_are_drawn(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name = new_name()
    site.sqs().create_queue(QueueName=name)
    page.goto(f"/queues/000000000000/{name}")
    expect(page.locator(".charts canvas")).to_have_count(4)
