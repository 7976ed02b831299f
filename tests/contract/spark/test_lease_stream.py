"""A queue of Rockdove as a stream: each message once, wherever the driver is killed, and however long it is gone."""

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rockdove.client import Client
from rockdove.spark.service import place
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused
from rockdove.spark.source import option
from rockdove.spark.source.lease import LeaseStream, Shard
from rockdove.spark.source.schema import Table
from tests.contract.spark.conftest import bodies, counts
from tests.support.micro_batch import Engine, Killed
from tests.support.service import RunningService, Services

HOUR_S = 3600

Make = Callable[..., Engine]


class Doomed(Engine):
    """Killed once, when the rows are written and the batch is not committed."""

    def step(self) -> None:
        if self.table and not self.kills:
            self.kills += 1
            raise Killed


@pytest.fixture
def make(where: QueuePlace, narrow: Table) -> Make:
    """`make(seed, risk, consumer="c")` gives a query that is killed so often, with these options."""

    def engine(
        seed: int = 1, risk: float = 0, kind: type[Engine] = Engine, at: QueuePlace = where, **options: str
    ) -> Engine:
        chosen = option.for_stream(Options({"maxMessagesPerTrigger": "25", "waitTimeSeconds": "0", **options}))
        reader = LeaseStream(at, narrow, chosen)
        return kind(lambda: LeaseStream(at, narrow, chosen, sleep=lambda s: None), reader, random.Random(seed), risk)

    return engine


def test_all_messages_come_out_and_are_deleted(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(60))
    engine = make()
    engine.run()
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(60))
    assert {row["receive_count"] for row in engine.rows} == {1}
    assert counts(client, queue) == (0, 0)


def test_progress_tells_what_is_in_the_queue(
    make: Make, client: Client, queue: str, where: QueuePlace, narrow: Table
) -> None:
    client.send_batch(queue, bodies(60))
    client.send(queue, "later", delay_s=60)
    client.receive(queue)
    reader = LeaseStream(where, narrow, option.for_stream(Options({"waitTimeSeconds": "0"})))
    assert reader.reportLatestOffset() is None
    reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    told = reader.reportLatestOffset()
    assert told is not None
    assert {**told, "lagSeconds": 0} == {"queue": queue, "visible": 59, "inFlight": 1, "delayed": 1, "lagSeconds": 0}
    assert told["lagSeconds"] >= 0
    json.dumps(told)
    reader.stop()


def test_a_rate_holds_over_time(where: QueuePlace, narrow: Table, client: Client, queue: str) -> None:
    """A batch has what the time since the last one allows, whatever a trigger would take."""
    client.send_batch(queue, bodies(100))
    slept: list[float] = []
    chosen = option.for_stream(Options({"waitTimeSeconds": "0", "maxMessagesPerSecond": "10"}))
    reader = LeaseStream(where, narrow, chosen, sleep=slept.append)
    offset = reader.initialOffset()
    taken = []
    for _ in range(3):
        end = reader.latestOffset(offset, reader.getDefaultReadLimit())
        shards = reader.partitions(offset, end)
        taken.append(sum(batch.num_rows for shard in shards for batch in reader.read(shard)))
        offset = end
    assert taken[0] == 9
    assert all(6 <= number <= 10 for number in taken)
    assert len(slept) == 2, "it was a second for each but the first"
    reader.stop()


def test_a_second_run_over_an_unchanged_queue_gives_nothing(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(10))
    engine = make()
    engine.run()
    batches = len(engine.table)
    engine.run()
    assert len(engine.table) == batches
    assert counts(client, queue) == (0, 0)
    assert client.list_leases(queue).leases == []


def test_nothing_is_leased_before_its_offset_is_logged(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(10))
    engine = make(risk=1)
    for _ in range(20):
        with pytest.raises(Killed):
            engine.run()
    assert engine.offsets == []
    assert counts(client, queue) == (10, 0)


def test_tasks_lease_in_parallel_as_many_as_there_are_physical_queues(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(24))
    engine = make()
    engine.run()
    assert json.loads(engine.offsets[0])["shards"] == 3
    more = make(numPartitions="5")
    client.send_batch(queue, bodies(24))
    more.run()
    assert json.loads(more.offsets[0])["shards"] == 5
    assert len(more.rows) == 24


def test_a_batch_has_at_most_so_many_messages(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(10))
    engine = make(maxMessagesPerTrigger="4", numPartitions="2")
    engine.run()
    assert [len(rows) for rows in engine.table.values()] == [4, 4, 2]


