"""How delivery times spread: the sum of waits, services, links and timeouts, as probabilities on a grid of times.

The parts are taken as independent, which they nearly are, and added by Fourier transforms:

    senders + link + first visit, where a visit ends with q after wait + service + link
                                  and else costs wait + max(service + link, timeout), and is followed by another.

What was lost comes back to the head of the queue, so that its wait is that of a better class of messages, and the wait
of the others is longer for it. Waits are zero with the probability that a thread is free, and exponential otherwise.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.fft import irfft, rfft
from scipy.special import gammainc, gammainccinv

from rockdove.capacity.analytic.ggn import GGn
from rockdove.capacity.analytic.network import Network
from rockdove.capacity.analytic.priority import class_waits_s

Array = np.ndarray[Any, Any]

# Cells of the grid.
_CELLS = 1 << 15
# A share of messages that may take longer than the grid reaches.
_BEYOND = 1e-7


def percentiles_s(network: Network, shares: Sequence[float]) -> list[float]:
    """Delivery times that these shares of messages do not exceed, to about a thousandth of the largest."""
    step_s = _reach_s(network) / _CELLS
    reached = np.cumsum(_probabilities(network, step_s))
    # Between the cells that a percentile lies between, evenly.
    edges = (np.arange(_CELLS) + 0.5) * step_s
    return [float(np.interp(share, reached / reached[-1], edges)) for share in shares]


def _probabilities(network: Network, step_s: float) -> Array:
    s = network.scenario
    edges = (np.arange(_CELLS + 1) - 0.5) * step_s
    fresh_s, back_s = _broker_waits_s(network)
    busy = network.broker.delay_probability
    first, again = _wait(busy, fresh_s, edges), _wait(busy, back_s, edges)
    service = _service(s.broker_rate, s.broker_scv, edges - s.link_s)
    failed = np.where(edges < s.timeout_s, 0.0, service)
    sending = _transform(_service(s.sender_rate, s.sender_scv, edges - s.link_s))
    sent = sending * _transform(_wait(network.sender.delay_probability, network.sender.mean_wait_s, edges))
    done, lost = s.q * _transform(service), (1 - s.q) * _transform(failed)
    retried = _transform(again)
    rest = retried * done / (1 - retried * lost)
    whole = sent * _transform(first) * (done + lost * rest)
    return np.asarray(np.maximum(irfft(whole, 2 * _CELLS)[:_CELLS], 0))


def _transform(cumulative: Array) -> Array:
    """Of the probabilities of the cells, with room behind them for what goes over the end."""
    return np.asarray(rfft(np.diff(cumulative), 2 * _CELLS))


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
    # Their mean is that of the station, whatever arrives how.
    scale = broker.mean_wait_s / (s.q * worse + (1 - s.q) * better)
    return worse * scale, better * scale


def _reach_s(network: Network) -> float:
    """A time that hardly a message exceeds, from above."""
    s = network.scenario
    rare = float(np.log(1 / _BEYOND))
    losses = 0.0 if s.q == 1 else float(np.ceil(rare / np.log(1 / (1 - s.q))))

    def wait_s(station: GGn) -> float:
        return rare * station.wait_factor / station.markov.spare

    def service_s(rate: float, scv: float) -> float:
        return 1 / rate if scv == 0 else float(gammainccinv(1 / scv, _BEYOND) * scv / rate)

    broker_s = max(service_s(s.broker_rate, s.broker_scv) + s.link_s, s.timeout_s)
    # Repeated long services are rarer than the product of each.
    tail_s = wait_s(network.sender) + service_s(s.sender_rate, s.sender_scv) + s.link_s
    tail_s += wait_s(network.broker) + broker_s
    again_s = max(1 / s.broker_rate + s.link_s, s.timeout_s) + network.broker.mean_wait_s
    return tail_s + losses * again_s
