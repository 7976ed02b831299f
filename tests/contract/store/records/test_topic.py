"""Records of topics, with their subscriptions."""

from typing import Any

import pytest
from msgspec.structs import replace

from rockdove.core.topic import Subscription, TopicRecord
from rockdove.store.base import Conflict, TopicDropped, TopicPut
from tests.support.store import Bench


def subscription(number: int = 1, **fields: Any) -> Subscription:
    return Subscription(f"s{number}", "000000000000", f"arn:aws:sqs:us-east-1:000000000000:q{number}", number, **fields)


def topic(number: int = 1, **fields: Any) -> TopicRecord:
    values: dict[str, Any] = {
        "uid": f"{number:016x}",
        "account": "000000000000",
        "name": f"t{number}",
        "created_us": number,
    }
    return TopicRecord(**(values | fields))


def by_name(topics: list[TopicRecord]) -> list[TopicRecord]:
    return sorted(topics, key=lambda topic: topic.name)


def test_a_new_store_has_none(bench: Bench) -> None:
    assert bench.snapshot.topics == []


def test_topics_come_back(bench: Bench) -> None:
    one = topic(
        1,
        attributes={"DisplayName": "ü"},
        tags={"a": "b"},
        subscriptions=[subscription(1, attributes={"FilterPolicy": '{"a": ["b"]}'}), subscription(2)],
    )
    two = topic(2)
    bench.put_topic(one)
    bench.put_topic(two)
    bench.reopen()
    assert by_name(bench.snapshot.topics) == [one, two]


def test_a_record_is_replaced(bench: Bench) -> None:
    bench.put_topic(topic())
    changed = replace(topic(), subscriptions=[subscription(3)])
    bench.put_topic(changed)
    bench.reopen()
    assert bench.snapshot.topics == [changed]


def test_a_dropped_topic_is_gone(bench: Bench) -> None:
    for number in (1, 2):
        bench.put_topic(topic(number))
    bench.drop_topic(topic(1))
    assert [type(change) for change in bench.changes] == [TopicPut, TopicPut, TopicDropped]
    bench.reopen()
    assert bench.snapshot.topics == [topic(2)]


def test_topics_are_apart_from_queues(bench: Bench) -> None:
    queue = bench.queue()
    bench.put_topic(topic(1, name=queue.record.name))
    queue.send("a")
    bench.drop_topic(topic(1, name=queue.record.name))
    bench.reopen()
    assert (bench.snapshot.topics, [record.uid for record in bench.snapshot.queues]) == ([], [queue.record.uid])
    assert queue.read() == ["a"]


def test_whoever_has_not_heard_of_a_change_is_refused(bench: Bench) -> None:
    bench.put_topic(topic())
    seen = bench.version
    bench.put_topic(replace(topic(), subscriptions=[subscription(1)]))
    with pytest.raises(Conflict):
        bench.do(bench.store.records.put_topic, replace(topic(), subscriptions=[subscription(2)]), seen)
    with pytest.raises(Conflict):
        bench.do(bench.store.records.drop_topic, topic(), seen)
    # Another topic is no conflict.
    bench.do(bench.store.records.put_topic, topic(2), seen)
    bench.reopen()
    assert by_name(bench.snapshot.topics)[0].subscriptions == [subscription(1)]


def test_what_is_done_survives_a_crash(durable: Bench) -> None:
    durable.put_topic(topic(1))
    durable.put_topic(topic(2))
    durable.drop_topic(topic(1))
    durable.crash()
    assert durable.snapshot.topics == [topic(2)]