@pytest.mark.parametrize("seed", range(6))
def test_each_message_comes_out_once_wherever_the_driver_is_killed(
    seed: int, make: Make, client: Client, queue: str, steady: RunningService
) -> None:
    engine = make(seed, risk=0.12)
    sent: list[str] = []
    for _ in range(4):
        more = bodies(40, begin=len(sent))
        client.send_batch(queue, more)
        sent += more
        while True:
            try:
                engine.run()
                break
            except Killed:
                engine.kills += 1
                steady.advance(HOUR_S)
    assert engine.kills > 5
    assert Counter(row["body"] for row in engine.rows) == Counter(sent)
    assert {row["receive_count"] for row in engine.rows} == {1}
    assert counts(client, queue) == (0, 0)
    assert client.list_leases(queue).leases == []


def test_an_hour_or_a_month_between_kill_and_restart_changes_nothing(
    make: Make, client: Client, queue: str, steady: RunningService
) -> None:
    client.send_batch(queue, bodies(20))
    engine = make(kind=Doomed)
    with pytest.raises(Killed):
        engine.run()
    assert (len(engine.offsets), engine.committed) == (1, 0)
    first = engine.table[0]
    steady.advance(30 * 24 * HOUR_S)
    engine.run()
    assert engine.table[0] == first
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(20))


def test_a_run_ends_although_messages_keep_coming(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(5))

    class Busy(Engine):
        def step(self) -> None:
            client.send(queue, "one more")

    engine = make(kind=Busy)
    engine.run()
    assert {row["body"] for row in engine.rows} >= set(bodies(5))


def test_a_run_ends_although_others_hold_what_looks_visible(
    client: Client, narrow: Table, where: QueuePlace, new_name: Callable[..., str]
) -> None:
    """On a FIFO queue messages behind one in flight count as visible, and cannot be leased."""
    fifo = new_name(".fifo")
    client.create_queue(fifo, attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})
    for body in ("a", "b", "c"):
        client.send(fifo, body, group_id="g")
    (held,) = client.receive(fifo)
    spot = replace(where, queue=fifo)
    chosen = option.for_stream(Options({"waitTimeSeconds": "0"}))
    engine = Engine(lambda: LeaseStream(spot, narrow, chosen), LeaseStream(spot, narrow, chosen), random.Random(1))
    engine.run()
    assert engine.rows == []
    client.delete(fifo, held.receipt_handle)
    engine.run()
    assert [row["body"] for row in engine.rows] == ["b", "c"]


def test_two_queries_share_a_queue(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(50))
    one, other = make(maxMessagesPerTrigger="10"), make(maxMessagesPerTrigger="10", seed=2)
    one.run()
    client.send_batch(queue, bodies(50, begin=50))
    other.run()
    both = Counter(row["body"] for row in (*one.rows, *other.rows))
    assert both == Counter(bodies(100))
    assert json.loads(one.offsets[0])["consumer"] != json.loads(other.offsets[0])["consumer"]


def test_a_batch_may_be_more_than_receives_may_have_in_flight(services: Services, narrow: Table) -> None:
    """Also if two queries take theirs in turns."""
    crowded = services("memory", max_in_flight=30)
    with Client(crowded.endpoint) as client:
        client.create_queue("deep", attributes={"RockdovePhysicalQueues": "4"})
        client.send_batch("deep", bodies(100))
        spot = place.find(Options({"queue": "deep", "endpoint": crowded.endpoint, "patienceSeconds": "0"}))
        chosen = option.for_stream(Options({"waitTimeSeconds": "0", "maxMessagesPerTrigger": "40"}))
        readers = [LeaseStream(spot, narrow, chosen) for _ in range(2)]
        found: list[str] = []
        ends: list[dict[str, Any]] = []
        tasks: list[tuple[int, LeaseStream, Shard]] = []
        for reader in readers:
            start = reader.initialOffset()
            ends.append(reader.latestOffset(start, reader.getDefaultReadLimit()))
            tasks += [(each.shard, reader, each) for each in reader.partitions(start, ends[-1])]
        for _, reader, each in sorted(tasks, key=lambda task: task[0]):
            found += [row["body"] for batch in reader.read(each) for row in batch.to_pylist()]
        assert (len(found), len(set(found))) == (80, 80)
        for reader, end in zip(readers, ends, strict=True):
            reader.commit(end)
            reader.stop()
        assert counts(client, "deep") == (20, 0)


def test_checkpoints_that_are_told_the_same_consumer_have_their_own_messages(
    make: Make, client: Client, queue: str
) -> None:
    client.send_batch(queue, bodies(5))
    one, other = make(kind=Doomed, consumer="daily"), make(consumer="daily")
    with pytest.raises(Killed):
        one.run()
    client.send_batch(queue, bodies(5, begin=5))
    other.run()
    one.run()
    assert Counter(row["body"] for row in one.rows) == Counter(bodies(5))
    assert Counter(row["body"] for row in other.rows) == Counter(bodies(5, begin=5))
    assert {json.loads(each.offsets[0])["consumer"].rpartition("-")[0] for each in (one, other)} == {"daily"}


