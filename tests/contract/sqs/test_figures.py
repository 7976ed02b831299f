"""Figures of queues, for those who watch them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.sqs.conftest import NewName
from tests.support.raw import Web
from tests.support.service import RunningService


def figures(web: Web, *names: str, **request: Any) -> dict[str, Any]:
    reply = web.call("Rockdove.GetFigures", {"QueueNames": list(names), **request})
    assert reply.status == 200, reply
    found: dict[str, Any] = reply.json
    return found


def send(web: Web, url: str, body: str, **options: Any) -> None:
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": body, **options}).status == 200


def receive(web: Web, url: str, **options: Any) -> list[dict[str, Any]]:
    reply = web.call("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10, **options})
    return reply.json.get("Messages", [])  # type: ignore[no-any-return]


def only(found: dict[str, Any]) -> dict[str, Any]:
    [queue] = found["Queues"]
    return queue  # type: ignore[no-any-return]


def when(web: Web, name: str, **wanted: Any) -> dict[str, Any]:
    """The queue's figures, once they are so: some stores count a moment later."""
    found = figures(web, name)
    for _ in range(100):
        queue = only(found) if found.get("Queues") else {}
        if all(queue.get(key) == value for key, value in wanted.items()):
            return queue
        later = figures(web, name, Since=found["Version"], WaitSeconds=1)
        found = later if later.get("Queues") else {**found, "Version": later["Version"]}
    raise AssertionError(f"{queue} never became {wanted}")


def test_they_tell_what_is_in_a_queue_and_what_happened(web: Web, new_name: NewName) -> None:
    name = new_name()
    url = web.create(name)
    assert only(figures(web, name)).keys() >= {"QueueName", "CreatedTimestamp"}
    for body in ("one", "two", "three"):
        send(web, url, body)
    send(web, url, "late", DelaySeconds=900)
    [first, *_] = receive(web, url, MaxNumberOfMessages=1)
    web.call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": first["ReceiptHandle"]})
    assert len(receive(web, url, MaxNumberOfMessages=1)) == 1
    queue = when(web, name, Visible=1, InFlight=1, Delayed=1, Deleted=1)
    assert (queue["Sent"], queue["Received"]) == (4, 2)
    assert queue["OldestTimestamp"] > 0
    assert sum(queue["Delivery"]) == 2


def test_a_second_delivery_is_not_counted_as_a_first(service: RunningService, web: Web, new_name: NewName) -> None:
    name = new_name()
    url = web.create(name, VisibilityTimeout="30")
    send(web, url, "again")
    service.advance(5)
    assert receive(web, url)
    service.advance(31)
    assert receive(web, url)
    queue = when(web, name, Received=2)
    delivery = queue["Delivery"]
    # Five seconds are from 4,096 to under 8,192 milliseconds.
    assert (sum(delivery), delivery[13]) == (1, 1)


def test_who_has_a_version_is_told_what_has_changed(web: Web, new_name: NewName) -> None:
    changed, same = new_name(), new_name()
    url = web.create(changed)
    web.create(same)
    before = figures(web, changed, same)
    assert before["Whole"]
    assert {queue["QueueName"] for queue in before["Queues"]} == {changed, same}
    send(web, url, "something")
    after = figures(web, changed, same, Since=before["Version"], WaitSeconds=20)
    assert not after.get("Whole")
    assert only(after)["QueueName"] == changed


def test_who_waits_is_told_when_something_happens(web: Web, new_name: NewName) -> None:
    name = new_name()
    url = web.create(name)
    version = figures(web, name)["Version"]
    other = Web(web.port)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(figures, other, name, Since=version, WaitSeconds=20)
        send(web, url, "something")
        assert only(waiting.result())["QueueName"] == name
    other.close()


def test_queues_that_are_gone_are_told(web: Web, new_name: NewName) -> None:
    name = new_name()
    url = web.create(name)
    version = figures(web, name)["Version"]
    web.call("DeleteQueue", {"QueueUrl": url})
    after = figures(web, name, Since=version, WaitSeconds=20)
    assert after["Gone"] == [name]
    assert not figures(web, name).get("Queues")


def test_a_version_that_is_none_begins_anew(web: Web, new_name: NewName) -> None:
    name = new_name()
    web.create(name)
    for version in ("", "nonsense", "00000000:7", "é:1"):
        found = figures(web, name, Since=version)
        assert found["Whole"]
        assert only(found)["QueueName"] == name


@pytest.mark.parametrize("seconds", [-1, 21])
def test_waiting_has_a_range(web: Web, seconds: int) -> None:
    reply = web.call("Rockdove.GetFigures", {"WaitSeconds": seconds})
    assert reply.status == 400
    assert "Must be between 0 and 20" in reply.text


def test_they_know_the_dead_letter_queue(web: Web, new_name: NewName) -> None:
    dead, name = new_name(), new_name()
    web.create(dead)
    arn = f"arn:aws:sqs:us-east-1:000000000000:{dead}"
    web.create(name, RedrivePolicy=f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": 3}}')
    queue = only(figures(web, name))
    assert (queue["DeadLetterQueue"], queue["MaxReceiveCount"]) == (dead, 3)


def test_they_tell_which_queues_are_elastic(web: Web, new_name: NewName) -> None:
    plain, elastic = new_name(), new_name()
    web.create(plain)
    web.create(elastic, RockdoveElastic="{}")
    assert {queue["QueueName"]: queue.get("Elastic", False) for queue in figures(web, plain, elastic)["Queues"]} == {
        plain: False,
        elastic: True,
    }


def test_the_whole_service(service: RunningService, web: Web, new_name: NewName) -> None:
    url = web.create(new_name())
    send(web, url, "something")
    reply = web.call("Rockdove.GetServiceFigures", {})
    assert reply.status == 200, reply
    found = reply.json
    assert found["Accounts"] is False
    assert found["Store"] == ("sqlite" if service.store == "front-ends" else service.store)
    assert found["Connections"] >= 1
    sends = [each for each in found["Operations"] if each["Operation"] == "SendMessage"]
    assert sends[0]["Count"] >= 1
