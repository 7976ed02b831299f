"""Queues as streams and tables in Spark: found by itself, exactly once, and with errors that name what is wrong."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException, UnsupportedOperationException

from rockdove.client import Client
from rockdove.spark import register
from tests.support.moto import moto_server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Name = Callable[..., str]


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of another server that speaks SQS."""
    with moto_server(tmp_path_factory.mktemp("moto")) as endpoint:
        yield endpoint


def stream(spark: "SparkSession", endpoint: str, queue: str, **options: str) -> "DataFrame":
    return spark.readStream.format("rockdove").options(endpoint=endpoint, queue=queue, **options).load()


def run(table: "DataFrame", folder: Path) -> "StreamingQuery":
    """All that is there now, into Parquet files."""
    writer = table.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.option("path", str(folder / "table")).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def written(spark: "SparkSession", folder: Path) -> list[Any]:
    return spark.read.parquet(str(folder / "table")).collect()


def test_a_queue_becomes_a_table_once(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name, tmp_path: Path
) -> None:
    queue = new_name()
    client.create_queue(queue)
    bodies = [json.dumps({"n": n}) for n in range(50)] + ["no json"]
    client.send_batch(queue, bodies)
    options = {"bodyFormat": "json", "bodySchema": "n INT", "numPartitions": "2", "maxMessagesPerTrigger": "30"}
    table = stream(spark, endpoint, queue, **options)
    assert table.columns == [
        "message_id",
        "body",
        "sent_at",
        "receive_count",
        "group_id",
        "deduplication_id",
        "sequence_number",
        "attributes",
        "physical",
        "value",
        "unparsed",
    ]
    query = run(table, tmp_path)
    progress = query.recentProgress
    assert sum(each["numInputRows"] for each in progress) == 51
    backlog = [json.loads(each["sources"][0]["latestOffset"]) for each in progress if each["numInputRows"]]
    assert [each["visible"] for each in backlog] == [51, 21]
    assert all(each["lagSeconds"] >= 0 for each in backlog)
    assert all(each["processedRowsPerSecond"] > 0 for each in progress if each["numInputRows"])
    rows = written(spark, tmp_path)
    assert Counter(row.body for row in rows) == Counter(bodies)
    assert sorted(row.value.n for row in rows if row.value) == list(range(50))
    assert [row.unparsed for row in rows if row.unparsed] == ["no json"]

    again = run(stream(spark, endpoint, queue, **options), tmp_path)
    assert sum(each["numInputRows"] for each in again.recentProgress) == 0
    assert len(written(spark, tmp_path)) == 51
    left = client.attributes(queue, ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"])
    assert set(left.values()) == {"0"}


def test_a_look_at_some_messages_and_columns(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name
) -> None:
    queue = new_name()
    client.create_queue(queue, attributes={"RockdovePhysicalQueues": "2"})
    for number in range(10):
        client.send(queue, str(number), group_id="even" if number % 2 == 0 else "odd")
    options = {"endpoint": endpoint, "queue": queue, "columns": "body, group_id, sent_at"}
    chosen = {"messageGroupId": "odd", "sentFrom": "2020-01-01T00:00:00Z"}
    table = spark.read.format("rockdove").options(**options, **chosen).load()
    assert table.columns == ["body", "group_id", "sent_at"]
    assert table.rdd.getNumPartitions() == 2
    assert sorted(row.body for row in table.where("body <> '3'").collect()) == ["1", "5", "7", "9"]
    # The one does not change the other.
    assert table.count() == 5
    old = spark.read.format("rockdove").options(**options, sentUntil="2020-01-01T00:00:00Z").load()
    assert (old.count(), table.union(old).count()) == (0, 5)


def test_trigger_continuous_is_refused_in_one_line(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name
) -> None:
    queue = new_name()
    client.create_queue(queue)
    with pytest.raises(UnsupportedOperationException) as caught:
        stream(spark, endpoint, queue).writeStream.format("noop").trigger(continuous="1 second").start()
    assert str(caught.value).strip() == "Data source rockdove does not support continuous processing."


def test_both_actions_on_a_batch_see_the_same_rows(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name, tmp_path: Path
) -> None:
    queue = new_name()
    client.create_queue(queue)
    client.send_batch(queue, [str(n) for n in range(20)])
    seen: list[set[str]] = []

    def twice(batch: "DataFrame", number: int) -> None:
        seen.extend({row.message_id for row in batch.collect()} for _ in range(2))

    table = stream(spark, endpoint, queue).select("message_id")
    query = table.writeStream.foreachBatch(twice).option("checkpointLocation", str(tmp_path / "c"))
    query.trigger(availableNow=True).start().awaitTermination()
    assert seen[0] == seen[1]
    assert len(seen[0]) == 20


def test_a_view_shows_a_queue_and_no_plan_shows_a_secret(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = new_name()
    client.create_queue(queue)
    client.send_batch(queue, ["a", "b"])
    # A second time does no harm.
    register(spark)
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW seen USING rockdove OPTIONS (endpoint '{endpoint}', queue '{queue}', "
        "accessKey 'someone', secretKey 'hush-hush', sessionToken 'hush-too')"
    )
    assert [row.body for row in spark.sql("SELECT body FROM seen ORDER BY body").collect()] == ["a", "b"]
    spark.sql("SELECT body FROM seen").explain(True)
    keys = {"accessKey": "someone", "secretKey": "hush-hush", "sessionToken": "hush-too"}
    stream(spark, endpoint, queue, **keys).explain(True)
    shown = capsys.readouterr().out
    assert queue in shown
    assert "hush" not in shown
    assert "someone" not in shown


def test_a_table_shows_all_of_a_deep_queue(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name
) -> None:
    queue = new_name()
    client.create_queue(queue, attributes={"RockdovePhysicalQueues": "2"})
    for chunk in range(10):
        client.publish_once(queue, "fill", chunk, 0, "one", [str(n) for n in range(chunk, 10_000, 10)])
    (taken,) = client.receive(queue)
    reader = spark.read.format("rockdove").options(endpoint=endpoint)
    rows = reader.schema("body STRING, receive_count INT").load(queue).collect()
    assert Counter(row.body for row in rows) == Counter(str(n) for n in range(10_000))
    assert [row.body for row in rows if row.receive_count] == [taken.body]
    assert reader.option("maxMessages", 1_234).load(queue).count() == 1_234


def test_a_drain_is_read_again_until_it_is_acknowledged(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name
) -> None:
    queue = new_name()
    client.create_queue(queue)
    client.send_batch(queue, [str(n) for n in range(12)])
    reader = spark.read.format("rockdove").options(endpoint=endpoint, mode="drain", leaseId="report")
    for _ in range(2):
        assert reader.load(queue).count() == 12
    assert client.ack_through(queue, "report").messages == 12


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "the option queue is missing"),
        ({"queue": "jobs", "quueue": "jobs"}, "there is no option quueue"),
        ({"queue": "never-created"}, "there is no queue never-created"),
        ({"queue": "jobs", "mode": "drain"}, "the option leaseId is missing"),
    ],
)
def test_what_is_wrong_is_named(spark: "SparkSession", endpoint: str, options: dict[str, str], named: str) -> None:
    with pytest.raises(AnalysisException, match=named):
        spark.read.format("rockdove").options(endpoint=endpoint, **options).load().collect()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"maxMessagesPerTrigger": "0"}, "the option maxMessagesPerTrigger must be"),
        ({"service": "sqs"}, "the option journal is missing"),
        ({"bodyFormat": "json", "bodySchema": "a DECIMAL(50, 2)"}, "the option bodySchema: DECIMAL"),
    ],
)
def test_what_is_wrong_with_a_stream_is_told_before_it_starts(
    spark: "SparkSession", endpoint: str, options: dict[str, str], named: str
) -> None:
    with pytest.raises(AnalysisException, match=named):
        stream(spark, endpoint, "jobs", **options)


