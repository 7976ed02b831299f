"""A front-end as its controller knows it."""

from rockdove.capacity.scaling.front_ends import FrontEnd
from rockdove.elastic.front_end.page import Reading
from rockdove.elastic.front_end.state import ShownFrontEnd


class Member:
    """``state``: starting; up, and gets requests; draining, and finishes those it has; ending, and has none."""

    def __init__(self, number: int, pid: int) -> None:
        self.number = number
        self.pid = pid
        self.state = "starting"
        self.url: str | None = None
        # Processes of the dispatcher that may still use it; None: they have not been told yet.
        self.users: frozenset[int] | None = None
        # For how long it has not answered.
        self.silent_s = 0.0
        self._silent_since_s: float | None = None
        self.ending_s: float | None = None
        self._before: Reading | None = None
        self._last: Reading | None = None

    @property
    def stays(self) -> bool:
        return self.state in ("starting", "up")

    @property
    def storage_bytes(self) -> float | None:
        return None if self._last is None else self._last.storage_bytes

    def answered(self, has_answered: bool, now_s: float) -> None:
        """It was asked how it is."""
        if has_answered:
            self._silent_since_s = None
        elif self._silent_since_s is None:
            self._silent_since_s = now_s
        self.silent_s = 0.0 if self._silent_since_s is None else now_s - self._silent_since_s

    def took(self, reading: Reading | None) -> None:
        """What it says at the end of a period, if it does."""
        self._before, self._last = self._last, reading

    def seen(self) -> FrontEnd:
        requests, mean_s = self._period()
        tells = self._before is not None and self._last is not None
        return FrontEnd(self.number, self.state == "up", requests, mean_s, tells, self.silent_s)

    def _period(self) -> tuple[int, float | None]:
        if self._before is None or self._last is None:
            return 0, None
        requests = self._last.requests - self._before.requests
        seconds = self._last.seconds - self._before.seconds
        return requests, seconds / requests if requests > 0 else None

    def shown(self) -> ShownFrontEnd:
        requests, mean_s = self._period()
        return ShownFrontEnd(
            number=self.number,
            state="silent" if self.state == "up" and self.silent_s else self.state,
            pid=self.pid,
            url=self.url,
            requests=requests,
            mean_s=mean_s,
            connections=None if self._last is None else self._last.connections,
            long_polls=None if self._last is None else self._last.long_polls,
        )
