"""Trouble under a query: a service that is restarted, a queue that is deleted, a message that breaks the code."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import StreamingQueryException

from rockdove.client import Client
from tests.support.closed_door import closed_door
from tests.support.filling import empty, fill
from tests.support.moto import moto_server
from tests.support.patience import wait_until
from tests.support.server import ServerFactory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Name = Callable[..., str]
Rows = Iterator[pa.RecordBatch]
# For a query that hangs: however slow a machine is, it ends before.
PATIENCE_S = 600


def stream(spark: "SparkSession", endpoint: str, queue: str, **options: str) -> "DataFrame":
    return spark.readStream.format("rockdove").options(endpoint=endpoint, queue=queue, **options).load()


def copy(
    spark: "SparkSession", endpoint: str, queue: str, other: str, folder: Path, **options: str
) -> "StreamingQuery":
    """From a queue to another, for as long as nobody stops it."""
    writer = stream(spark, endpoint, queue, **options).writeStream.format("rockdove")
    writer = writer.options(endpoint=endpoint, queue=other, checkpointLocation=str(folder / "checkpoint"))
    return writer.start()


def wait_for_a_batch(query: "StreamingQuery") -> None:
    """One more than there were."""
    before = _batches(query)
    wait_until(lambda: _batches(query) > before or not query.isActive, "batch")
    assert query.isActive, query.exception()


def _batches(query: "StreamingQuery") -> int:
    progress = query.lastProgress
    return 0 if progress is None else progress["batchId"] + 1


def number(client: Client, queue: str) -> int:
    return int(client.attributes(queue, ["ApproximateNumberOfMessages"])["ApproximateNumberOfMessages"])


def test_a_service_that_is_restarted_is_only_a_delay(
    spark: "SparkSession", server: ServerFactory, new_name: Name, tmp_path: Path
) -> None:
    service = server()
    queue, other, sent = new_name(), new_name(), [f"message {n}" for n in range(12_000)]
    with Client(service.endpoint) as client:
        for name in (queue, other):
            client.create_queue(name)
        fill(client, queue, sent)
        query = copy(spark, service.endpoint, queue, other, tmp_path, numPartitions="2", maxMessagesPerTrigger="1000")
        for end in (service.kill, service.stop, service.kill):
            wait_for_a_batch(query)
            end()
            with closed_door(service.port) as came:
                wait_until(lambda: came() >= 2, "request of the query")
            service.start()
        assert number(client, queue) > 0, "there was more to do after the last restart"
        query.processAllAvailable()
        query.stop()
        assert Counter(empty(client, other)) == Counter(sent)
        assert number(client, queue) == 0
        assert client.list_leases(queue).leases == []


@pytest.mark.parametrize("deleted", [0, 1], ids=["that it reads", "that it writes"])
def test_a_queue_deleted_under_tasks_at_work_is_one_clear_error(
    deleted: int, spark: "SparkSession", endpoint: str, client: Client, new_name: Name, tmp_path: Path
) -> None:
    names = (new_name(), new_name())
    for name in names:
        client.create_queue(name)
    fill(client, names[0], [str(n) for n in range(20_000)])
    query = copy(spark, endpoint, *names, tmp_path, numPartitions="2", maxMessagesPerTrigger="500")
    wait_for_a_batch(query)
    client.delete_queue(names[deleted])
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination(PATIENCE_S)
    said = str(caught.value)
    assert f"there is no queue {names[deleted]} at {endpoint}: it was deleted, or never created" in said
    assert "During handling of the above exception" not in said


def test_a_queue_of_another_service_too(spark: "SparkSession", new_name: Name, tmp_path: Path) -> None:
    queue = new_name()
    with moto_server(tmp_path / "moto") as endpoint, Client(endpoint) as client:
        client.create_queue(queue)
        client.send_batch(queue, ["a", "b"])
        options = {"journal": str(tmp_path / "journal"), "waitTimeSeconds": "0"}
        writer = stream(spark, endpoint, queue, **options).writeStream.format("noop")
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.processAllAvailable()
        client.delete_queue(queue)
        with pytest.raises(StreamingQueryException, match=f"there is no queue {queue} at {endpoint}: it was deleted"):
            query.awaitTermination(PATIENCE_S)


def _strict(batches: Rows) -> Rows:
    for rows in batches:
        if pc.any(pc.equal(rows["body"], "poison")).as_py():
            raise ValueError("this code does not know poison")
        yield rows


def _in_a_task(table: "DataFrame", folder: Path, is_strict: bool) -> "StreamingQuery":
    """Code that is run by tasks, as a function of the user's is."""
    table = table.mapInArrow(_strict, table.schema) if is_strict else table
    writer = table.writeStream.format("parquet").option("path", str(folder / "table"))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()


def _in_the_driver(table: "DataFrame", folder: Path, is_strict: bool) -> "StreamingQuery":
    """Code that gets whole batches, and keeps them under their number."""

    def keep(batch: "DataFrame", number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / "table" / f"batch={number}"))
        if is_strict and batch.where("body = 'poison'").count():
            raise ValueError("this code does not know poison")

    writer = table.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(availableNow=True).start()


@pytest.mark.parametrize("start", [_in_a_task, _in_the_driver])
def test_a_message_that_breaks_the_code_ends_the_query_and_waits_for_better_code(
    start: "Callable[[DataFrame, Path, bool], StreamingQuery]",
    spark: "SparkSession",
    endpoint: str,
    client: Client,
    new_name: Name,
    tmp_path: Path,
) -> None:
    queue = new_name()
    client.create_queue(queue)
    sent = [*(f"message {n}" for n in range(14)), "poison", *(f"message {n}" for n in range(14, 29))]
    client.send_batch(queue, sent)
    table = stream(spark, endpoint, queue, numPartitions="1", maxMessagesPerTrigger="10")
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="this code does not know poison"):
            start(table, tmp_path, True).awaitTermination()
        # The first batch is done; the second is held for the query, however often it fails, and nobody gets the third.
        assert [lease.messages for lease in client.list_leases(queue).leases] == [10]
        assert number(client, queue) == 10
    start(table, tmp_path, False).awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "table")).select("message_id", "body", "receive_count").collect()
    assert Counter(row.body for row in rows) == Counter(sent)
    assert len({row.message_id for row in rows}) == 30
    assert {row.receive_count for row in rows} == {1}
    assert client.list_leases(queue).leases == []
