"""Tables that Arrow writes on this machine."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rockdove.spark.parquet import write_table

HERE = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]")))


def table(number: int) -> pa.Table:
    return pa.table({"name": [f"q{at}" for at in range(number)], "sent": list(range(number))})


@pytest.mark.parametrize(("rows", "files"), [(0, 1), (1, 1), (10, 3), (2, 3)])
def test_a_table_is_written_in_so_many_files(tmp_path: Path, rows: int, files: int) -> None:
    write_table(HERE, table(rows), str(tmp_path / "out/queues"), files)
    folder = tmp_path / "out/queues"
    assert len(list(folder.glob("part-*.parquet"))) == files
    assert (folder / "_SUCCESS").exists()
    assert pq.read_table(folder).to_pylist() == table(rows).to_pylist()


def test_it_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = str(tmp_path / "queues")
    write_table(HERE, table(10), path, 3)
    write_table(HERE, table(2), path, 1)
    assert pq.read_table(path).num_rows == 2
    assert [each.name for each in tmp_path.iterdir()] == ["queues"]


def test_one_that_fails_leaves_the_one_before_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "queues")
    write_table(HERE, table(10), path, 1)

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(pq, "ParquetWriter", fail)
    with pytest.raises(OSError, match="no space"):
        write_table(HERE, table(2), path, 1)
    assert pq.read_table(path).num_rows == 10
    assert [each.name for each in tmp_path.iterdir()] == ["queues"]


def test_a_folder_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "queues").symlink_to(tmp_path / "far")
    write_table(HERE, table(3), str(tmp_path / "queues"), 1)
    assert (tmp_path / "queues").is_symlink()
    assert pq.read_table(tmp_path / "far").num_rows == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["far", "queues"]
