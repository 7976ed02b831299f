"""Batches of a queue: a look that disturbs nothing, and a drain that can be read again."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from rockdove.client import Client, Outgoing
from rockdove.spark.service import place
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused
from rockdove.spark.source.batch import Drain, Peek
from rockdove.spark.source.option import Chosen
from rockdove.spark.source.schema import Table
from tests.contract.spark.conftest import bodies, counts
from tests.support.service import RunningService


def rows(reader: Any) -> list[dict[str, Any]]:
    partitions = reader.partitions()
    random.Random(4).shuffle(partitions)
    return [row for partition in partitions for batch in reader.read(partition) for row in batch.to_pylist()]


def test_a_look_disturbs_nothing(where: QueuePlace, narrow: Table, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(30))
    for _ in range(2):
        found = rows(Peek(where, narrow, None, None))
        assert Counter(row["body"] for row in found) == Counter(bodies(30))
        assert {row["receive_count"] for row in found} == {0}
    assert counts(client, queue) == (30, 0)
    assert len(rows(Peek(where, narrow, 7, None))) == 7


def test_a_look_shows_all_that_a_deep_queue_has(where: QueuePlace, narrow: Table, client: Client, queue: str) -> None:
    for chunk in range(10):
        client.publish_once(queue, "fill", chunk, 0, "one", bodies(1_000, begin=1_000 * chunk))
    found = rows(Peek(where, narrow, None, None))
    assert Counter(row["body"] for row in found) == Counter(bodies(10_000))
    assert len(rows(Peek(where, narrow, 2_345, None))) == 2_345
    assert counts(client, queue) == (10_000, 0)


def test_an_empty_queue_is_an_empty_table(where: QueuePlace, narrow: Table) -> None:
    assert rows(Peek(where, narrow, None, None)) == []
    assert rows(Drain(where, narrow, "x", None, None)) == []


def test_a_drain_with_the_same_id_gives_the_same_rows(
    where: QueuePlace, narrow: Table, client: Client, queue: str, steady: RunningService
) -> None:
    client.send_batch(queue, bodies(40))
    first = rows(Drain(where, narrow, "report", None, None))
    assert Counter(row["body"] for row in first) == Counter(bodies(40))
    assert counts(client, queue) == (0, 40)
    # Longer than messages are kept.
    steady.advance(7 * 86_400)
    client.send_batch(queue, bodies(10, begin=40))
    # Also with another number of tasks.
    for partitions in (None, 1, 16, 100):
        again = rows(Drain(where, narrow, "report", None, partitions))
        assert Counter(row["message_id"] for row in again) == Counter(row["message_id"] for row in first)
    assert Counter(row["body"] for row in rows(Drain(where, narrow, "next", None, None))) == Counter(
        bodies(10, begin=40)
    )
    assert client.ack_through(queue, "report").messages == 40
    with pytest.raises(Refused, match=r"lease id report has ended: .* Take another leaseId"):
        rows(Drain(where, narrow, "report", None, None))


@pytest.mark.parametrize("most", [1, 10, 16, 17, 39])
def test_at_most_is_at_most(most: int, where: QueuePlace, narrow: Table, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(40))
    assert len(rows(Drain(where, narrow, "few", most, None))) == most
    assert counts(client, queue) == (40 - most, most)


def test_an_id_that_holds_more_than_is_wanted_is_refused(
    where: QueuePlace, narrow: Table, client: Client, queue: str
) -> None:
    client.send_batch(queue, bodies(40))
    rows(Drain(where, narrow, "report", 32, None))
    with pytest.raises(Refused, match=r"report holds 32 messages of .* option maxMessages must be .* not 10"):
        rows(Drain(where, narrow, "report", 10, None))
    assert counts(client, queue) == (8, 32)


def test_an_id_gives_all_that_it_holds_also_where_less_would_do(
    where: QueuePlace, narrow: Table, client: Client, queue: str
) -> None:
    """What is acknowledged together is read together."""
    client.send_batch(queue, bodies(12))
    for sequence in range(4):
        client.lease_batch(queue, "report", 3, sequence, limit=3)
    assert len(rows(Drain(where, narrow, "report", 16, None))) == 12


def test_a_drain_takes_no_more_than_it_may(where: QueuePlace, narrow: Table, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(40))
    first = rows(Drain(where, narrow, "few", 32, None))
    assert len(first) == 32
    assert Counter(row["body"] for row in rows(Drain(where, narrow, "few", 32, None))) == Counter(
        row["body"] for row in first
    )
    assert counts(client, queue) == (8, 32)


@pytest.fixture
def ordered(steady: RunningService, client: Client, new_name: Callable[..., str]) -> QueuePlace:
    """A FIFO queue."""
    queue = f"{new_name()}.fifo"
    client.create_queue(queue, attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})
    return place.find(Options({"queue": queue, "endpoint": steady.endpoint}))


def test_a_drain_of_a_fifo_queue_cuts_no_group(narrow: Table, client: Client, ordered: QueuePlace) -> None:
    sent = [Outgoing(body=f"{group} {number:02}", group_id=group) for number in range(30) for group in "abc"]
    client.send_batch(ordered.queue, sent)
    found = [row["body"] for row in rows(Drain(ordered, narrow, "report", 100, None))]
    assert sorted(found) == sorted(message.body for message in sent)
    for group in "abc":
        assert [body for body in found if body[0] == group] == [f"{group} {number:02}" for number in range(30)]
    assert [row["body"] for row in rows(Drain(ordered, narrow, "report", 100, 3))] == found


def test_a_drain_of_a_fifo_queue_reads_shards_that_it_had(narrow: Table, client: Client, ordered: QueuePlace) -> None:
    client.send_batch(ordered.queue, [Outgoing(body=group, group_id=group) for group in "ab"])
    assert len(client.lease_batch(ordered.queue, "report", 5, 0, limit=1).messages) == 1
    assert sorted(row["body"] for row in rows(Drain(ordered, narrow, "report", None, None))) == ["a", "b"]


def test_a_drain_takes_nothing_in_place_of_what_was_deleted(
    where: QueuePlace, narrow: Table, client: Client, queue: str
) -> None:
    client.send_batch(queue, bodies(32))
    assert len(rows(Drain(where, narrow, "report", 32, None))) == 32
    client.purge(queue)
    client.send_batch(queue, bodies(16, begin=32))
    assert rows(Drain(where, narrow, "report", 32, None)) == []
    # More was wanted: it stands behind leases of which nothing is left.
    more = rows(Drain(where, narrow, "report", 40, None))
    assert len(more) == 8
    assert sorted(row["message_id"] for row in rows(Drain(where, narrow, "report", 40, None))) == sorted(
        row["message_id"] for row in more
    )
    assert counts(client, queue) == (8, 8)


def test_a_look_has_a_task_for_each_physical_queue(
    where: QueuePlace, narrow: Table, client: Client, queue: str
) -> None:
    client.send_batch(queue, bodies(30))
    for wanted, tasks in ((None, 3), (2, 2), (1, 1), (9, 3)):
        peek = Peek(where, narrow, None, wanted)
        assert len(peek.partitions()) == tasks
        assert Counter(row["body"] for row in rows(peek)) == Counter(bodies(30))
    assert len(Peek(where, narrow, 7, None).partitions()) == 1


def test_the_service_chooses_by_time_and_group(
    where: QueuePlace, narrow: Table, client: Client, queue: str, steady: RunningService
) -> None:
    sent = []
    for number in range(4):
        client.send(queue, f"message {number}", group_id="even" if number % 2 == 0 else "odd")
        [message] = [message for message in client.peek(queue, limit=10) if message.body == f"message {number}"]
        sent.append(datetime.fromtimestamp(int(message.attributes["SentTimestamp"]) / 1_000, UTC))
        steady.advance(10)

    def chosen(**options: Any) -> list[str]:
        return sorted(row["body"] for row in rows(Peek(where, narrow, None, None, Chosen(**options))))

    def at(number: int, later_s: float = 0) -> float:
        return sent[number].timestamp() + later_s

    assert chosen() == bodies(4)
    assert chosen(group_id="odd") == ["message 1", "message 3"]
    assert chosen(sent_from=at(2)) == ["message 2", "message 3"]
    assert chosen(sent_until=at(1)) == ["message 0"]
    assert chosen(sent_from=at(0, 5), sent_until=at(2, 5)) == ["message 1", "message 2"]
    assert chosen(group_id="odd", sent_until=at(2)) == ["message 1"]
    assert chosen(sent_from=at(3, 5)) == []
