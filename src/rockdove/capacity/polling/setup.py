"""The system that is simulated: Table 1 of the paper, and what it leaves open.

Chosen here, because the paper does not say it:

- Messages come at 1,000 a second. An E-Ctrl has one enqueue outstanding, so that enqueues and visits compete for a
  physical queue's time; what it cannot enqueue waits with it.
- A physical queue is one server, first come, first served, for enqueues, visits and looks at its counter. What a visit
  takes is decided when the visit begins.
- A D-Ctrl works on at most ten requests, and those that sleep count: the others wait for a place, in order.
- RDS holds a request after a round of three visits that found nothing.
- PMS: every D-Ctrl looks at all counters ten times a second, at a moment of its own. A queue is worth a visit if it had
  a message. As in the paper, requests are not spread.
- A run begins empty; its first tenth does not count.
"""

from random import Random
from typing import Final

from msgspec import Struct

from rockdove.capacity.error import InvalidScenario
from rockdove.core.dequeue import DequeuePolicy, PolicyChoice, PolicyName

WARM_UP: Final = 0.1


class Setup(Struct, frozen=True, kw_only=True):
    """One system; times in seconds, rates per second."""

    policy: PolicyName
    # Requests of one consumer.
    rate: float
    sleep_s: float = 0.0
    monitor_s: float = 0.1
    spread: bool = False
    duration_s: float = 100.0
    enqueuers: int = 10
    queues: int = 10
    consumers: int = 10
    messages: float = 1_000.0
    most: int = 100
    max_visits: int = 3
    open_requests: int = 10
    enqueue_s: float = 0.001
    visit_s: float = 0.02
    message_s: float = 0.001
    look_s: float = 0.0001

    def __post_init__(self) -> None:
        for name in ("rate", "duration_s", "messages", "monitor_s"):
            if not getattr(self, name) > 0:
                raise InvalidScenario(f"{name} must be above 0, not {getattr(self, name):g}")
        if self.policy is PolicyName.RDS and not self.sleep_s > 0:
            raise InvalidScenario(f"sleep_s must be above 0, not {self.sleep_s:g}")

    def make_policy(self, rng: Random) -> DequeuePolicy:
        return PolicyChoice(self.policy, self.max_visits, self.monitor_s, self.spread, self.sleep_s).make(rng)
