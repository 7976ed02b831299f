"""Tables into queues with Spark: once, as streams and in batches, and back."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkException

from rockdove.client import Client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Name = Callable[..., str]


@pytest.fixture
def queue(client: Client, new_name: Name) -> str:
    name = new_name()
    client.create_queue(name)
    return name


def number(client: Client, queue: str) -> int:
    return int(client.attributes(queue, ["ApproximateNumberOfMessages"])["ApproximateNumberOfMessages"])


def test_a_batch_of_a_stream_that_is_run_again_is_not_written_again(
    spark: "SparkSession", endpoint: str, client: Client, queue: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("\n".join(str(n) for n in range(30)))
    table = spark.readStream.text(str(tmp_path / "in")).withColumnRenamed("value", "body")
    checkpoint = tmp_path / "checkpoint"
    writer = table.writeStream.format("rockdove").options(endpoint=endpoint, queue=queue)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.start().awaitTermination()
    assert number(client, queue) == 30
    # As if the driver had been killed right before it wrote that the batch was done.
    for path in (checkpoint / "commits").iterdir():
        path.unlink()
    writer.start().awaitTermination()
    assert (checkpoint / "commits" / "0").is_file()
    assert number(client, queue) == 30


def test_a_batch_with_a_name_is_written_once(spark: "SparkSession", endpoint: str, client: Client, queue: str) -> None:
    table = spark.range(40).selectExpr("CAST(id AS STRING) AS body", "map('n', CAST(id AS STRING)) AS attributes")
    writer = table.repartition(2).write.format("rockdove").mode("append").options(endpoint=endpoint, queue=queue)
    for _ in range(2):
        writer.options(application="nightly", batch="7").save()
    assert number(client, queue) == 40
    writer.options(application="nightly", batch="8").save()
    assert number(client, queue) == 80
    (message,) = client.receive(queue)
    assert message.message_attributes["n"].string_value == message.body


def test_rows_that_are_too_large_are_named_or_kept(
    spark: "SparkSession", endpoint: str, client: Client, queue: str, tmp_path: Path
) -> None:
    table = spark.range(3).selectExpr("IF(id = 1, repeat('x', 1048577), CAST(id AS STRING)) AS body").coalesce(1)
    writer = table.write.format("rockdove").mode("append").options(endpoint=endpoint, queue=queue)
    with pytest.raises(PySparkException, match=r"row 1 \(MessageTooLong"):
        writer.save()
    assert number(client, queue) == 0
    writer.option("rejectsPath", str(tmp_path / "rejects")).save()
    assert number(client, queue) == 2
    (row,) = spark.read.parquet(str(tmp_path / "rejects")).collect()
    assert (row["row"], len(row.body)) == (1, 1_048_577)


def test_columns_that_do_not_fit_are_named(spark: "SparkSession", endpoint: str, queue: str) -> None:
    with pytest.raises(AnalysisException, match="the sink has no column id"):
        spark.range(1).selectExpr("id", "'x' AS body").write.format("rockdove").mode("append").options(
            endpoint=endpoint, queue=queue
        ).save()
    with pytest.raises(AnalysisException, match="a queue cannot be overwritten"):
        spark.range(1).selectExpr("'x' AS body").write.format("rockdove").mode("overwrite").options(
            endpoint=endpoint, queue=queue
        ).save()


def test_rows_that_are_no_messages_are_named_or_kept(
    spark: "SparkSession", endpoint: str, client: Client, queue: str, tmp_path: Path
) -> None:
    table = spark.sql(
        "SELECT CAST(X'FF6162' AS STRING) AS BODY, 1L AS delay_seconds, map('k', 'v') AS attributes "
        "UNION ALL SELECT 'b', 3000000000L, null UNION ALL SELECT null, null, map('n', 'w') "
        "UNION ALL SELECT 'good', null, null"
    ).coalesce(1)
    writer = table.write.format("rockdove").mode("append").options(endpoint=endpoint, queue=queue)
    with pytest.raises(PySparkException, match=r"row 0 \(InvalidMessageContents: there are bytes in body"):
        writer.save()
    writer.option("rejectsPath", str(tmp_path / "rejects")).save()
    assert [message.body for message in client.receive(queue, limit=10)] == ["good"]
    kept = spark.read.parquet(str(tmp_path / "rejects")).orderBy("row").collect()
    assert [(row.body, row.body_binary, row.delay_seconds) for row in kept] == [
        (None, b"\xffab", 1),
        ("b", None, 3_000_000_000),
        (None, None, None),
    ]
    assert kept[2].attributes["n"].string_value == "w"


def test_a_stream_that_changes_its_rows_is_written_by_batches(
    spark: "SparkSession", endpoint: str, client: Client, queue: str, tmp_path: Path
) -> None:
    """Python sources of Spark have no mode `update`."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("a\nb\na\n")
    table = spark.readStream.text(str(tmp_path / "in")).groupBy("value").count()
    counts = table.selectExpr("value || ' ' || count AS body")
    place = {"endpoint": endpoint, "queue": queue}

    def write(rows: "DataFrame", batch: int) -> None:
        named = rows.write.format("rockdove").mode("append").options(**place, application="counts", batch=batch)
        for _ in range(2):
            named.save()

    writer = counts.writeStream.outputMode("update").trigger(availableNow=True)
    query = writer.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert sorted(message.body for message in client.receive(queue, limit=10)) == ["a 2", "b 1"]


def test_continuous_processing_commits_nothing(
    spark: "SparkSession", endpoint: str, client: Client, queue: str, tmp_path: Path
) -> None:
    """Spark hands no rows to a sink in Python there. Without their offsets they are not lost."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 5).load().selectExpr("cast(value AS string) AS body")
    query = (
        rows.writeStream.format("rockdove")
        .options(endpoint=endpoint, queue=queue, checkpointLocation=str(tmp_path))
        .trigger(continuous="100 milliseconds")
        .start()
    )
    try:
        offsets = tmp_path / "offsets"
        deadline = time.monotonic() + 120
        while not (offsets / "1").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        # An epoch has ended; what came of it, comes soon.
        time.sleep(2)
    finally:
        query.stop()
    assert number(client, queue) == 0
    assert not [each.name for each in (tmp_path / "commits").iterdir() if each.name.isdigit()]
