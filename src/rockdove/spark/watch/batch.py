"""What a watch does with each batch of new files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from rockdove.core.errors import RockdoveError
from rockdove.spark.file import is_there, look_at, parquet, plain
from rockdove.spark.known import NO_EVENT
from rockdove.spark.watch.decide import decide, first_receives
from rockdove.spark.watch.event import KEPT, LATE, admitted, is_late
from rockdove.spark.watch.figure import figures
from rockdove.spark.watch.folder import METRICS, OPEN, Folder
from rockdove.spark.watch.progress import Piece, Problem, Progress
from rockdove.spark.watch.source import files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Pieces of what is remembered are joined when there are so many.
_PIECES: Final = 16

Row = Mapping[str, Any]


class StateLost(RockdoveError):
    """The checkpoint and our own state do not fit together; the message says what to do."""


class Done(NamedTuple):
    """A batch that is done: the rows of windows that it closed, and those of windows that are open."""

    progress: Progress
    closed: list[Row]
    open: list[Row]


Tell = Callable[[Done], None]


class Batches:
    """`take` is for Spark's `foreachBatch`. A batch that was done before is passed over when Spark gives it again."""

    def __init__(self, spark: "SparkSession", folder: Folder, watermark_us: int, remember_us: int, tell: Tell) -> None:
        self._spark = spark
        self._folder = folder
        self._watermark_us = watermark_us
        self._remember_us = remember_us
        self._tell = tell

    def take(self, batch: "DataFrame", number: int) -> None:
        before = self._folder.progress
        if number == before.batch:
            return
        if number != before.batch + 1:
            raise StateLost(
                f"{self._folder.path} has come to batch {before.batch}, and its checkpoint to {number}: they are not "
                "of one watch; give another --out"
            )
        # That of a stream, which has settings of its own.
        self._spark = batch.sparkSession
        batch.persist()
        try:
            self._measure(*self._look(batch, number))
        finally:
            batch.unpersist()

    def _look(self, batch: "DataFrame", number: int) -> "tuple[DataFrame, Progress]":
        """What counts of this batch, and the counts after it: what there is to read, and what could not be read."""
        from pyspark.sql import functions as f

        before = self._folder.progress
        paths = files(self._folder.checkpoint, number)
        footers = look_at(self._spark, list(paths))
        bad = [footer for footer in footers if footer.problem and footer.problem != "no event in it"]
        if bad:
            # Of a file that is not as traces are, Spark may read the columns that it needs.
            batch = batch.where(~f.col("file").isin([paths[footer.path] for footer in bad]))
        removed = {footer.path for footer in bad if not is_there(self._spark, footer.path)}
        row = batch.agg(
            f.count("*").alias("rows"),
            f.count_if("known").alias("known"),
            f.max(f.when(f.col("known"), f.col("seen"))).alias("newest"),
            f.count_if(f.col("known") & is_late(before.closed_us, before.window_us)).alias("late"),
        ).collect()[0]
        promised = sum(footer.events for footer in footers)
        newest = max((time for time in (before.newest_us, row["newest"]) if time is not None), default=None)
        problems = [
            Problem(
                plain(footer.path), "removed before it was read" if footer.path in removed else footer.problem or ""
            )
            for footer in bad
        ]
        if promised > row["rows"]:
            problems.append(
                Problem(self._folder.progress.trace, f"{promised - row['rows']:,} events could not be read")
            )
        if row["rows"] > row["known"]:
            problems.append(Problem(self._folder.progress.trace, f"{row['rows'] - row['known']:,} rows are {NO_EVENT}"))
        return batch, msgspec.structs.replace(
            before,
            batch=number,
            newest_us=newest,
            closed_us=None if newest is None else max(before.closed_us or 0, newest - self._watermark_us),
            files=before.files + len(paths),
            corrupt=before.corrupt + len(bad) - len(removed),
            removed=before.removed + len(removed),
            events=before.events + row["known"],
            late=before.late + row["late"],
            unread=before.unread + max(promised - row["known"], 0),
            problems=before.name(problems),
        )

    def _measure(self, batch: "DataFrame", now: Progress) -> None:
        from pyspark.sql import functions as f

        before = self._folder.progress
        kept = admitted(batch, before.closed_us, now.window_us)
        if before.retained is not None:
            # An earlier version may have kept less of them.
            kept = kept.unionByName(parquet(self._spark, [self._path(before.retained)]), allowMissingColumns=True)
        decided = decide(kept, self._remembered(before)).persist()
        try:
            shown = decided
            if before.closed_us is not None:
                shown = decided.where(f.col("start") + now.window_us > before.closed_us)
            table = figures(shown, now.window_us).toArrow()
            table = table.sort_by([(name, "ascending") for name in ("window_start", "queue", "account")])
            now = self._keep(kept, now)
            now = self._remember(decided, now)
        finally:
            decided.unpersist()
        closed, still_open = split(table, now.closed_us)
        publish = [self._folder.stage(still_open, OPEN)]
        if closed.num_rows or now.batch == 0:
            # The first one is there in any case, so that readers find the columns.
            publish.append(self._folder.stage(closed, f"{METRICS}/batch-{now.batch:08}.parquet"))
        self._folder.commit(msgspec.structs.replace(now, publish=dict(publish)))
        self._tell(Done(self._folder.progress, closed.to_pylist(), still_open.to_pylist()))

    def _path(self, name: str) -> str:
        return str(self._folder.state / name)

    def _keep(self, kept: "DataFrame", now: Progress) -> Progress:
        """Events of open windows, and those of a watermark before: the other side may still tell of the same."""
        from pyspark.sql import functions as f

        if now.closed_us is None:
            return now
        needed = kept.where(f.col("start") + now.window_us > now.closed_us - self._watermark_us).select(*KEPT)
        needed = needed.where((f.col("op") != LATE) | (f.col("start") + now.window_us > now.closed_us))
        path = self._folder.fresh("events")
        needed.coalesce(self._spark.sparkContext.defaultParallelism).write.parquet(str(path))
        return msgspec.structs.replace(now, retained=path.name, retained_rows=_rows(path))

    def _remembered(self, progress: Progress) -> "DataFrame | None":
        if not progress.pieces:
            return None
        paths = [self._path(piece.name) for piece in progress.pieces]
        return parquet(self._spark, paths, "hash long, by_client boolean, time long")

    def _remember(self, decided: "DataFrame", now: Progress) -> Progress:
        """Messages received in windows that close now, until it is time to forget them."""
        if now.closed_us is None:
            return now
        found = first_receives(decided, now.remembered_us, now.closed_us, now.window_us)
        forget_us = now.closed_us - self._remember_us
        pieces = [piece for piece in now.pieces if piece.last_us > forget_us]
        if len(pieces) >= _PIECES:
            old = self._remembered(msgspec.structs.replace(now, pieces=pieces))
            assert old is not None
            found, pieces = found.unionByName(old.where(old["time"] > forget_us)), []
        pieces += self._piece(found)
        return msgspec.structs.replace(now, pieces=pieces, remembered_us=now.closed_us)

    def _piece(self, found: "DataFrame") -> list[Piece]:
        path = self._folder.fresh("messages")
        found.coalesce(1).write.parquet(str(path))
        rows = _rows(path)
        return [Piece(path.name, rows, _newest(path))] if rows else []


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return sum(int(pq.read_metadata(part).num_rows) for part in path.glob("*.parquet"))


