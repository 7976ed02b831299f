"""What the processes of a service take of the machine, all together, under the names that Prometheus has for one."""

from collections.abc import Iterator
from functools import partial

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from rockdove.server.board import Seat

# What is not a sum: when the first began, and the least that one of them may open.
_LEAST = frozenset(("process_start_time_seconds", "process_max_fds"))


class Processes(Collector):
    """Looks at all processes of the board."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    def collect(self) -> Iterator[Metric]:
        found: dict[str, Metric] = {}
        for process in self._seat.processes:
            for metric in ProcessCollector(pid=partial(int, process), registry=None).collect():
                known = found.setdefault(metric.name, metric)
                if known is not metric:
                    _add(known, metric)
        yield from found.values()


def _add(total: Metric, more: Metric) -> None:
    join = min if total.name in _LEAST else sum
    pairs = zip(total.samples, more.samples, strict=True)
    total.samples = [one._replace(value=join((one.value, other.value))) for one, other in pairs]
