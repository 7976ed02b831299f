"""The key under which account secrets are sealed: a file that its owner alone can read, apart from the database."""

import os
import stat
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Protocol

from rockdove.core.cipher import KEY_BYTES
from rockdove.core.errors import DataFolderError

KEY_FILE = "account.key"
# The file's format, so that a later one can be told from it.
_FORMAT = "rockdove-key-1:"
_FOR_OTHERS = 0o077


class KeySource(Protocol):
    """Where the key is kept."""

    @property
    def place(self) -> str:
        """For messages."""

    def read(self) -> bytes | None:
        """The key, or None if there is none yet. Raises `DataFolderError` if it must not or cannot be used."""

    def create(self) -> bytes:
        """Make the key, which must not be there yet, and keep it. Raises `DataFolderError`."""


class KeyFile:
    """A key in a file of mode 0600. It is made once and never changes."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / KEY_FILE

    @property
    def place(self) -> str:
        return str(self.path)

    def read(self) -> bytes | None:
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataFolderError(
                f"cannot read the key file {self.path}: {error.strerror}; it must belong to the user who runs this"
            ) from None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise DataFolderError(
                f"the key file {self.path} is no file; move away what is there, and put the key file back from a backup"
            )
        with os.fdopen(file, "rb") as opened:
            mode = os.fstat(file).st_mode & 0o777
            if mode & _FOR_OTHERS:
                raise DataFolderError(
                    f"the key file {self.path} is open to other users (mode {mode:04o}); "
                    f"close it with: chmod 600 {self.path}"
                )
            return self._parse(opened.read(1024))

    def _parse(self, text: bytes) -> bytes:
        try:
            version, _, key = text.decode("ascii").strip().partition(":")
            decoded = b64decode(key, validate=True)
        except ValueError:
            version, decoded = "", b""
        if f"{version}:" != _FORMAT or len(decoded) != KEY_BYTES:
            raise DataFolderError(
                f"the key file {self.path} is damaged; put it back from a backup, or, if there are no accounts yet, "
                "remove it"
            )
        return decoded

    def create(self) -> bytes:
        key = os.urandom(KEY_BYTES)
        # Whole, or not there: half a key would be in the way of every later one.
        aside = self.path.with_name(f"{KEY_FILE}.new")
        try:
            # With data on other machines, nobody else has made it.
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            aside.unlink(missing_ok=True)
            try:
                _write(aside, f"{_FORMAT}{b64encode(key).decode()}\n".encode())
                # Unlike a rename, this does not take the place of one that is there.
                os.link(aside, self.path)
            finally:
                aside.unlink(missing_ok=True)
            _sync(self.path.parent)
        except OSError as error:
            raise DataFolderError(f"cannot make the key file {self.path}: {error.strerror}") from None
        return key


class MemoryKey:
    """The key of a store that keeps nothing on disk: it goes when the process ends, as the data does."""

    place = "memory"

    def __init__(self) -> None:
        self._key: bytes | None = None

    def read(self) -> bytes | None:
        return self._key

    def create(self) -> bytes:
        self._key = os.urandom(KEY_BYTES)
        return self._key


def _write(path: Path, text: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(file)


def _sync(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
