"""A folder that an option names, on any file system that Arrow knows."""

import os
import re
from typing import Final

import pyarrow as pa
from pyarrow import fs

from rockdove.spark.service.option import BadOption

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def find(path: str) -> tuple[fs.FileSystem, str]:
    if _URI.match(path):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(path)
        return found
    return fs.LocalFileSystem(), path


def check(option: str, path: str) -> str:
    """The same folder, whatever folder a process works in. Raises `BadOption`."""
    try:
        find(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadOption(f"the option {option}: Arrow finds no file system for {path!r}: {error}") from None
    return path if _URI.match(path) else os.path.abspath(path)
