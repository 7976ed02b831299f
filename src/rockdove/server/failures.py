"""Bad signatures by address, and wrong passwords by account: who has had too many lately."""

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence

# So many in so many seconds are too many.
MOST_FAILURES = 20
WINDOW_S = 60.0
# Addresses remembered at most; the one that failed longest ago is forgotten first.
MOST_ADDRESSES = 10_000
# Of an IPv6 address this many bits are the subscriber's network; he may choose the rest anew for each request.
_NETWORK_BITS = 64


class Failures:
    """Counts in a sliding window, by what is called an address here. The clock is one that never goes back."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        most: int = MOST_FAILURES,
        window_s: float = WINDOW_S,
    ) -> None:
        """``most`` in ``window_s`` are too many."""
        self._clock = clock
        self.most = most
        self._window_s = window_s
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        # Called with each one that is counted, so that other processes of the service can count it, too.
        self.tell: Callable[[str], None] = lambda place: None

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._times)

    def recent(self) -> dict[str, list[float]]:
        """All of them, by the clock, which processes of a machine share."""
        return {place: list(times) for place, times in self._times.items()}

    def take(self, recent: Mapping[str, Sequence[float]]) -> None:
        """Those that others have seen before this process began. It may have heard of the last of them already."""
        for place, times in recent.items():
            if len(times) > len(self._times.get(place, ())):
                self._times[place] = deque(times)

    def add(self, address: str) -> bool:
        """One more. False: there were too many already, so that this one is not even counted."""
        place = _place(address)
        if self.hear(place):
            self.tell(place)
            return True
        return False

    def hear(self, place: str) -> bool:
        """The same for one that another process has seen."""
        now = self._clock()
        times = self._times.setdefault(place, deque())
        self._drop_old(times, now)
        self._times.move_to_end(place)
        if len(self._times) > MOST_ADDRESSES:
            self._times.popitem(last=False)
        if len(times) >= self.most:
            return False
        times.append(now)
        return True

    def room(self, place: str) -> int:
        """How many more are not yet too many."""
        times = self._times.get(place, deque())
        self._drop_old(times, self._clock())
        return self.most - len(times)

    def wait_s(self, place: str) -> float:
        """Until when there is room again."""
        if self.room(place) > 0:
            return 0.0
        return self._times[place][0] + self._window_s - self._clock()

    def _drop_old(self, times: deque[float], now: float) -> None:
        while times and times[0] <= now - self._window_s:
            times.popleft()


def _place(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(ipaddress.ip_network((int(found) >> _NETWORK_BITS << _NETWORK_BITS, _NETWORK_BITS)))
