"""The token that lets others read the metrics, from a file: a word on the command line could be read by everybody."""

import os
import shlex
import stat
from pathlib import Path

from rockdove.cli.failure import Code, Failure

# Shorter ones could be guessed.
MIN_LENGTH = 16
# A group may share it, such as that of the service and of Prometheus.
_FOR_OTHERS = 0o007


def read(path: Path) -> str:
    try:
        # A pipe would keep the service waiting for somebody to write into it.
        with open(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(status):
                raise Failure(f"cannot read the metrics token from {path}: it is not a regular file", Code.USAGE)
            mode = status & 0o777
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failure(f"cannot read the metrics token from {path}: {reason}", Code.USAGE) from None
    if mode & _FOR_OTHERS:
        raise Failure(
            f"the metrics token in {path} is open to all users of this machine (mode {mode:04o}); "
            f"close it with: chmod 600 {shlex.quote(str(path))}",
            Code.USAGE,
        )
    if len(token) < MIN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise Failure(
            f"{path} must hold one word of at least {MIN_LENGTH} ASCII characters; make one with: openssl rand -hex 32",
            Code.USAGE,
        )
    return token