def test_a_checkpoint_from_before_consumers_were_minted_goes_on(make: Make, client: Client, queue: str) -> None:
    """Its offsets have the option as it was, and no queue."""
    client.send_batch(queue, bodies(5))
    client.lease_batch(queue, "daily", 0, 1, limit=3)
    engine = make(consumer="daily")
    engine.offsets = ['{"consumer": "daily", "sequence": 1, "shards": 1, "size": 3}']
    engine.run()
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(5))
    assert [len(rows) for rows in engine.table.values()] == [3, 2]
    assert json.loads(engine.offsets[1])["consumer"] == "daily"


def test_a_checkpoint_that_was_copied_is_refused_once_the_other_is_further(
    make: Make, client: Client, queue: str
) -> None:
    client.send_batch(queue, bodies(5))
    one, copy = make(kind=Doomed), make()
    with pytest.raises(Killed):
        one.run()
    copy.offsets = list(one.offsets)
    one.run()
    with pytest.raises(Refused, match="or a copy of another query's"):
        copy.run()


def test_an_old_copy_is_refused_before_it_acknowledges_what_a_newer_one_has_leased(
    make: Make, client: Client, queue: str, where: QueuePlace, narrow: Table
) -> None:
    """A sink that skips batches would not run the tasks that are refused."""

    class DoomedLater(Engine):
        def step(self) -> None:
            if len(self.table) == 2 and not self.kills:
                self.kills += 1
                raise Killed

    client.send_batch(queue, bodies(50))
    engine = make(kind=DoomedLater)
    with pytest.raises(Killed):
        engine.run()
    assert (len(engine.offsets), engine.committed) == (2, 1)
    old = LeaseStream(where, narrow, option.for_stream(Options({"waitTimeSeconds": "0"})))
    with pytest.raises(Refused, match="the checkpoint is an old copy"):
        old.latestOffset(json.loads(engine.offsets[0]), old.getDefaultReadLimit())
    old.stop()
    engine.run()
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(50))


def test_a_checkpoint_of_another_queue_is_refused(make: Make, client: Client, queue: str, where: QueuePlace) -> None:
    client.send_batch(queue, bodies(5))
    engine = make(kind=Doomed)
    with pytest.raises(Killed):
        engine.run()
    client.create_queue(f"{queue}-2")
    client.send_batch(f"{queue}-2", bodies(5))
    wrong = make(at=replace(where, queue=f"{queue}-2"))
    wrong.offsets, wrong.committed = engine.offsets, 0
    for committed in (0, 1):
        wrong.committed = committed
        with pytest.raises(Refused, match=f"checkpoint is that of the queue {queue}, not of {queue}-2"):
            wrong.run()
    assert counts(client, f"{queue}-2") == (5, 0)
    # A URL is the same queue.
    url = make(at=replace(where, queue=client.queue_url(queue)))
    url.offsets = engine.offsets
    url.run()
    assert Counter(row["body"] for row in url.rows) == Counter(bodies(5))


def test_a_queue_that_was_deleted_is_one_clear_error(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(5))
    engine = make()
    engine.run()
    client.delete_queue(queue)
    with pytest.raises(Refused, match=f"there is no queue {queue} at http"):
        engine.run()


def test_a_replay_goes_on_behind_a_lease_whose_messages_were_purged(
    where: QueuePlace, narrow: Table, client: Client, queue: str
) -> None:
    reader = LeaseStream(where, narrow, option.for_stream(Options({})))
    task = Shard("c", shard=0, begin=0, end=3, size=2)
    client.send_batch(queue, bodies(2))
    first = reader.read(task)
    assert next(first).num_rows == 2
    client.purge(queue)
    client.send_batch(queue, bodies(2, begin=2))
    read = [row["message_id"] for batch in first for row in batch.to_pylist()]
    assert len(read) == 2
    # What comes now is for the next batch.
    client.send_batch(queue, bodies(2, begin=4))
    assert [row["message_id"] for batch in reader.read(task) for row in batch.to_pylist()] == read


def test_a_batch_of_a_queue_that_was_made_again_is_not_read(
    where: QueuePlace, narrow: Table, client: Client, queue: str, steady: RunningService
) -> None:
    """A sink that has it already would not take what comes in its place."""
    client.send_batch(queue, bodies(5))
    chosen = option.for_stream(Options({"waitTimeSeconds": "0"}))
    reader = LeaseStream(where, narrow, chosen)
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, reader.getDefaultReadLimit())
    assert [shard.end for shard in reader.partitions(begin, end)] == [1, 1, 1]
    reader.stop()
    # Another driver finishes what that one has begun.
    again = LeaseStream(where, narrow, chosen)
    assert len(again.partitions(begin, end)) == 3
    client.delete_queue(queue)
    steady.advance(90)
    client.create_queue(queue)
    client.send_batch(queue, bodies(5))
    with pytest.raises(Refused, match="was deleted and made again"):
        again.partitions(begin, end)
    again.stop()
    assert counts(client, queue) == (5, 0)
