"""GetQueueUrl, and the ways to name a queue."""

from typing import Any

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

GONE = "AWS.SimpleQueueService.NonExistentQueue"


def test_the_url_is_that_of_the_creation(queue: SqsQueue, fifo: SqsQueue) -> None:
    for one in (queue, fifo):
        assert one.sqs.get_queue_url(QueueName=one.name)["QueueUrl"] == one.url


def test_the_owner_may_be_named(queue: SqsQueue) -> None:
    answer = queue.sqs.get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId="000000000000")
    assert answer["QueueUrl"] == queue.url
    with refused(GONE):
        queue.sqs.get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId="111111111111")


def test_a_queue_that_is_not_there_has_no_url(sqs: Any, protocol: str) -> None:
    text = "The specified queue does not exist"
    with refused(GONE, f"{text}." if protocol == "json" else f"{text} for this wsdl version."):
        sqs.get_queue_url(QueueName="never-made")


def test_the_host_of_a_queue_url_does_not_matter(make: QueueMaker) -> None:
    queue = make()
    for host in ("https://sqs.us-east-1.amazonaws.com", "http://localhost:1", "http://[::1]:9324"):
        SqsQueue(queue.sqs, f"{host}/000000000000/{queue.name}").send(host)
    assert len(queue.receive()) == 3


def test_the_account_of_a_queue_url_matters(queue: SqsQueue) -> None:
    with refused(GONE):
        SqsQueue(queue.sqs, queue.url.replace("000000000000", "000000000001")).send()


def test_queue_urls_are_case_sensitive(make: QueueMaker) -> None:
    queue = make()
    with refused(GONE):
        SqsQueue(queue.sqs, queue.url.replace(queue.name, queue.name.upper())).send()


def test_a_queue_may_be_named_by_its_name_alone(queue: SqsQueue) -> None:
    """Not documented, but SQS takes it, and scripts rely on it."""
    SqsQueue(queue.sqs, queue.name).send("by name")
    assert queue.bodies() == ["by name"]


def test_every_operation_on_a_queue_refuses_one_that_is_not_there(sqs: Any, service: Any) -> None:
    url = f"{service.endpoint}/000000000000/never-made"
    calls: dict[str, dict[str, Any]] = {
        "add_permission": {"Label": "x", "AWSAccountIds": ["111111111111"], "Actions": ["SendMessage"]},
        "change_message_visibility": {"ReceiptHandle": "x", "VisibilityTimeout": 1},
        "change_message_visibility_batch": {"Entries": [{"Id": "1", "ReceiptHandle": "x", "VisibilityTimeout": 1}]},
        "delete_message": {"ReceiptHandle": "x"},
        "delete_message_batch": {"Entries": [{"Id": "1", "ReceiptHandle": "x"}]},
        "delete_queue": {},
        "get_queue_attributes": {"AttributeNames": ["All"]},
        "list_dead_letter_source_queues": {},
        "list_queue_tags": {},
        "purge_queue": {},
        "receive_message": {},
        "remove_permission": {"Label": "x"},
        "send_message": {"MessageBody": "x"},
        "send_message_batch": {"Entries": [{"Id": "1", "MessageBody": "x"}]},
        "set_queue_attributes": {"Attributes": {"DelaySeconds": "1"}},
        "tag_queue": {"Tags": {"a": "b"}},
        "untag_queue": {"TagKeys": ["a"]},
    }
    for operation, arguments in calls.items():
        with refused(GONE):
            getattr(sqs, operation)(QueueUrl=url, **arguments)
