"""For how long a server has been silent, which tells one that is dead."""

# A server that has not answered for so many seconds is taken for dead.
PATIENCE_S = 0.7
# Seconds between two looks at that; one that is idle is asked something then.
LOOK_S = 0.1


class Silence:
    """As far as this process was there to hear it.

    A process that was busy for a second finds what came meanwhile only after it has looked at the time.
    """

    def __init__(self, now_s: float) -> None:
        self._looked_s = now_s
        self._since_s: float | None = None
        self._lasts_s = 0.0

    def lasts(self, since_s: float | None, now_s: float) -> float:
        """Seconds, if it began then and is looked at every `LOOK_S` seconds."""
        passed_s, self._looked_s = min(now_s - self._looked_s, 2 * LOOK_S), now_s
        if since_s is None:
            self._lasts_s = 0.0
        elif since_s == self._since_s:
            self._lasts_s += passed_s
        else:
            self._lasts_s = min(now_s - since_s, passed_s)
        self._since_s = since_s
        return self._lasts_s
