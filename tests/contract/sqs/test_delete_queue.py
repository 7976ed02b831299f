"""DeleteQueue, and the minute after it."""

from typing import Any

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue

GONE = "AWS.SimpleQueueService.NonExistentQueue"
RECENTLY = "AWS.SimpleQueueService.QueueDeletedRecently"


def test_a_deleted_queue_is_gone_whatever_it_held(queue: SqsQueue) -> None:
    queue.send_all("waits", "is in flight")
    handle = queue.receive_one()
    queue.sqs.delete_queue(QueueUrl=queue.url)
    with refused(GONE):
        queue.send()
    with refused(GONE):
        queue.receive()
    with refused(GONE):
        queue.delete(handle)
    with refused(GONE):
        queue.sqs.get_queue_url(QueueName=queue.name)
    assert queue.sqs.list_queues(QueueNamePrefix=queue.name).get("QueueUrls", []) == []


def test_it_cannot_be_deleted_twice(queue: SqsQueue) -> None:
    queue.sqs.delete_queue(QueueUrl=queue.url)
    with refused(GONE):
        queue.sqs.delete_queue(QueueUrl=queue.url)


def test_the_name_rests_for_sixty_seconds(service: RunningService, queue: SqsQueue) -> None:
    queue.send("of the old queue")
    queue.sqs.delete_queue(QueueUrl=queue.url)
    text = "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    for wait_s in (0, 30, 29.9):
        service.advance(wait_s)
        with refused(RECENTLY, text):
            queue.sqs.create_queue(QueueName=queue.name)
    service.advance(0.1)
    assert queue.sqs.create_queue(QueueName=queue.name)["QueueUrl"] == queue.url
    assert queue.counts() == (0, 0, 0)
    assert queue.receive() == []


def test_the_new_queue_has_nothing_of_the_old_one(service: RunningService, make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="5")
    queue.sqs.tag_queue(QueueUrl=queue.url, Tags={"a": "b"})
    queue.send()
    message = queue.receive_one()
    queue.sqs.delete_queue(QueueUrl=queue.url)
    service.advance(60)
    queue.sqs.create_queue(QueueName=queue.name, Attributes={"DelaySeconds": "3"})
    assert queue.attributes("VisibilityTimeout", "DelaySeconds") == {"VisibilityTimeout": "30", "DelaySeconds": "3"}
    assert queue.sqs.list_queue_tags(QueueUrl=queue.url).get("Tags", {}) == {}
    with refused("ReceiptHandleIsInvalid"):
        queue.delete(message)


def test_other_names_do_not_rest(queue: SqsQueue, new_name: NewName) -> None:
    queue.sqs.delete_queue(QueueUrl=queue.url)
    queue.sqs.create_queue(QueueName=new_name())


def test_the_rule_can_be_switched_off(hurried: RunningService, protocol: str, new_name: NewName) -> None:
    sqs: Any = hurried.client(protocol)
    queue = SqsQueue(sqs, sqs.create_queue(QueueName=new_name())["QueueUrl"])
    for body in ("first", "second", "third"):
        queue.send(body)
        sqs.delete_queue(QueueUrl=queue.url)
        assert sqs.create_queue(QueueName=queue.name)["QueueUrl"] == queue.url
        assert queue.receive() == []


def test_a_restart_does_not_shorten_the_minute(services: Services, new_name: NewName) -> None:
    service = services("sqlite")
    sqs = service.client()
    name = new_name()
    sqs.delete_queue(QueueUrl=sqs.create_queue(QueueName=name)["QueueUrl"])
    service.restart()
    sqs = service.client()
    with refused(RECENTLY):
        sqs.create_queue(QueueName=name)
    service.advance(60)
    sqs.create_queue(QueueName=name)
