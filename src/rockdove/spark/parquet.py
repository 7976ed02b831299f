"""Tables as folders of Parquet files: written by Spark, or on this machine by Arrow, which is several times as fast."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from rockdove.spark.box import Batches, Task
from rockdove.spark.path import is_url
from rockdove.spark.session import mapped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WRITTEN: Final = pa.schema([("file", pa.string())])


def write_table(spark: "SparkSession", table: pa.Table, path: str, files: int) -> None:
    """A table that is in memory, in so many files."""
    if not _is_here(spark, path):
        spark.createDataFrame(table).coalesce(files).write.mode("overwrite").parquet(path)
        return
    rows = -(-len(table) // files) or 1
    with _replaced(path) as (made, names):
        for number in range(files):
            names.append(_name(number))
            _write(made / names[-1], iter([table.slice(number * rows, rows)]), table.schema)


def write_rows(rows: "DataFrame", task: Task, schema: pa.Schema, path: str) -> None:
    """What a task makes of rows, in a file for each partition."""
    spark = rows.sparkSession
    if not _is_here(spark, path):
        mapped(rows, task, schema).write.mode("overwrite").parquet(path)
        return
    with _replaced(path) as (made, names):
        # Of a task that is tried twice, only one attempt is collected, and only its file counts.
        names += [row.file for row in mapped(rows, _writer(task, schema, str(made)), _WRITTEN).collect()]
        if not names:
            names.append(_name(0))
            _write(made / names[0], iter([schema.empty_table()]), schema)


def _is_here(spark: "SparkSession", path: str) -> bool:
    """Whether all tasks run on this machine, and the folder is there, too."""
    return not is_url(path) and (spark.sparkContext.master or "").startswith("local")


@contextmanager
def _replaced(path: str) -> Iterator[tuple[Path, list[str]]]:
    """A new folder, which takes the place of the one that is there with those of its files that are named then."""
    # Where a link leads to.
    target = Path(path).resolve()
    made, names = target.with_name(f".{target.name}-{uuid4().hex}"), list[str]()
    made.mkdir(parents=True)
    try:
        yield made, names
        for file in made.iterdir():
            if file.name not in names:
                file.unlink()
        (made / "_SUCCESS").touch()
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    # Between the two, the old one is there under another name.
    old = made.with_name(f"{made.name}-old")
    if target.exists():
        target.rename(old)
    made.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _name(number: int) -> str:
    return f"part-{number:05d}-{uuid4().hex}.parquet"


def _writer(task: Task, schema: pa.Schema, folder: str) -> Task:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        name = _name(0 if context is None else context.partitionId())
        if _write(Path(folder) / name, (pa.Table.from_batches([batch]) for batch in task(batches)), schema):
            yield pa.RecordBatch.from_arrays([pa.array([name])], schema=_WRITTEN)

    return run


def _write(path: Path, tables: Iterator[pa.Table], schema: pa.Schema) -> bool:
    """Whether there was anything to write."""
    first = next(tables, None)
    if first is None:
        return False
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=texts) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
    return True
