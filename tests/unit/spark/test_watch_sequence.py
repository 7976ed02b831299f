"""Order in windows, and the files of a batch."""

from pathlib import Path

import pyarrow as pa

from rockdove.spark.watch.sequence import out_of_order
from rockdove.spark.watch.source import files


def test_lists_are_measured_one_by_one() -> None:
    lists = [[1, 0, 2, 3, 4], [], [1, 2, 3, 4, 0], [0], [3, 2, 1, 0]]
    whole = pa.RecordBatch.from_pydict({"queue": list("abcde"), "places": pa.array(lists, pa.list_(pa.int64()))})
    for batch in (whole, whole.slice(2)):
        (found,) = out_of_order(iter([batch]))
        assert found.schema.names == ["queue", "out_of_order"]
        assert found.column("out_of_order").to_pylist() == [1, 0, 1, 0, 3][-batch.num_rows :]


def test_the_files_of_a_batch_are_found_in_the_checkpoint(tmp_path: Path) -> None:
    log, offsets = tmp_path / "sources" / "0", tmp_path / "offsets"
    log.mkdir(parents=True)
    offsets.mkdir()
    for batch, offset in ((0, 0), (1, 2)):
        (offsets / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"logOffset":{offset}}}')
    entries = [f'{{"path":"file:///t/{n}.parquet","timestamp":1,"batchId":{n}}}' for n in range(3)]
    (log / "0").write_text(f"v1\n{entries[0]}")
    (log / "1").write_text(f"v1\n{entries[1]}")
    (log / "2.compact").write_text("v1\n" + "\n".join(entries))
    assert files(tmp_path, 0) == {"file:///t/0.parquet": "file:/t/0.parquet"}
    assert list(files(tmp_path, 1)) == ["file:///t/1.parquet", "file:///t/2.parquet"]
