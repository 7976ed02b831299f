"""Which files a batch has: Spark keeps that in its checkpoint, and tells nobody else."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec


def files(checkpoint: Path, batch: int) -> dict[str, str]:
    """The files that Spark has given to a batch, whether they could be read or not.

    Their paths, and how rows of theirs call them: as parts of URLs.
    """
    last = _offset(checkpoint, batch)
    first = _offset(checkpoint, batch - 1) + 1 if batch else 0
    names = [entry["path"] for number in range(first, last + 1) for entry in _entries(checkpoint, number)]
    return {unquote(name): re.sub("^file:/+", "file:/", name) for name in names}


def _offset(checkpoint: Path, batch: int) -> int:
    """The number of a batch's last entry in the log of files."""
    lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    return int(msgspec.json.decode(lines[-1])["logOffset"])


def _entries(checkpoint: Path, number: int) -> list[dict[str, Any]]:
    log = checkpoint / "sources" / "0"
    path = log / str(number)
    # Now and then Spark writes all entries so far into one file.
    path = path if path.exists() else log / f"{number}.compact"
    entries = [msgspec.json.decode(line) for line in path.read_text().splitlines()[1:] if line]
    return [entry for entry in entries if entry["batchId"] == number]
