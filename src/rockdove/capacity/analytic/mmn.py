"""M/M/n: Poisson arrivals, exponential service times, n threads, first come first served. Everything here is exact."""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp

from rockdove.capacity.error import InvalidScenario, Unstable, require_positive, require_whole

# How far above a value the search for a percentile may look, in mean sojourn times.
_FAR = 60.0


class MMn:
    """A station in its steady state. `arrival` and `rate` (of one thread) are per second.

    Raises `InvalidScenario`, and `Unstable`, which names the smallest stable number of threads.
    """

    def __init__(self, arrival: float, rate: float, threads: int, name: str = "the station") -> None:
        require_positive(arrival=arrival, rate=rate)
        require_whole(threads=threads)
        if threads * rate <= arrival:
            raise Unstable(name, arrival, rate, threads)
        self.arrival = arrival
        self.rate = rate
        self.threads = threads

    @property
    def offered(self) -> float:
        """Work that arrives, in threads: the mean number of busy ones."""
        return self.arrival / self.rate

    @property
    def utilisation(self) -> float:
        """rho: the mean share of threads that are busy."""
        return self.offered / self.threads

    @cached_property
    def delay_probability(self) -> float:
        """That an arrival finds all threads busy (Erlang's C).

        By Erlang's B, which is a Poisson probability divided by the sum of those up to it, and by logarithms: powers
        and factorials, as in the paper's equation 5, overflow from about 150 threads on.
        """
        log_full = self.threads * math.log(self.offered) - self.offered - gammaln(self.threads + 1)
        blocked = math.exp(log_full) / gammaincc(self.threads + 1, self.offered)
        return float(blocked / (1 - self.utilisation * (1 - blocked)))

    @property
    def spare(self) -> float:
        """Services a second that all threads together have left; also the rate at which a queue drains."""
        return self.threads * self.rate - self.arrival

    @property
    def mean_waiting(self) -> float:
        """Lq, messages that wait for a thread."""
        return self.delay_probability * self.arrival / self.spare

    @property
    def mean_number(self) -> float:
        """L, messages that wait or are served."""
        return self.mean_waiting + self.offered

    @property
    def mean_wait_s(self) -> float:
        """Wq, by Little's law."""
        return self.delay_probability / self.spare

    @property
    def mean_sojourn_s(self) -> float:
        """W."""
        return self.mean_wait_s + 1 / self.rate

    def length_probabilities(self, most: int) -> "np.ndarray[Any, Any]":
        """Probabilities of 0, 1, ... `most` messages at the station: the paper's equations 5 and 6, by logarithms."""
        below = np.arange(self.threads)
        log_below = below * math.log(self.offered) - gammaln(below + 1)
        log_full = self.threads * math.log(self.offered) - gammaln(self.threads + 1)
        log_all = logsumexp(np.append(log_below, log_full - math.log1p(-self.utilisation)))
        over = np.arange(max(most + 1 - self.threads, 0)) * math.log(self.utilisation)
        logs = np.concatenate((log_below, log_full + over))[: most + 1]
        return np.asarray(np.exp(logs - log_all))

    def wait_tail(self, time_s: float) -> float:
        """Probability of waiting longer than that."""
        return self.delay_probability * math.exp(-self.spare * time_s)

    def sojourn_tail(self, time_s: float) -> float:
        """Probability of staying longer than that.

        A service, and behind it, if all threads are busy, an exponential wait of rate `spare`.
        """
        slow, fast = sorted((self.rate, self.spare))
        apart = (fast - slow) * time_s
        # (1 - exp(-x)) / x, which is 1 where both rates are the same.
        ratio = -math.expm1(-apart) / apart if apart > 0 else 1.0
        both = self.rate * time_s * ratio * math.exp(-slow * time_s)
        return math.exp(-self.rate * time_s) + self.delay_probability * both

    def wait_percentile_s(self, share: float) -> float:
        """The wait that this share of messages does not exceed."""
        _require_share(share)
        if 1 - share >= self.delay_probability:
            return 0.0
        return math.log(self.delay_probability / (1 - share)) / self.spare

    def sojourn_percentile_s(self, share: float) -> float:
        """The stay that this share of messages does not exceed."""
        # Here, because it takes a second, and few ask for percentiles.
        from scipy.optimize import brentq

        _require_share(share)
        most = _FAR * (1 / self.rate + 1 / self.spare)
        return float(brentq(lambda time: self.sojourn_tail(time) - (1 - share), 0, most, xtol=1e-12))


def _require_share(share: float) -> None:
    if not 0 < share < 1:
        raise InvalidScenario(f"a percentile is over 0 and under 1, not {share}")
