"""What is looked at whenever the service starts: whether the database is whole, as far as that costs a moment only."""

import apsw

from rockdove.store.sqlite.folder import Folder, damaged

# All pages of a file up to this size are looked at: a fraction of a second.
QUICK_BYTES = 64 * 1024 * 1024


def inspect(folder: Folder, db: apsw.Connection) -> None:
    """Raises `DataFolderError`. What is in a large file, only `rockdove check` finds out."""
    size, page = folder.database.stat().st_size, db.pragma("page_size")
    no_log = not folder.log.exists() or not folder.log.stat().st_size
    if no_log and size < db.pragma("page_count") * page:
        raise damaged(folder.path, f"it has {size:,} bytes, and should have {db.pragma('page_count') * page:,}")
    if size <= QUICK_BYTES:
        found = db.execute("PRAGMA quick_check(1)").get
        if found != "ok":
            raise damaged(folder.path, found)
