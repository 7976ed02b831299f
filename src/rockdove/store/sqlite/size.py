"""How much disk a data folder's database takes, with what SQLite has not copied back yet."""

import asyncio
from pathlib import Path

from rockdove.core.errors import StoreError
from rockdove.store.base import Done
from rockdove.store.sqlite.folder import DATABASE, LOG


class SqliteSizing:
    """See `rockdove.store.base.Sizing`."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._folder = folder
        self._loop = loop

    def size(self, done: Done[int]) -> None:
        self._loop.call_soon(done, self._bytes())

    def _bytes(self) -> int | StoreError:
        try:
            log = self._folder / LOG
            return (self._folder / DATABASE).stat().st_size + (log.stat().st_size if log.exists() else 0)
        except OSError as error:
            return StoreError(f"the size of the data cannot be told: {error.strerror or error}")
