"""One Parquet file, from its first event until it is complete and has its name."""

import contextlib
import os
from pathlib import Path
from typing import Any, BinaryIO

from rockdove.trace.extra import parquet
from rockdove.trace.folder import hidden, lock, sync
from rockdove.trace.schema import schema

# Values that repeat are stored once; of others what they have in common with the one before. Spark reads both.
_REPEATING = [
    "node",
    "side",
    "account",
    "queue",
    "physical",
    "op",
    "group_id",
    "sender",
    "receiver",
    "attempt",
    "status",
]
_NEIGHBOURLY = {
    "message_id": "DELTA_BYTE_ARRAY",
    **dict.fromkeys(("event_time", "sent_at", "enqueued_at", "dequeued_at", "seq"), "DELTA_BINARY_PACKED"),
}
# Rows that are encoded together: enough for encodings to pay, and what a writer holds in memory.
ROW_GROUP = 64_000


class TraceFile:
    """Raises OSError wherever the disk or the folder fails; `abandon` then leaves nothing behind."""

    def __init__(self, path: Path, opened_us: int) -> None:
        self.path = path
        self.opened_us = opened_us
        self.rows = 0
        self._batches: list[Any] = []
        self._waiting = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _create(hidden(path))
        self._parquet = parquet().ParquetWriter(
            self._file, schema(), compression="zstd", use_dictionary=_REPEATING, column_encoding=_NEIGHBOURLY
        )

    @property
    def bytes(self) -> int:
        """What is on the disk so far."""
        return self._file.tell()

    def add(self, batch: Any) -> None:
        """Take a record batch."""
        self.rows += batch.num_rows
        self._waiting += batch.num_rows
        self._batches.append(batch)
        if self._waiting >= ROW_GROUP:
            self._write()

    def _write(self) -> None:
        from pyarrow import Table

        batches, self._batches, self._waiting = self._batches, [], 0
        self._parquet.write_table(Table.from_batches(batches))

    def finish(self) -> None:
        """Complete the file, see that it is on the disk, and let others see it."""
        if self._waiting:
            self._write()
        self._parquet.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        os.rename(hidden(self.path), self.path)
        self._file.close()
        sync(self.path.parent)

    def abandon(self) -> None:
        for close in (self._parquet.close, self._file.close, hidden(self.path).unlink):
            # It may be these that failed.
            with contextlib.suppress(OSError, ValueError):
                close()
        # Else it would try again when it is forgotten.
        self._parquet.is_open = False


def _create(path: Path) -> BinaryIO:
    while True:
        file = path.open("xb")
        # Before it was locked, somebody who cleans up may have taken it for a leftover.
        if lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
