"""Where a queue bends: up to there, more work costs little time; beyond, a little more costs much.

It is where the power, throughput divided by delivery time, is greatest (Kleinrock, 1979); over threads, the throughput
of what is paid for one.
"""

from msgspec.structs import replace

from rockdove.capacity.plan.load import Load


def knee_arrival(load: Load, n1: int, n2: int) -> float:
    """The arrivals a second with which these threads have the greatest power."""
    # Here, because it takes a second, and few ask for a knee.
    from scipy.optimize import minimize_scalar

    most = min(n1 * load.sender_rate, n2 * load.broker_rate * load.q)

    def weakness(arrival: float) -> float:
        return replace(load, arrival=arrival).network(n1, n2).delivery_s / arrival

    found = minimize_scalar(weakness, bounds=(most * 1e-6, most * (1 - 1e-6)), method="bounded")
    return float(found.x)


def knee_threads(load: Load, cost_sender: float = 1.0, cost_broker: float = 1.0) -> tuple[int, int]:
    """The threads with the greatest power for their cost: from the fewest upwards as long as it grows."""

    def weakness(threads: tuple[int, int]) -> float:
        n1, n2 = threads
        return (cost_sender * n1 + cost_broker * n2) * load.network(n1, n2).delivery_s

    here = load.fewest()
    while True:
        n1, n2 = here
        best = min(((n1 + 1, n2), (n1, n2 + 1), (n1 + 1, n2 + 1)), key=weakness)
        if weakness(best) >= weakness(here):
            return here
        here = best
