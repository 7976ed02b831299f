"""The traces that the benchmark makes are as large and as skewed as it says."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from bench.tracegen import generate
from rockdove.trace.schema import schema


def test_a_made_trace(tmp_path: Path) -> None:
    written = generate(tmp_path, 10_000, 8, skew=0.5)
    table = pq.read_table(tmp_path)
    assert table.schema.equals(schema())
    assert table.num_rows == written
    assert abs(written - 10_000) < 200
    queues = Counter(table["queue"].to_pylist())
    assert len(queues) == 8
    assert 0.5 < queues["queue-0000"] / written < 0.63
    ops = Counter(table["op"].to_pylist())
    assert ops["send"] == ops["delete"] < ops["receive"]
    assert len(set(table["message_id"].to_pylist()) - {None}) == ops["send"]
    # A recorder writes events by time.
    assert table["event_time"].to_pylist() == sorted(table["event_time"].to_pylist())
