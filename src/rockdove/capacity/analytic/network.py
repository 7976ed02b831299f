"""The paper's open network: senders, a link, the broker, a link, and back to the broker with probability 1 - q.

With exponential times it is a Jackson network, and its means are exact without a timeout; the formulas are derived in
docs/explanation/capacity.md.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import gammainc

from rockdove.capacity.analytic.ggn import GGn
from rockdove.capacity.analytic.priority import class_waits_s
from rockdove.capacity.error import InvalidScenario
from rockdove.capacity.vma.scenario import Scenario

SENDERS = "the senders' queue"
BROKER = "the broker's queue"


class Network:
    """The steady state of a scenario, out of order; its duration and warm-up do not matter.

    Raises `Unstable`, which names the smallest stable number of threads.
    """

    def __init__(self, scenario: Scenario, arrival_scv: float = 1.0) -> None:
        s = self.scenario = scenario
        self.sender = GGn(s.arrival, s.sender_rate, s.n1, arrival_scv, s.sender_scv, SENDERS)
        self._unshaped = GGn(s.arrival / s.q, s.broker_rate, s.n2, 1.0, s.broker_scv, BROKER)
        self.broker = GGn(s.arrival / s.q, s.broker_rate, s.n2, self._broker_arrival_scv(), s.broker_scv, BROKER)

    def _broker_arrival_scv(self) -> float:
        """What the senders let go, joined by what was lost: Whitt's network analyzer, solved for one loop."""
        q, p = self.scenario.q, 1 - self.scenario.q
        busy = self._unshaped.utilisation
        streams = 1 / (q * q + p * p)
        weight = 1 / (1 + 4 * (1 - busy) ** 2 * (streams - 1))
        # What comes back is a share p of what leaves: p * scv + 1 - p, and scv is linear in what we look for.
        leaving = self._unshaped.departure_scv
        slope = 1 - busy**2
        back = p * (p * (leaving - slope) + 1 - p)
        scv = (1 - weight + weight * (q * self.sender.departure_scv + back)) / (1 - weight * p * p * slope)
        return max(float(scv), 0.0)

    @property
    def sojourn_s(self) -> float:
        """The paper's W: (N1 + N2) / lambda, so that all visits to the broker count."""
        return (self.sender.mean_number + self.broker.mean_number) / self.scenario.arrival

    @property
    def crossings(self) -> float:
        """How often a message is on the link, on average: once to the broker, and 1/q times from it."""
        return 1 + 1 / self.scenario.q

    @cached_property
    def visibility_wait_s(self) -> float:
        """How long a lost message is invisible when it is known to be lost: E[max(timeout - link - service, 0)]."""
        s = self.scenario
        rest_s = s.timeout_s - s.link_s
        if rest_s <= 0:
            return 0.0
        if s.broker_scv == 0:
            return max(rest_s - 1 / s.broker_rate, 0.0)
        shape = 1 / s.broker_scv
        scaled = rest_s * s.broker_rate * shape
        return float(rest_s * gammainc(shape, scaled) - gammainc(shape + 1, scaled) / s.broker_rate)

    @property
    def losses(self) -> float:
        """How often a message is lost before it is delivered, on average."""
        return (1 - self.scenario.q) / self.scenario.q

    @property
    def delivery_s(self) -> float:
        """Mean time from arrival to delivery."""
        return self.sojourn_s + self.crossings * self.scenario.link_s + self.losses * self.visibility_wait_s

    @property
    def paper_delivery_s(self) -> float:
        """The paper's equation 9, W + (2 + p) D: it counts one retransmission at most, and no wait for the timeout."""
        return self.sojourn_s + (3 - self.scenario.q) * self.scenario.link_s

    @property
    def waiting(self) -> float:
        """Messages that wait for a thread, of senders or broker."""
        return self.sender.mean_waiting + self.broker.mean_waiting

    def class_delivery_s(self, shares: Sequence[float]) -> list[float]:
        """Mean delivery time of each class of messages, the best first, if both queues prefer the better class.

        `shares` are of the arrivals, and add up to 1. What was lost keeps its class.
        """
        s = self.scenario
        if abs(sum(shares) - 1) > 1e-9:
            raise InvalidScenario(f"the shares of the classes must add up to 1, not {sum(shares):g}")
        arrivals = np.asarray(shares) * s.arrival
        before = class_waits_s(list(arrivals), s.sender_rate, s.n1, s.sender_scv)
        behind = class_waits_s(list(arrivals / s.q), s.broker_rate, s.n2, s.broker_scv)
        service_s = 1 / s.sender_rate + 1 / s.broker_rate / s.q
        fixed_s = service_s + self.crossings * s.link_s + self.losses * self.visibility_wait_s
        return [first + second / s.q + fixed_s for first, second in zip(before, behind, strict=True)]
