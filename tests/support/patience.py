"""Waits for what must come; how long it takes is no part of a test."""

import time
from collections.abc import Callable

_PATIENCE_S = 600
_POLL_S = 0.02


def wait_until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"no {what} within {_PATIENCE_S} s"
        time.sleep(_POLL_S)
