"""The whole driver is killed (SIGKILL), Python and Java, at random moments within batches, and started again."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from rockdove.client import Client
from tests.support.driver import Checkpoint, Driver
from tests.support.filling import fill
from tests.support.moto import moto_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Name = Callable[..., str]
Query = dict[str, Any]


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of another server that speaks SQS."""
    with moto_server(tmp_path_factory.mktemp("moto")) as endpoint:
        yield endpoint


def to_table(folder: Path, **source: str) -> Query:
    """From a queue into Parquet files."""
    sink = {"format": "parquet", "path": str(folder / "table"), "checkpointLocation": str(folder / "back")}
    return {"from": {"format": "rockdove", **source}, "to": sink}


def kill(
    folder: Path, checkpoint: str, queries: list[Query], rng: random.Random, times: int, master: str = "local[2]"
) -> None:
    """Each time within a batch of the query with this checkpoint."""
    kills = 0
    while kills < times:
        with Driver(folder, queries, master=master) as driver:
            kills += driver.kill_within_a_batch(Checkpoint(folder / checkpoint), rng)


def finish(folder: Path, queries: list[Query], master: str = "local[2]") -> None:
    with Driver(folder, queries, master=master) as driver:
        driver.finish()


def table(spark: "SparkSession", folder: Path) -> Counter[str]:
    """The bodies in the table; each message is there once."""
    rows = spark.read.parquet(str(folder / "table")).select("message_id", "body").toArrow()
    assert len(set(rows["message_id"].to_pylist())) == rows.num_rows
    return Counter(rows["body"].to_pylist())


def in_the_queue(client: Client, queue: str) -> list[int]:
    """Visible, and in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client.attributes(queue, names)
    return [int(found[name]) for name in names]


def test_each_message_is_in_the_table_once(
    spark: "SparkSession", endpoint: str, new_name: Name, rng: random.Random, tmp_path: Path
) -> None:
    queue, sent = new_name(), [f"message {n}" for n in range(10_000)]
    with Client(endpoint) as client:
        client.create_queue(queue)
        fill(client, queue, sent)
        options = {"numPartitions": "2", "maxMessagesPerTrigger": "500"}
        queries = [to_table(tmp_path, endpoint=endpoint, queue=queue, **options)]
        kill(tmp_path, "back", queries, rng, times=3)
        assert in_the_queue(client, queue)[0] > 0, "there was more to do after the last kill"
        finish(tmp_path, queries)
        assert table(spark, tmp_path) == Counter(sent)
        assert in_the_queue(client, queue) == [0, 0]
        assert client.list_leases(queue).leases == []


def keep_filling(endpoint: str, queue: str, bodies: list[str], stop: Event) -> None:
    """Some at a time: moto takes the longer for a message the more there are."""
    with Client(endpoint) as client:
        for begin in range(0, len(bodies), 10):
            while in_the_queue(client, queue)[0] >= 60:
                if stop.wait(0.1):
                    return
            client.send_batch(queue, bodies[begin : begin + 10])


def test_through_a_journal_too(
    spark: "SparkSession", moto: str, new_name: Name, rng: random.Random, tmp_path: Path
) -> None:
    queue, sent, until = new_name(), [f"message {n}" for n in range(1_200)], tmp_path / "until"
    options = {"journal": str(tmp_path / "journal"), "maxMessagesPerTrigger": "30", "visibilityTimeoutSeconds": "5"}
    queries = [to_table(tmp_path, endpoint=moto, queue=queue, **options) | {"until": str(until)}]
    stop = Event()
    with Client(moto) as client, ThreadPoolExecutor(1) as pool:
        client.create_queue(queue)
        sending = pool.submit(keep_filling, moto, queue, sent, stop)
        try:
            kill(tmp_path, "back", queries, rng, times=2)
            assert not sending.done(), "there was more to do after the last kill"
            with Driver(tmp_path, queries) as driver:
                # What a driver had in hand when it was killed becomes visible after a while.
                driver.wait_for(lambda: sending.done() and in_the_queue(client, queue) == [0, 0], "empty queue")
                until.touch()
                driver.finish()
        finally:
            stop.set()
    sending.result()
    assert table(spark, tmp_path) == Counter(sent)


def test_a_table_goes_through_a_queue_and_back_once(
    spark: "SparkSession", endpoint: str, new_name: Name, rng: random.Random, tmp_path: Path
) -> None:
    queue, rows = new_name(), [f"row {n}" for n in range(10_000)]
    (tmp_path / "in").mkdir()
    for file in range(160):
        (tmp_path / "in" / f"{file}.txt").write_text("\n".join(rows[file::160]))
    there: Query = {
        "from": {"format": "text", "path": str(tmp_path / "in"), "maxFilesPerTrigger": "8"},
        "to": {
            "format": "rockdove",
            "endpoint": endpoint,
            "queue": queue,
            "checkpointLocation": str(tmp_path / "there"),
        },
    }
    options = {"numPartitions": "2", "maxMessagesPerTrigger": "500"}
    queries = [there, to_table(tmp_path, endpoint=endpoint, queue=queue, **options)]
    with Client(endpoint) as client:
        client.create_queue(queue)
        # Files are cut into as many partitions as there are cores: a batch that is run again has others.
        for cores in rng.sample(range(1, 9), 2):
            kill(tmp_path, "there", queries, rng, times=1, master=f"local[{cores}]")
        kill(tmp_path, "back", queries, rng, times=1)
        finish(tmp_path, queries, master=f"local[{rng.randint(1, 8)}]")
        assert table(spark, tmp_path) == Counter(rows)
        assert in_the_queue(client, queue) == [0, 0]