def _newest(path: Path) -> int:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    return int(pc.max(pq.read_table(path, columns=["time"])["time"]).as_py())


def split(table: "pa.Table", closed_us: int | None) -> "tuple[pa.Table, pa.Table]":
    """The rows of windows that are closed, and of others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if closed_us is None:
        return table.slice(0, 0), table
    is_closed = pc.less_equal(table["window_end"], pa.scalar(closed_us, pa.timestamp("us", "UTC")))
    return table.filter(is_closed), table.filter(pc.invert(is_closed))


def close(folder: Folder, until_us: int) -> Done | None:
    """Close open windows that end up to a time, when no events are left; None if there are none to close."""
    import pyarrow.parquet as pq

    if not (folder.path / OPEN).exists():
        return None
    closed, still_open = split(pq.read_table(folder.path / OPEN), until_us)
    if not closed.num_rows:
        return None
    # No later than the last of them: what is younger has not been seen, and may still come.
    until_us = max(closed["window_end"].cast("int64").to_pylist())
    publish = [folder.stage(still_open, OPEN), folder.stage(closed, f"{METRICS}/close-{until_us}.parquet")]
    progress = folder.progress
    until_us = max(until_us, progress.closed_us or 0)
    folder.commit(msgspec.structs.replace(progress, closed_us=until_us, publish=dict(publish)))
    return Done(folder.progress, closed.to_pylist(), still_open.to_pylist())
