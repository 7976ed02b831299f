"""G/G/n: other arrivals and service times than exponential ones, by an approximation whose error is known.

The mean wait is that of M/M/n times a factor of the two squared coefficients of variation (scv). Page's interpolation
(1972) mixes M/M/n, M/D/n and D/M/n, and Cosmetatos's formula and Whitt's (1993) give the latter two. It is exact for
M/M/n and for M/G/1. For the error elsewhere see docs/explanation/capacity.md: a test holds it to that.
"""

import math
from functools import cached_property

from rockdove.capacity.analytic.mmn import MMn
from rockdove.capacity.error import require_not_negative


class GGn:
    """A station in its steady state; `arrival_scv` and `service_scv` are 1 for exponential times, 1/k for Erlang's.

    Raises `InvalidScenario` and `Unstable`.
    """

    def __init__(
        self,
        arrival: float,
        rate: float,
        threads: int,
        arrival_scv: float = 1.0,
        service_scv: float = 1.0,
        name: str = "the station",
    ) -> None:
        require_not_negative(arrival_scv=arrival_scv, service_scv=service_scv)
        self.markov = MMn(arrival, rate, threads, name)
        self.arrival_scv = arrival_scv
        self.service_scv = service_scv

    @property
    def utilisation(self) -> float:
        return self.markov.utilisation

    @property
    def delay_probability(self) -> float:
        """That of M/M/n: it depends little on the shape of the times."""
        return self.markov.delay_probability

    @cached_property
    def wait_factor(self) -> float:
        """By what the mean wait of M/M/n is multiplied; 1 for exponential times."""
        constant_service, constant_arrival = _constant(self.markov.threads, self.utilisation)
        return (
            self.arrival_scv * self.service_scv
            + self.arrival_scv * (1 - self.service_scv) * constant_service
            + (1 - self.arrival_scv) * self.service_scv * constant_arrival
        )

    @property
    def mean_wait_s(self) -> float:
        return self.wait_factor * self.markov.mean_wait_s

    @property
    def mean_sojourn_s(self) -> float:
        return self.mean_wait_s + 1 / self.markov.rate

    @property
    def mean_waiting(self) -> float:
        return self.markov.arrival * self.mean_wait_s

    @property
    def mean_number(self) -> float:
        return self.mean_waiting + self.markov.offered

    @property
    def departure_scv(self) -> float:
        """Of the times between messages that leave: Whitt, "The queueing network analyzer" (1983), equation 39."""
        busy = self.utilisation**2
        return 1 + (1 - busy) * (self.arrival_scv - 1) + busy * (self.service_scv - 1) / math.sqrt(self.markov.threads)

    def wait_percentile_s(self, share: float) -> float:
        """The wait that this share of messages does not exceed, if those that wait do so for an exponential time."""
        return self.wait_factor * self.markov.wait_percentile_s(share)


def _constant(threads: int, busy: float) -> tuple[float, float]:
    """The mean waits of M/D/n and of D/M/n, in those of M/M/n: half, and more or less of it at a light load."""
    light = min(0.24, (1 - busy) * (threads - 1) * (math.sqrt(4 + 5 * threads) - 2) / (16 * threads * busy))
    return (1 + light) / 2, (1 - 4 * light) * math.exp(-2 * (1 - busy) / (3 * busy)) / 2
