"""Starts programs that outlive whoever starts them."""

import os
from collections.abc import Sequence
from pathlib import Path


def spawn(words: Sequence[str], log: Path) -> int:
    """Its process id. What it prints is added to ``log``."""
    return os.posix_spawn(
        words[0],
        list(words),
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        # A signal to the starter's group is not for it.
        setsid=True,
    )