def test_a_stream_of_a_queue_that_is_not_there_is_one_clear_error(
    spark: "SparkSession", endpoint: str, tmp_path: Path
) -> None:
    with pytest.raises(StreamingQueryException) as caught:
        run(stream(spark, endpoint, "never-created"), tmp_path)
    assert f"there is no queue never-created at {endpoint}" in str(caught.value)
    # Spark's worker had an error of its own after it.
    assert "During handling of the above exception" not in str(caught.value)


def test_a_table_of_the_catalog_is_refused(spark: "SparkSession", endpoint: str) -> None:
    with pytest.raises(AnalysisException, match="CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE kept USING rockdove OPTIONS (endpoint '{endpoint}', queue 'jobs')")


def test_a_queue_deleted_under_a_query_is_one_clear_error(
    spark: "SparkSession", endpoint: str, client: Client, new_name: Name, tmp_path: Path
) -> None:
    queue = new_name()
    client.create_queue(queue)
    table = stream(spark, endpoint, queue, waitTimeSeconds="0")
    writer = table.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    query = writer.start()
    query.processAllAvailable()
    client.delete_queue(queue)
    with pytest.raises(StreamingQueryException, match=f"there is no queue {queue} at {endpoint}"):
        query.awaitTermination(60)


def test_another_service_is_read_through_a_journal(
    spark: "SparkSession", moto: str, new_name: Name, tmp_path: Path
) -> None:
    queue = new_name()
    with Client(moto) as client:
        client.create_queue(queue)
        client.send_batch(queue, [str(n) for n in range(45)])
    options = {"journal": str(tmp_path / "journal"), "maxMessagesPerTrigger": "30"}
    for _ in range(2):
        run(stream(spark, moto, queue, **options), tmp_path)
    assert Counter(row.body for row in written(spark, tmp_path)) == Counter(str(n) for n in range(45))
    with pytest.raises(StreamingQueryException, match="the option journal is missing"):
        run(stream(spark, moto, queue), tmp_path / "other")
    with pytest.raises(AnalysisException, match="is not Rockdove: other services let nobody look"):
        spark.read.format("rockdove").options(endpoint=moto).load(queue).collect()
