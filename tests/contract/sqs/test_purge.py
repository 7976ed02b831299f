"""PurgeQueue: everything goes, also what is in flight; and the minute after it."""

from typing import Any

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService
from tests.support.sqs_queue import SqsQueue

IN_PROGRESS = "AWS.SimpleQueueService.PurgeQueueInProgress"


def _purge(queue: SqsQueue) -> None:
    queue.sqs.purge_queue(QueueUrl=queue.url)


def test_visible_delayed_and_in_flight_messages_go(service: RunningService, queue: SqsQueue) -> None:
    queue.send_all(*map(str, range(25)))
    queue.send("delayed", DelaySeconds=2)
    queue.receive(5, VisibilityTimeout=3)
    assert queue.counts() == (20, 5, 1)
    _purge(queue)
    assert queue.counts() == (0, 0, 0)
    service.advance(10)
    assert queue.receive() == []
    assert queue.counts() == (0, 0, 0)


def test_what_is_sent_afterwards_stays(queue: SqsQueue) -> None:
    queue.send("before")
    _purge(queue)
    queue.send("after")
    assert queue.bodies() == ["after"]


def test_handles_of_what_was_purged_delete_nothing_and_do_no_harm(queue: SqsQueue) -> None:
    queue.send("before")
    message = queue.receive_one()
    _purge(queue)
    queue.send("after")
    queue.delete(message)
    with refused("InvalidParameterValue"):
        queue.hide(message, 0)
    assert queue.bodies() == ["after"]


def test_again_only_after_sixty_seconds(service: RunningService, queue: SqsQueue) -> None:
    _purge(queue)
    text = f"Only one PurgeQueue operation on {queue.name} is allowed every 60 seconds."
    for wait_s in (0, 59.9):
        service.advance(wait_s)
        queue.send("stays")
        with refused(IN_PROGRESS, text, status=403):
            _purge(queue)
    service.advance(0.1)
    assert queue.counts()[0] == 2
    _purge(queue)
    assert queue.counts() == (0, 0, 0)


def test_other_queues_may_be_purged_meanwhile(make: QueueMaker) -> None:
    _purge(make())
    _purge(make())


def test_attributes_and_tags_stay(make: QueueMaker) -> None:
    queue = make(VisibilityTimeout="7", RockdovePhysicalQueues="3")
    queue.sqs.tag_queue(QueueUrl=queue.url, Tags={"a": "b"})
    before = queue.attributes("All")
    queue.send_all(*map(str, range(9)))
    _purge(queue)
    assert queue.attributes("All") == before
    assert queue.sqs.list_queue_tags(QueueUrl=queue.url)["Tags"] == {"a": "b"}
    queue.send_all(*map(str, range(9)))
    assert sorted(queue.bodies()) == [str(number) for number in range(9)]


def test_fifo_groups_are_free_again(fifo: SqsQueue) -> None:
    fifo.post("g", "1", "2", "3")
    fifo.receive_one()
    _purge(fifo)
    fifo.post("g", "4")
    assert fifo.bodies() == ["4"]


def test_deduplication_forgets_what_was_purged(make: QueueMaker) -> None:
    """Recorded from SQS: a purge clears the deduplication ids as well."""
    fifo = make.fifo(ContentBasedDeduplication="false")
    fifo.send("1", MessageGroupId="g", MessageDeduplicationId="same")
    _purge(fifo)
    fifo.send("2", MessageGroupId="g", MessageDeduplicationId="same")
    assert fifo.bodies() == ["2"]


def test_sequence_numbers_go_on_growing(fifo: SqsQueue) -> None:
    before = fifo.send("1", MessageGroupId="g")["SequenceNumber"]
    _purge(fifo)
    after = fifo.send("2", MessageGroupId="g")["SequenceNumber"]
    assert int(after) > int(before)


def test_the_rule_can_be_switched_off(hurried: RunningService, protocol: str, new_name: NewName) -> None:
    sqs: Any = hurried.client(protocol)
    queue = SqsQueue(sqs, sqs.create_queue(QueueName=new_name())["QueueUrl"])
    for _ in range(3):
        queue.send()
        _purge(queue)
        assert queue.counts() == (0, 0, 0)
