"""How delivery times spread: the sum of waits, services, links and timeouts, as probabilities on a grid of times.

The parts are taken as independent, which they nearly are, and added by Fourier transforms, for each number of losses:

    senders + link + first visit, where a visit ends with q after wait + service + link
                                  and else costs wait + max(service + link, timeout), and is followed by another.

What was lost comes back to the head of the queue, so that its wait is that of a better class of messages, and the wait
of the others is longer for it. Waits are zero with the probability that a thread is free, and exponential otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.fft import irfft, rfft
from scipy.special import gammainc, gammainccinv

from rockdove.capacity.analytic.ggn import GGn
from rockdove.capacity.analytic.network import Network
from rockdove.capacity.analytic.priority import class_waits_s
from rockdove.capacity.error import InvalidScenario

Array = np.ndarray[Any, Any]

# Cells of the grid.
_CELLS = 1 << 15
# A share of messages that may take longer than the grid reaches.
_BEYOND = 1e-7
# How far over a share the probability must come: one that is reached only by rounding, before a jump, is not reached.
_OVER = 1e-6
# Losses that are looked at one by one; where more of them matter, they are summed up on one grid.
_LOSSES = 64
# Below, the cells of that grid would be too wide.
_LEAST_Q = 0.01


def percentiles_s(network: Network, shares: Sequence[float]) -> list[float]:
    """Delivery times that these shares of messages do not exceed, to about a thousandth of the largest.

    Timeouts do not count for that as long as most deliveries succeed. Raises `InvalidScenario` if hardly one does.
    """
    q, losses = network.scenario.q, _losses(network)
    if q < _LEAST_Q:
        raise InvalidScenario(f"must be {_LEAST_Q} or more for percentiles, not {q:g}", "q")
    if losses <= _LOSSES:
        return _by_losses(network, losses).percentiles_s(shares)
    return _together(network, losses).percentiles_s(shares)


@dataclass(frozen=True)
class _Mixture:
    """Kinds of messages, one a row: `reached` is the probability up to a cell's end, `later_s` when a row begins."""

    reached: Array
    later_s: Array
    step_s: float

    def percentiles_s(self, shares: Sequence[float]) -> list[float]:
        whole = self.reached[:, -1].sum()
        return [self._percentile_s(min(share + _OVER, 1 - _OVER) * whole) for share in shares]

    def _percentile_s(self, level: float) -> float:
        low, high = 0.0, float(self.later_s[-1]) + _CELLS * self.step_s
        while high - low > self.step_s / 1024 and low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if self._probability(middle) >= level else (middle, high)
        return high

    def _probability(self, time_s: float) -> float:
        """That a message takes no longer; what is in a cell is spread evenly over it."""
        place = np.clip((time_s - self.later_s) / self.step_s + 0.5, 0, _CELLS)
        cell = np.minimum(place.astype(int), _CELLS - 1)
        rows = np.arange(len(cell))
        before = np.where(cell > 0, self.reached[rows, cell - 1], 0.0)
        return float((before + (place - cell) * (self.reached[rows, cell] - before)).sum())


def _by_losses(network: Network, losses: int) -> _Mixture:
    """A row for each number of losses: without their timeouts, all rows are about as long as a few services."""
    s = network.scenario
    step_s = _reach_s(network, losses, 0.0) / _CELLS
    parts = _Parts(network, step_s)
    late = parts.transform(parts.visit(s.timeout_s))
    rows, here = [], s.q * parts.sent * parts.first
    for _ in range(losses + 1):
        rows.append(_cumulated(here * parts.done))
        here = here * (1 - s.q) * late * parts.again
    return _Mixture(np.array(rows), np.arange(losses + 1) * s.timeout_s, step_s)


def _together(network: Network, losses: int) -> _Mixture:
    """One row for all, on a grid that a timeout is a whole number of cells of: else errors of many would add up."""
    s = network.scenario
    step_s = _reach_s(network, losses, s.timeout_s) / _CELLS
    if s.timeout_s > step_s:
        step_s = s.timeout_s / int(s.timeout_s / step_s)
    parts = _Parts(network, step_s)
    late = parts.transform(np.where(parts.edges < s.timeout_s, 0.0, parts.visit(0.0)))
    lost = (1 - s.q) * late * parts.again
    whole = s.q * parts.sent * parts.first * parts.done / (1 - lost)
    return _Mixture(_cumulated(whole)[np.newaxis], np.zeros(1), step_s)


