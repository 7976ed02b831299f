"""/metrics: how full queues are, how old, and what has happened in them."""

import json
import threading
from collections.abc import Callable

import pytest

from rockdove.wire.operation import OPERATIONS
from tests.contract.sqs.conftest import QueueMaker
from tests.support.longpoll import LongPoll
from tests.support.metrics import Scrape, scrape
from tests.support.raw import Web
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue


@pytest.fixture(scope="module")
def service(services: Services, store: str) -> RunningService:
    """Of its own: that of the other tests has so many queues that its metrics are long."""
    return services(store)


@pytest.fixture
def look(service: RunningService) -> Callable[[], Scrape]:
    return lambda: scrape(service.port)


@pytest.fixture(params=["standard", "fifo", "three physical queues"])
def queue(request: pytest.FixtureRequest, make_json: QueueMaker) -> SqsQueue:
    if request.param == "fifo":
        return make_json.fifo()
    return make_json(**({} if request.param == "standard" else {"RockdovePhysicalQueues": "3"}))


def send(queue: SqsQueue, number: int) -> None:
    for n in range(number):
        group = {"MessageGroupId": f"g{n}"} if queue.name.endswith(".fifo") else {}
        queue.sqs.send_message(QueueUrl=queue.url, MessageBody=f"body {n}", **group)


def test_messages_by_state(service: RunningService, queue: SqsQueue, look: Callable[[], Scrape]) -> None:
    assert look().messages(queue.name) == (0, 0, 0)
    send(queue, 3)
    assert look().messages(queue.name) == (3, 0, 0)
    queue.sqs.receive_message(QueueUrl=queue.url)
    assert look().messages(queue.name) == (2, 1, 0)
    queue.sqs.set_queue_attributes(QueueUrl=queue.url, Attributes={"DelaySeconds": "60"})
    if not queue.name.endswith(".fifo"):
        send(queue, 1)
        assert look().messages(queue.name) == (2, 1, 1)
    service.advance(100)
    assert look().messages(queue.name)[1:] == (0, 0)


def test_the_age_of_the_oldest_message(service: RunningService, queue: SqsQueue, look: Callable[[], Scrape]) -> None:
    assert look()("rockdove_oldest_age_seconds", queue=queue.name) == 0
    send(queue, 1)
    service.advance(10)
    send(queue, 2)
    service.advance(5)
    assert look()("rockdove_oldest_age_seconds", queue=queue.name) == 15


def test_what_happens_to_messages(service: RunningService, queue: SqsQueue, look: Callable[[], Scrape]) -> None:
    sqs, url = queue.sqs, queue.url
    sqs.receive_message(QueueUrl=url)
    assert look().events(queue.name) == {"empty": 1}
    send(queue, 5)
    messages = [sqs.receive_message(QueueUrl=url)["Messages"][0] for _ in range(3)]
    assert look().events(queue.name) == {"empty": 1, "sent": 5, "received": 3}
    sqs.delete_message(QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=messages[0]["ReceiptHandle"])
    entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages[1:])]
    sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    assert look().events(queue.name) == {"empty": 1, "sent": 5, "received": 3, "deleted": 3}
    service.advance(5 * 24 * 3600)
    service.sweep()
    assert look().events(queue.name) == {"empty": 1, "sent": 5, "received": 3, "deleted": 3, "expired": 2}


