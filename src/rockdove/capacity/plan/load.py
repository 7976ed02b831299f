"""What a plan is for: what arrives, how long a service takes, and how much is lost."""

from msgspec import Struct

from rockdove.capacity.analytic.network import Network
from rockdove.capacity.error import smallest_stable
from rockdove.capacity.vma.scenario import Scenario


class Load(Struct, frozen=True, kw_only=True):
    """All of a scenario but its threads; rates are per second. See `rockdove.capacity.vma.scenario.Scenario`."""

    arrival: float
    sender_rate: float
    broker_rate: float
    q: float = 1.0
    link_s: float = 0.0
    timeout_s: float = 0.0
    sender_scv: float = 1.0
    broker_scv: float = 1.0
    # Of the times between arrivals; 1 for a Poisson process.
    arrival_scv: float = 1.0

    def scenario(self, n1: int, n2: int, duration_s: float = 100.0, warm_up_s: float = 0.0) -> Scenario:
        """Raises `InvalidScenario`."""
        return Scenario(
            arrival=self.arrival,
            sender_rate=self.sender_rate,
            broker_rate=self.broker_rate,
            n1=n1,
            n2=n2,
            q=self.q,
            link_s=self.link_s,
            timeout_s=self.timeout_s,
            sender_scv=self.sender_scv,
            broker_scv=self.broker_scv,
            duration_s=duration_s,
            warm_up_s=warm_up_s,
        )

    def network(self, n1: int, n2: int) -> Network:
        """Raises `InvalidScenario` and `Unstable`."""
        return Network(self.scenario(n1, n2), self.arrival_scv)

    def fewest(self) -> tuple[int, int]:
        """The smallest numbers of threads that are stable. Raises `InvalidScenario`."""
        self.scenario(1, 1)
        return smallest_stable(self.arrival, self.sender_rate), smallest_stable(self.arrival / self.q, self.broker_rate)

    def ample(self) -> tuple[int, int]:
        """Numbers of threads with which hardly a message waits: more change nothing."""
        n1, n2 = self.fewest()
        while self.network(n1, n2).sender.delay_probability > _HARDLY:
            n1 += max(n1 // 16, 1)
        while self.network(n1, n2).broker.delay_probability > _HARDLY:
            n2 += max(n2 // 16, 1)
        return n1, n2


# A share of messages that nobody notices.
_HARDLY = 1e-6
