"""CreateQueue: names, attributes, defaults, and asking for a queue that is there already."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.sqs.conftest import QueueMaker
from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue, redrive

NewName = Callable[..., str]

BAD_NAME = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
BAD_FIFO_NAME = (
    "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo "
    "suffix and be 1 to 80 in length."
)

# Attribute, least, most, default.
RANGES = [
    ("DelaySeconds", 0, 900, 0),
    ("MaximumMessageSize", 1_024, 1_048_576, 1_048_576),
    ("MessageRetentionPeriod", 60, 1_209_600, 345_600),
    ("ReceiveMessageWaitTimeSeconds", 0, 20, 0),
    ("VisibilityTimeout", 0, 43_200, 30),
]


def test_the_url_names_account_and_queue(sqs: Any, service: Any, new_name: NewName) -> None:
    name = new_name()
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == f"{service.endpoint}/000000000000/{name}"


def test_asking_twice_gives_the_same_queue(sqs: Any, new_name: NewName) -> None:
    name, attributes = new_name(), {"VisibilityTimeout": "69", "DelaySeconds": "1"}
    first = sqs.create_queue(QueueName=name, Attributes=attributes)
    assert sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"] == first["QueueUrl"]


def test_a_queue_is_found_by_its_name_alone_or_by_some_of_its_attributes(sqs: Any, new_name: NewName) -> None:
    name = new_name()
    first = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "69", "DelaySeconds": "1"})
    for some in ({}, {"DelaySeconds": "1"}, {"MessageRetentionPeriod": "345600"}):
        assert sqs.create_queue(QueueName=name, Attributes=some)["QueueUrl"] == first["QueueUrl"]


def test_asking_with_another_value_is_refused_and_changes_nothing(make: QueueMaker) -> None:
    queue = make(ReceiveMessageWaitTimeSeconds="1", DelaySeconds="1")
    text = "A queue already exists with the same name and a different value for attribute DelaySeconds"
    with refused("QueueAlreadyExists", text):
        queue.sqs.create_queue(
            QueueName=queue.name, Attributes={"ReceiveMessageWaitTimeSeconds": "1", "DelaySeconds": "2"}
        )
    assert queue.attributes("DelaySeconds") == {"DelaySeconds": "1"}


def test_the_attributes_of_now_count_not_those_of_the_creation(make: QueueMaker) -> None:
    queue = make(DelaySeconds="1")
    queue.set(DelaySeconds="2")
    assert queue.sqs.create_queue(QueueName=queue.name, Attributes={"DelaySeconds": "2"})["QueueUrl"] == queue.url
    with refused("QueueAlreadyExists"):
        queue.sqs.create_queue(QueueName=queue.name, Attributes={"DelaySeconds": "1"})


def test_messages_in_a_queue_make_no_difference(make: QueueMaker) -> None:
    queue = make()
    queue.send("1")
    queue.send("2", DelaySeconds=10)
    assert queue.sqs.create_queue(QueueName=queue.name)["QueueUrl"] == queue.url
    assert queue.counts() == (1, 0, 1)


def test_a_document_is_the_same_however_it_is_written(make: QueueMaker) -> None:
    target = make()
    queue = make(RedrivePolicy=redrive(target.arn, 3))
    other = f'{{ "maxReceiveCount":3,\n"deadLetterTargetArn":"{target.arn}" }}'
    assert queue.sqs.create_queue(QueueName=queue.name, Attributes={"RedrivePolicy": other})["QueueUrl"] == queue.url


def test_queue_names_are_case_sensitive(sqs: Any, new_name: NewName) -> None:
    name = new_name("-a")
    first = sqs.create_queue(QueueName=name)["QueueUrl"]
    second = sqs.create_queue(QueueName=name.upper())["QueueUrl"]
    assert first != second
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.get_queue_url(QueueName=name.capitalize())


def test_a_name_has_up_to_80_letters_digits_hyphens_and_underscores(sqs: Any, new_name: NewName) -> None:
    for name in (new_name("_-").ljust(80, "Z"), new_name("0")):
        assert sqs.create_queue(QueueName=name)["QueueUrl"].endswith(f"/{name}")


@pytest.mark.parametrize("name", ["x" * 81, "a b", "a.b", "a/b", "a:b", "ä", "a~0", "a.fifo", "a\n"])
def test_other_names_are_refused(sqs: Any, name: str) -> None:
    with refused("InvalidParameterValue", BAD_NAME):
        sqs.create_queue(QueueName=name)


def test_an_empty_name_is_refused(sqs: Any) -> None:
    with refused("InvalidParameterValue"):
        sqs.create_queue(QueueName="")


def test_the_suffix_counts_towards_the_length_of_a_fifo_queues_name(sqs: Any, new_name: NewName) -> None:
    fits = f"{new_name().ljust(75, 'x')}.fifo"
    assert sqs.create_queue(QueueName=fits, Attributes={"FifoQueue": "true"})["QueueUrl"].endswith(fits)
    with refused("InvalidParameterValue", BAD_FIFO_NAME):
        sqs.create_queue(QueueName=f"x{fits}", Attributes={"FifoQueue": "true"})


@pytest.mark.parametrize("name", ["plain", ".fifo", "a.b.fifo", "a.fifo.fifo", "a.FIFO", "a b.fifo"])
def test_a_fifo_queues_name_ends_with_the_suffix(sqs: Any, name: str) -> None:
    with refused("InvalidParameterValue", BAD_FIFO_NAME):
        sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})


def test_a_standard_queue_is_made_without_the_attribute(sqs: Any, make: QueueMaker) -> None:
    """AWS documents `false` as a value of FifoQueue, and was seen to refuse it."""
    for value in ("false", "False"):
        with refused("InvalidAttributeName", "Unknown Attribute FifoQueue."):
            make(FifoQueue=value)
    assert "FifoQueue" not in make().attributes("All")
    with refused("InvalidParameterValue", BAD_NAME):
        sqs.create_queue(QueueName="name-of-a.fifo", Attributes={"FifoQueue": "false"})


@pytest.mark.parametrize("value", ["yes", "", "1", "true "])
def test_fifo_queue_is_true_or_false(sqs: Any, new_name: NewName, value: str) -> None:
    for suffix in ("", ".fifo"):
        with refused("InvalidAttributeValue", "Invalid value for the parameter FifoQueue. Reason:"):
            sqs.create_queue(QueueName=new_name() + suffix, Attributes={"FifoQueue": value})


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_capital_letters_make_no_difference_to_what_is_true(sqs: Any, new_name: NewName, value: str) -> None:
    name = f"{new_name()}.fifo"
    wanted = {"FifoQueue": value, "ContentBasedDeduplication": value, "SqsManagedSseEnabled": value}
    queue = SqsQueue(sqs, sqs.create_queue(QueueName=name, Attributes=wanted)["QueueUrl"])
    assert queue.attributes(*wanted) == dict.fromkeys(wanted, "true")
    assert sqs.create_queue(QueueName=name, Attributes=wanted)["QueueUrl"] == queue.url
    queue.set(ContentBasedDeduplication="FALSE", SqsManagedSseEnabled="False")
    assert queue.attributes(*wanted) == {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "false",
        "SqsManagedSseEnabled": "false",
    }


@pytest.mark.parametrize(("name", "least", "most", "default"), RANGES)
def test_numbers_have_ranges_and_defaults(make: QueueMaker, name: str, least: int, most: int, default: int) -> None:
    assert make().attributes(name) == {name: str(default)}
    assert make(**{name: str(least)}).attributes(name) == {name: str(least)}
    assert make(**{name: str(most)}).attributes(name) == {name: str(most)}
    for value in (str(least - 1), str(most + 1), "", "x", "1.5", " 60", "1e3", "99999999999999999999"):
        with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}. Reason:"):
            make(**{name: value})


@pytest.mark.parametrize("name", ["Foo", "delayseconds", "", "All", "QueueArn", "CreatedTimestamp", "MessageGroupId"])
def test_what_is_no_attribute_or_not_the_users_is_refused(make: QueueMaker, name: str) -> None:
    with refused("InvalidAttributeName", f"Unknown Attribute {name}."):
        make(**{name: "1"})


@pytest.mark.parametrize("name", ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"])
def test_attributes_of_fifo_queues_are_unknown_to_standard_ones(make: QueueMaker, name: str) -> None:
    with refused("InvalidAttributeName", f"Unknown Attribute {name}."):
        make(**{name: {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}.get(name, "true")})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ContentBasedDeduplication", ("true", "false")),
        ("DeduplicationScope", ("messageGroup", "queue")),
        ("FifoThroughputLimit", ("perQueue",)),
    ],
)
def test_attributes_of_fifo_queues_have_their_values(make: QueueMaker, name: str, values: tuple[str, ...]) -> None:
    for value in values:
        assert make.fifo(**{name: value}).attributes(name) == {name: value}
    for value in ("", "x", f" {values[0]}"):
        with refused("InvalidAttributeValue", f"Invalid value for the parameter {name}. Reason:"):
            make.fifo(**{name: value})


def test_throughput_by_group_needs_deduplication_by_group(make: QueueMaker) -> None:
    high = {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
    assert make.fifo(**high).attributes(*high) == high
    for scope in ({}, {"DeduplicationScope": "queue"}):
        with refused("InvalidAttributeValue"):
            make.fifo(FifoThroughputLimit="perMessageGroupId", **scope)


def test_tags_come_with_the_queue(sqs: Any, new_name: NewName) -> None:
    url = sqs.create_queue(QueueName=new_name(), tags={"owner": "me", "empty": ""})["QueueUrl"]
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"owner": "me", "empty": ""}


def test_bad_tags_make_no_queue(sqs: Any, new_name: NewName) -> None:
    name = new_name()
    with refused("InvalidParameterValue"):
        sqs.create_queue(QueueName=name, tags={f"key-{number}": "" for number in range(51)})
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.get_queue_url(QueueName=name)


@pytest.mark.parametrize("value", ["1", "2", "1000", "none", "auto"])
def test_the_order_hint_takes_its_values(make: QueueMaker, value: str) -> None:
    assert make(RockdoveOrderHint=value).attributes("RockdoveOrderHint") == {"RockdoveOrderHint": value}


@pytest.mark.parametrize("value", ["0", "1001", "", "None", "-1", "1.0", "many"])
def test_the_order_hint_refuses_others(make: QueueMaker, value: str) -> None:
    with refused("InvalidAttributeValue", "Invalid value for the parameter RockdoveOrderHint. Reason:"):
        make(RockdoveOrderHint=value)


@pytest.mark.parametrize("value", ["2", "none", "auto"])
def test_fifo_queues_refuse_every_order_hint_but_one(make: QueueMaker, value: str) -> None:
    assert make.fifo(RockdoveOrderHint="1").attributes("RockdoveOrderHint") == {"RockdoveOrderHint": "1"}
    with refused("InvalidAttributeValue", "Invalid value for the parameter RockdoveOrderHint. Reason:"):
        make.fifo(RockdoveOrderHint=value)


def test_the_number_of_physical_queues_is_chosen_at_creation(make: QueueMaker) -> None:
    queue = make(RockdovePhysicalQueues="3")
    assert queue.attributes("RockdovePhysicalQueues") == {"RockdovePhysicalQueues": "3"}
    for value in ("0", "", "x"):
        with refused("InvalidAttributeValue", "Invalid value for the parameter RockdovePhysicalQueues. Reason:"):
            make(RockdovePhysicalQueues=value)
    with refused("QueueAlreadyExists"):
        queue.sqs.create_queue(QueueName=queue.name, Attributes={"RockdovePhysicalQueues": "4"})


def test_nothing_is_left_of_a_refused_creation(sqs: Any, new_name: NewName) -> None:
    name = new_name()
    with refused("InvalidAttributeValue"):
        sqs.create_queue(QueueName=name, Attributes={"DelaySeconds": "901"})
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        sqs.get_queue_url(QueueName=name)