def test_what_a_receive_finds_too_old(service: RunningService, queue: SqsQueue, look: Callable[[], Scrape]) -> None:
    send(queue, 5)
    service.advance(5 * 24 * 3600)
    assert "Messages" not in queue.sqs.receive_message(QueueUrl=queue.url)
    service.sweep()
    assert look().events(queue.name) == {"sent": 5, "expired": 5, "empty": 1}


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_dead_letters(service: RunningService, make_json: QueueMaker, look: Callable[[], Scrape], fifo: bool) -> None:
    new = make_json.fifo if fifo else make_json
    dead = new()
    policy = json.dumps({"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1})
    queue = new(RedrivePolicy=policy, VisibilityTimeout="10")
    send(queue, 3)
    assert len(queue.sqs.receive_message(QueueUrl=queue.url, MaxNumberOfMessages=10)["Messages"]) == 3
    service.advance(11)
    assert "Messages" not in queue.sqs.receive_message(QueueUrl=queue.url, MaxNumberOfMessages=10)
    assert look().event(queue.name, "dead-lettered") == 3
    assert look().messages(dead.name) == (3, 0, 0)
    assert look().events(dead.name) == {}


def test_what_nobody_got_was_not_received(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    poll = LongPoll(live.port, queue.url)
    assert scrape(live.port)("rockdove_long_polls") == 1
    with live.frozen():
        poll.wire.close()
        thread = threading.Thread(target=send, args=(queue, 1))
        thread.start()
    thread.join()
    assert scrape(live.port).event(queue.name, "received") == 0
    assert len(queue.sqs.receive_message(QueueUrl=queue.url, WaitTimeSeconds=20)["Messages"]) == 1
    assert scrape(live.port).event(queue.name, "received") == 1
    assert scrape(live.port)("rockdove_long_polls") == 0


def test_times_and_errors_of_operations(services: Services, store: str) -> None:
    service = services(store)
    web = Web(service.port)
    url = web.create("q")
    for _ in range(3):
        assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}).status == 200
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": ""}).status == 400
    assert web.get(Action="GetQueueUrl", QueueName="none").status == 400
    assert web.call("Nonsense", {}).status == 400
    assert web.get("/ready").status == 200
    found = scrape(service.port)
    assert found("rockdove_request_seconds_count", operation="SendMessage") == 4
    assert found("rockdove_request_seconds_bucket", operation="SendMessage", le="+Inf") == 4
    assert found("rockdove_request_seconds_count", operation="GetQueueUrl") == 1
    assert found("rockdove_request_seconds_count", operation="DeleteQueue") is None
    assert found("rockdove_errors_total", operation="SendMessage", status="400") == 1
    assert found("rockdove_errors_total", operation="", status="400") == 1
    operations = {dict(labels)["operation"] for name, labels in found.samples if "request_seconds" in name}
    assert operations <= set(OPERATIONS)
    web.close()


def test_what_an_operator_expects_beside(services: Services, store: str) -> None:
    service = services(store)
    web = Web(service.port)
    web.create("q")
    found = scrape(service.port)
    web.close()
    assert {"rockdove_build_info", "process_resident_memory_bytes", "process_open_fds"} <= found.names()
    assert found("rockdove_connections") == 2
    assert found("rockdove_store_trouble") == 0
    assert (found("rockdove_store_bytes") is None) == (store == "memory")
    assert found("rockdove_store_failed_batches_total") == 0
    batches = found("rockdove_store_batches_total")
    assert batches is not None
    assert (batches > 0) == (store != "memory")


def test_so_many_queues_have_series_of_their_own(services: Services, store: str) -> None:
    service = services(store, metrics_queues=2, cool_down=False)
    web = Web(service.port)
    urls = {name: web.create(name) for name in "abcd"}
    assert scrape(service.port).queues() == {"a", "b", "(others)"}
    for url in urls.values():
        web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    service.advance(7)
    found = scrape(service.port)
    assert found.messages("(others)") == (2, 0, 0)
    assert found.event("(others)", "sent") == 2
    assert found("rockdove_oldest_age_seconds", queue="(others)") == 7
    assert found("rockdove_queues") == 4
    # Neither a deletion among the others nor a place that becomes free lets the counter of the others fall.
    web.call("DeleteQueue", {"QueueUrl": urls["c"]})
    web.call("DeleteQueue", {"QueueUrl": urls["a"]})
    found = scrape(service.port)
    assert found.queues() == {"b", "(others)"}
    assert found.messages("(others)") == (1, 0, 0)
    assert found.event("(others)", "sent") == 2
    assert found.event("a", "sent") is None
    # A new queue takes the place, and begins at nothing.
    web.create("a")
    assert scrape(service.port).queues() == {"a", "b", "(others)"}
    assert scrape(service.port).event("a", "sent") == 0
    web.close()


def test_a_purge_is_no_event(service: RunningService, queue: SqsQueue, look: Callable[[], Scrape]) -> None:
    send(queue, 3)
    queue.sqs.purge_queue(QueueUrl=queue.url)
    assert look().messages(queue.name) == (0, 0, 0)
    assert look().events(queue.name) == {"sent": 3}


def test_many_who_look_at_once(service: RunningService, queue: SqsQueue) -> None:
    send(queue, 1)
    found: list[Scrape] = []
    threads = [threading.Thread(target=lambda: found.append(scrape(service.port))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.messages(queue.name) for each in found] == [(1, 0, 0)] * 8


def test_a_head_request(web: Web) -> None:
    reply = web.request("HEAD", "/metrics")
    assert (reply.status, reply.body) == (200, b"")
