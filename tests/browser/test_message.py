"""What is done with a queue and its messages by hand."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.support.site import Site


def counts(sqs: Any, name: str) -> tuple[int, int]:
    """Visible, and in flight."""
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(told["ApproximateNumberOfMessages"]), int(told["ApproximateNumberOfMessagesNotVisible"])


def test_create_send_peek_receive_delete(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name, sqs = new_name(), site.sqs()
    page.goto("/")
    page.get_by_test_id("create-queue").click()
    page.get_by_test_id("new-queue-name").fill(name)
    page.get_by_test_id("create-submit").click()
    row = page.get_by_test_id("queue-row").filter(has_text=name)
    row.get_by_test_id("queue-name").click()
    page.wait_for_url(f"{site.origin}/queues/000000000000/{name}")

    page.get_by_test_id("send-body").fill('{"order": 17, "note": "<b>ä</b>"}')
    page.get_by_role("button", name="Add an attribute").click()
    page.get_by_label("Name of attribute 1", exact=True).fill("source")
    page.get_by_label("Value of attribute 1", exact=True).fill("by hand")
    page.get_by_test_id("send-submit").click()
    expect(page.locator("#sent-note")).to_contain_text("Sent: ")
    expect(page.get_by_test_id("send-body")).to_have_value("")
    peeked = page.get_by_test_id("peek-row")
    expect(peeked).to_contain_text('{"order": 17, "note": "<b>ä</b>"}')
    peeked.get_by_role("button").click()
    expect(page.locator("#peek-rows .open")).to_contain_text("by hand")
    # To look at it leaves it as it is.
    assert counts(sqs, name) == (1, 0)

    page.get_by_test_id("receive-submit").click()
    held = page.get_by_test_id("held-row")
    expect(held).to_contain_text("order")
    expect(page.get_by_test_id("visible")).to_have_text("0")
    assert counts(sqs, name) == (0, 1)
    page.get_by_label("Seconds from now for which the chosen messages stay hidden").fill("3600")
    page.get_by_test_id("held-extend").click()
    expect(held).to_contain_text(re.compile("1 h|59 min"))
    page.get_by_test_id("held-delete").click()
    expect(held).to_have_count(0)
    expect(peeked).to_have_count(0)
    assert counts(sqs, name) == (0, 0)


def test_a_message_that_is_put_back_can_be_received_again(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name, sqs = new_name(), site.sqs()
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="again")
    page.goto(f"/queues/000000000000/{name}")
    page.get_by_test_id("receive-submit").click()
    expect(page.get_by_test_id("held-row")).to_contain_text("again")
    page.get_by_test_id("held-back").click()
    expect(page.get_by_test_id("held-row")).to_have_count(0)
    assert counts(sqs, name) == (1, 0)


def test_what_cannot_be_sent_is_told_beside_its_input(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name = new_name(".fifo")
    site.sqs().create_queue(QueueName=name, Attributes={"FifoQueue": "true"})
    page.goto(f"/queues/000000000000/{name}")
    page.get_by_test_id("send-body").fill("kept")
    page.get_by_test_id("send-submit").click()
    group = page.get_by_test_id("send-group")
    expect(group).to_have_attribute("aria-invalid", "true")
    expect(group).to_be_focused()
    expect(page.get_by_test_id("send-body")).to_have_value("kept")
    group.fill("one")
    page.get_by_test_id("send-dedup").fill("1")
    page.get_by_test_id("send-submit").click()
    expect(page.get_by_test_id("peek-row")).to_contain_text("kept")


def test_a_queue_is_deleted_when_its_name_is_typed(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    name, sqs = new_name(), site.sqs()
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="last")
    page.goto("/")
    row = page.get_by_test_id("queue-row").filter(has_text=name)
    row.get_by_role("button", name=f"Actions for {name}").click()
    page.get_by_role("menuitem", name="Delete…").click()
    expect(page.locator("#sure-text")).to_contain_text("It holds 1 message now.")
    page.get_by_test_id("typed-name").fill(name[:-1])
    page.get_by_test_id("sure-submit").click()
    expect(page.get_by_test_id("typed-name")).to_have_attribute("aria-invalid", "true")
    page.get_by_test_id("typed-name").fill(name)
    page.get_by_test_id("sure-submit").click()
    expect(row).to_have_count(0)
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=name)
