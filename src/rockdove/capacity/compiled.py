"""How loops are compiled: once, and kept on disk."""

import hashlib
import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core.caching import CacheImpl

Loop = TypeVar("Loop", bound=Callable[..., Any])

# Where our modules are in a zip file, as Spark's executors get them.
_ARCHIVE = next((path for path in Path(__file__).parents if path.suffix == ".zip" and path.is_file()), None)


def compiled(loop: Loop) -> Loop:
    """Numba's decorator, with the types that it hides."""
    settings: Any = numba.config
    # Older versions of Numba do not have it.
    before = getattr(settings, "CACHE_LOCATOR_CLASSES", None)
    if _ARCHIVE is not None and before == "":
        own = f"{ArchiveLocator.__module__}.{ArchiveLocator.__name__}"
        usual = (locator.__name__ for locator in CacheImpl._locator_classes)
        settings.CACHE_LOCATOR_CLASSES = ",".join([own, *usual])
    try:
        return cast(Loop, njit(cache=True, nogil=True)(loop))
    finally:
        if before is not None:
            settings.CACHE_LOCATOR_CLASSES = before


class ArchiveLocator:
    """Where to keep what was compiled from a zip file: by its content.

    Numba would keep it by its path, which Spark draws anew for each application: all executors would compile again.
    """

    def __init__(self, loop: Callable[..., Any], folder: Path) -> None:
        self._line = loop.__code__.co_firstlineno
        self._folder = folder

    @classmethod
    def from_function(cls, loop: Callable[..., Any], file: str) -> "ArchiveLocator | None":
        """None if it is not ours, or nothing can be kept: then others are asked."""
        if _ARCHIVE is None or not file.startswith(f"{_ARCHIVE}{os.sep}"):
            return None
        locator = cls(loop, Path.home() / ".cache" / "rockdove" / _digest(_ARCHIVE))
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(self._folder, os.W_OK):
            raise PermissionError(f"cannot write to {self._folder}")

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return str(self._line)


@cache
def _digest(archive: Path) -> str:
    """Of all that is in it: loops have others of other modules in them."""
    with zipfile.ZipFile(archive) as opened:
        content = sorted((each.filename, each.CRC) for each in opened.infolist())
    return hashlib.sha256(repr(content).encode()).hexdigest()[:32]
