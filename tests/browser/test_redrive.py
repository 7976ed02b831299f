"""Dead letters go back to where they came from."""

import json
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.support.site import Site

_LETTERS = 7


def test_dead_letters_are_moved_back(page: Page, site: Site, new_name: Callable[..., str]) -> None:
    source, dead, sqs = new_name("-work"), new_name("-dead"), site.sqs()
    dead_url = sqs.create_queue(QueueName=dead)["QueueUrl"]
    [arn] = sqs.get_queue_attributes(QueueUrl=dead_url, AttributeNames=["QueueArn"])["Attributes"].values()
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = sqs.create_queue(QueueName=source, Attributes={"RedrivePolicy": policy})["QueueUrl"]
    for number in range(_LETTERS):
        sqs.send_message(QueueUrl=url, MessageBody=f"letter {number}")
    for _ in range(2):
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)

    page.goto("/")
    row = page.get_by_test_id("queue-row").filter(has=page.get_by_role("link", name=source, exact=True))
    row.get_by_role("link", name=dead, exact=True).click()
    page.wait_for_url(f"**/{dead}")
    expect(page.get_by_test_id("visible")).to_have_text(str(_LETTERS))
    page.get_by_test_id("redrive-rate").fill("5")
    page.get_by_test_id("redrive-submit").click()
    task = page.get_by_test_id("redrive-task")
    expect(task).to_contain_text(f"done: {_LETTERS} of {_LETTERS}")
    expect(page.get_by_test_id("visible")).to_have_text("0")
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
    assert told == {"ApproximateNumberOfMessages": str(_LETTERS)}
