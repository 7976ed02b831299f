"""Log lines about clients that are turned away: seldom, so that nobody can fill a disk by being refused."""

import logging
import time
from collections import Counter
from collections.abc import Callable

from rockdove.server.log import fields

EVERY_S = 60.0

log = logging.getLogger("rockdove")


class Seldom:
    """One line for each event in a minute; it tells how many of its kind had none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_s: dict[str, float] = {}
        self._silent: Counter[str] = Counter()

    def warn(self, event: str, text: str, **about: str) -> None:
        """``event`` is one of a few names of ours; ``about`` tells whom or what this is about."""
        now_s = self._clock()
        if now_s < self._next_s.get(event, now_s):
            self._silent[event] += 1
            return
        self._next_s[event] = now_s + EVERY_S
        log.warning(text, extra=fields(event, **about, silent=self._silent.pop(event, 0)))
