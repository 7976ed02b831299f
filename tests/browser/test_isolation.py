"""Two accounts see nothing of each other, whatever they ask for."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support.chromium import Visits, sign_in
from tests.support.site import Site

_ASK = """async ([address, body]) => {
  const options = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const headers = { "Content-Type": "application/json", "Rockdove-Status": "body" };
  return (await fetch(address, { ...options, headers })).json();
}"""
# The first rows of a stream.
_ROWS = """address => new Promise((resolve) => {
  const stream = new EventSource(address);
  stream.addEventListener("rows", (event) => {
    stream.close();
    resolve(JSON.parse(event.data).rows.map((row) => row.name));
  });
})"""


@pytest.fixture
def ann(visits: Visits, guarded: Site) -> Page:
    return signed_in(visits, guarded, "ann")


@pytest.fixture
def bob(visits: Visits, guarded: Site) -> Page:
    return signed_in(visits, guarded, "bob")


def signed_in(visits: Visits, guarded: Site, name: str) -> Page:
    page = visits.page(guarded.origin)
    page.goto("/login")
    sign_in(page, name)
    expect(page.get_by_test_id("create-queue")).to_be_visible()
    return page


def test_each_sees_its_own_queues(ann: Page, bob: Page, guarded: Site, new_name: Callable[..., str]) -> None:
    alone, both = new_name("-alone"), new_name("-both")
    for account, names in (("ann", (alone, both)), ("bob", (both,))):
        for name in names:
            guarded.sqs(account).create_queue(QueueName=name)
    sqs = guarded.sqs("ann")
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=both)["QueueUrl"], MessageBody="ann's")
    anns, bobs = (page.get_by_test_id("queue-row").filter(has_text=both) for page in (ann, bob))
    expect(anns.get_by_test_id("queue-depth")).to_have_text("1")
    expect(bobs.get_by_test_id("queue-depth")).to_have_text("0")
    expect(ann.get_by_test_id("queue-row").filter(has_text=alone)).to_have_count(1)
    assert bob.get_by_test_id("queue-row").filter(has_text=alone).count() == 0
    assert alone not in bob.evaluate(_ROWS, "/events?page=queues")
    # The administrator is no exception.
    bobs_own = new_name("-bob")
    guarded.sqs("bob").create_queue(QueueName=bobs_own)
    expect(bob.get_by_test_id("queue-row").filter(has_text=bobs_own)).to_have_count(1)
    assert bobs_own not in ann.evaluate(_ROWS, "/events?page=queues")


def test_addresses_of_others_are_refused(
    bob: Page, visits: Visits, guarded: Site, new_name: Callable[..., str]
) -> None:
    name, sqs = new_name(), guarded.sqs("ann")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="a secret")
    anns, bobs = guarded.keys["ann"].id, guarded.keys["bob"].id
    # Browsers report these as errors.
    visits.watch(bob).allow("403", "404")
    for address, status in ((f"/queues/{anns}/{name}", 403), (f"/queues/{bobs}/{name}", 404), ("/accounts", 403)):
        answer = bob.goto(address)
        assert answer is not None
        assert answer.status == status
        assert "a secret" not in bob.content()
    stream = bob.request.get(f"/events?page=queue&account={anns}&name={name}")
    assert stream.status == 403
    bob.goto("/")
    for account in (anns, bobs):
        place = f"/api/queue/{account}/{name}"
        for address, body in (
            (f"{place}/peek", None),
            (f"{place}/send", {"body": "forged"}),
            (f"{place}/receive", {}),
            (f"{place}/leases", None),
        ):
            told = bob.evaluate(_ASK, [address, body])
            assert not told["ok"], address
            assert told["error"]
    for deed in ("purge", "delete"):
        assert bob.evaluate(_ASK, [f"/api/queues/{name}/{deed}", {"typed": name}])["error"]
    [message] = sqs.receive_message(QueueUrl=url)["Messages"]
    assert message["Body"] == "a secret"