class _Parts:
    """What a delivery time is made of, as transforms of the probabilities of the cells."""

    def __init__(self, network: Network, step_s: float) -> None:
        self._scenario = s = network.scenario
        self.edges = (np.arange(_CELLS + 1) - 0.5) * step_s
        fresh_s, back_s = _broker_waits_s(network)
        busy = network.broker.delay_probability
        sending = self.transform(_service(s.sender_rate, s.sender_scv, self.edges - s.link_s))
        waiting = _wait(network.sender.delay_probability, network.sender.mean_wait_s, self.edges)
        self.sent = sending * self.transform(waiting)
        self.first = self.transform(_wait(busy, fresh_s, self.edges))
        self.again = self.transform(_wait(busy, back_s, self.edges))
        self.done = self.transform(self.visit(0.0))

    def visit(self, less_s: float) -> Array:
        """Service and link, by how much they take longer than that."""
        s = self._scenario
        found = _service(s.broker_rate, s.broker_scv, self.edges + less_s - s.link_s)
        return np.where(self.edges < 0, 0.0, found)

    def transform(self, cumulative: Array) -> Array:
        """With room behind the cells for what goes over the end."""
        return np.asarray(rfft(np.diff(cumulative), 2 * _CELLS))


def _cumulated(transformed: Array) -> Array:
    return np.asarray(np.cumsum(np.maximum(irfft(transformed, 2 * _CELLS)[:_CELLS], 0)))


def _wait(busy: float, mean_s: float, edges: Array) -> Array:
    # Where all threads are hardly ever busy together, both are too small for a number.
    if mean_s <= 0 or busy <= 0:
        return np.where(edges < 0, 0.0, 1.0)
    return np.where(edges < 0, 0.0, 1 - busy * np.exp(-np.maximum(edges, 0) * busy / mean_s))


def _service(rate: float, scv: float, edges: Array) -> Array:
    if scv == 0:
        return np.where(edges < 1 / rate, 0.0, 1.0)
    return np.asarray(gammainc(1 / scv, np.maximum(edges, 0) * rate / scv))


def _broker_waits_s(network: Network) -> tuple[float, float]:
    """Of what comes for the first time, and of what comes back."""
    s, broker = network.scenario, network.broker
    if s.q == 1:
        return broker.mean_wait_s, 0.0
    back = s.arrival * (1 - s.q) / s.q
    better, worse = class_waits_s([back, s.arrival], s.broker_rate, s.n2, s.broker_scv)
    mean_s = s.q * worse + (1 - s.q) * better
    if mean_s == 0:
        # With so many threads that waits are too small for a number.
        return 0.0, 0.0
    # Their mean is that of the station, whatever arrives how.
    scale = broker.mean_wait_s / mean_s
    return worse * scale, better * scale


def _losses(network: Network) -> int:
    """More than that hardly a message has."""
    q = network.scenario.q
    return 0 if q == 1 else int(np.ceil(np.log(_BEYOND) / np.log1p(-q)))


def _reach_s(network: Network, losses: int, timeout_s: float) -> float:
    """A time that hardly a message exceeds, from above."""
    s = network.scenario
    rare = float(np.log(1 / _BEYOND))

    def wait_s(station: GGn) -> float:
        return rare * station.wait_factor / station.markov.spare

    def service_s(rate: float, scv: float) -> float:
        return 1 / rate if scv == 0 else float(gammainccinv(1 / scv, _BEYOND) * scv / rate)

    broker_s = max(service_s(s.broker_rate, s.broker_scv) + s.link_s, timeout_s)
    # Repeated long services are rarer than the product of each.
    tail_s = wait_s(network.sender) + service_s(s.sender_rate, s.sender_scv) + s.link_s
    tail_s += wait_s(network.broker) + broker_s
    again_s = max(1 / s.broker_rate + s.link_s, timeout_s) + network.broker.mean_wait_s
    return tail_s + losses * again_s
