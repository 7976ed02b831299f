"""Tags: TagQueue, UntagQueue, ListQueueTags."""

import pytest

from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue


def _tag(queue: SqsQueue, tags: dict[str, str]) -> None:
    queue.sqs.tag_queue(QueueUrl=queue.url, Tags=tags)


def _tags(queue: SqsQueue) -> dict[str, str]:
    tags: dict[str, str] = queue.sqs.list_queue_tags(QueueUrl=queue.url).get("Tags", {})
    return tags


def test_a_queue_begins_without(queue: SqsQueue) -> None:
    assert _tags(queue) == {}


def test_tags_are_added_and_overwritten(queue: SqsQueue) -> None:
    _tag(queue, {"tag1": "value1", "tag2": "value2"})
    _tag(queue, {"tag1": "VALUE1", "tag3": ""})
    assert _tags(queue) == {"tag1": "VALUE1", "tag2": "value2", "tag3": ""}


def test_tags_are_removed_and_unknown_keys_ignored(queue: SqsQueue) -> None:
    _tag(queue, {"tag1": "value1", "tag2": "value2"})
    queue.sqs.untag_queue(QueueUrl=queue.url, TagKeys=["tag1", "tag3"])
    assert _tags(queue) == {"tag2": "value2"}
    queue.sqs.untag_queue(QueueUrl=queue.url, TagKeys=["tag2"])
    assert _tags(queue) == {}


def test_keys_are_case_sensitive(queue: SqsQueue) -> None:
    _tag(queue, {"MyTag": "value1", "mytag": "value2"})
    assert _tags(queue) == {"MyTag": "value1", "mytag": "value2"}


def test_a_queue_has_up_to_fifty(queue: SqsQueue) -> None:
    fifty = {f"key-{number}": str(number) for number in range(50)}
    _tag(queue, fifty)
    _tag(queue, {"key-0": "changed"})
    assert _tags(queue) == fifty | {"key-0": "changed"}
    with refused("InvalidParameterValue"):
        _tag(queue, {"key-50": ""})
    assert _tags(queue) == fifty | {"key-0": "changed"}


def test_keys_have_up_to_128_characters_and_values_up_to_256(queue: SqsQueue) -> None:
    longest = {"ä" * 128: "ß" * 256, "with space :/=+-@_.": "and here :/=+-@_."}
    _tag(queue, longest)
    assert _tags(queue) == longest


@pytest.mark.parametrize("tags", [{"k" * 129: ""}, {"": "v"}, {"k": "v" * 257}, {"aws:mine": "v"}])
def test_longer_or_reserved_ones_are_refused(queue: SqsQueue, tags: dict[str, str]) -> None:
    with refused("InvalidParameterValue"):
        _tag(queue, {"good": "tag", **tags})
    assert _tags(queue) == {}


def test_tags_change_no_attribute(queue: SqsQueue) -> None:
    before = queue.attributes("All")
    _tag(queue, {"a": "b"})
    assert queue.attributes("All") == before
