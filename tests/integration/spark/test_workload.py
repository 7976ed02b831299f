"""The analysis of a workload's traces finds what the workload found, whichever side recorded them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rockdove.spark.analysis import analyse
from tests.support.bench import bench
from tests.support.server import ServerFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKLOAD = ("--queues", "2", "--senders", "2", "--receivers", "2", "--messages", "20", "--size", "100")
FAULTS = ("--drop-requests", "0.1", "--drop-responses", "0.2", "--crash", "0.05", "--visibility", "1", "--at-once")


def test_client_and_both_sides_agree_with_the_workload(
    server: ServerFactory, spark: "SparkSession", tmp_path: Path
) -> None:
    service = server("--trace", str(tmp_path / "server"))
    done = bench("bdqs", "--endpoint", service.endpoint, *WORKLOAD, *FAULTS, "--trace", str(tmp_path / "client"))
    service.stop()
    assert done.code == 0, done.err
    row = done.row
    assert row["dropped_responses"] > 0
    assert row["duplicates"] > 0

    def overall(*traces: str) -> dict[str, Any]:
        found = analyse(spark, [str(tmp_path / name) for name in traces], str(tmp_path / "out"))
        figures: dict[str, Any] = found.summary["overall"]
        return figures

    for traces in (("client",), ("client", "server")):
        figures = overall(*traces)
        counts = {name: figures[name] for name in ("sent", "duplicates", "lost")}
        assert counts == {name: row[name] for name in ("sent", "duplicates", "lost")}, traces
        assert figures["received"] + figures["duplicates"] == row["received"]
        assert figures["duplication_rate"] == pytest.approx(row["duplication_rate"])
    alone = overall("server")
    # The service cannot know what was sent again, and gave messages that never arrived.
    assert alone["sent"] > row["sent"]
    assert alone["received"] == alone["sent"]
    assert alone["received"] + alone["duplicates"] > row["received"]
    assert alone["lost"] == 0
