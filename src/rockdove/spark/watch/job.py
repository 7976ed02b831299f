"""The streaming query of a watch, from its start to its end."""

from typing import TYPE_CHECKING, Final

from rockdove.core.clock import Clock
from rockdove.spark.session import SparkFailed
from rockdove.spark.watch.batch import Batches, Done, Tell, close
from rockdove.spark.watch.event import FILES, stream
from rockdove.spark.watch.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# How often the folder is looked at for new files.
LOOK: Final = "2 seconds"
# The setting of Spark that says how many files one batch may have.
FILES_SETTING: Final = "spark.rockdove.watch.files"


class Job:
    """One query, running. Its batches are taken in a thread of their own."""

    def __init__(
        self,
        spark: "SparkSession",
        folder: Folder,
        *,
        watermark_us: int,
        remember_us: int,
        once: bool,
        tell: Tell,
    ) -> None:
        self._folder = folder
        self._watermark_us = watermark_us
        self._failure: BaseException | None = None
        self._batches = Batches(spark, folder, watermark_us, remember_us, tell)
        files = int(spark.conf.get(FILES_SETTING, str(FILES)) or FILES)
        writer = (
            stream(spark, folder.progress.trace, folder.progress.window_us, files)
            .writeStream.foreachBatch(self._take)
            .option("checkpointLocation", str(folder.checkpoint))
        )
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=LOOK)
        self._query: StreamingQuery = writer.start()

    def _take(self, batch: object, number: int) -> None:
        try:
            self._batches.take(batch, number)  # type: ignore[arg-type]
        except BaseException as error:
            # Spark would tell of it as a text, if at all.
            self._failure = error
            raise

    def has_ended(self) -> bool:
        """Raises what ended it, if that was an error."""
        from py4j.protocol import Py4JError

        try:
            if self._query.isActive:
                return False
            error = self._query.exception()
        except (Py4JError, OSError) as gone:
            raise SparkFailed("Spark is gone; start the watch again, it goes on where it was") from gone
        if error is None:
            return True
        if self._failure is not None:
            raise self._failure
        raise SparkFailed(f"Spark gave up: {str(error).strip().splitlines()[0]}") from error

    def stop(self) -> None:
        """What a batch has begun and not finished is done again by the next watch."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            self._query.stop()
        except (PySparkException, Py4JError, OSError):
            # Whoever ended us may have ended Spark as well.
            return

    def close(self, clock: Clock) -> Done | None:
        """Close what the watermark would close if an event came now."""
        return close(self._folder, clock.now_us() - self._watermark_us)
