"""Classes of messages: a free thread takes the first message of the best class, and finishes it (no preemption).

With one service rate for all classes it is exact for M/M/n (Kella and Yechiali, 1985) and for M/G/1 (Cobham, 1954).
"""

from collections.abc import Sequence

from rockdove.capacity.analytic.ggn import GGn
from rockdove.capacity.error import InvalidScenario, require_not_negative


def class_waits_s(arrivals: Sequence[float], rate: float, threads: int, service_scv: float = 1.0) -> list[float]:
    """The mean wait of each class, the best first; `arrivals` are messages a second of each.

    Raises `InvalidScenario` and `Unstable`: the classes together must be stable.
    """
    if not arrivals:
        raise InvalidScenario("there must be a class of messages at least")
    require_not_negative(**{f"arrival of class {place}": value for place, value in enumerate(arrivals)})
    station = GGn(sum(arrivals), rate, threads, service_scv=service_scv)
    # What the message in question finds in service, for whichever class it is of.
    residual_s = station.mean_wait_s * (1 - station.utilisation)
    waits, before = [], 0.0
    for arrival in arrivals:
        load = before + arrival / (threads * rate)
        waits.append(residual_s / ((1 - before) * (1 - load)))
        before = load
    return waits
