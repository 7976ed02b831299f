"""What is simulated, and what comes out: the same for every engine.

All engines mean the same by it.

1. Messages arrive by a Poisson process and are numbered in that order. They wait, first come first served, for one of
   `n1` sender threads, which is busy for one service time. Then the message is on the link for `link_s`.
2. Out of order, it then joins the tail of the broker's queue. In order, it joins once every message with a smaller
   number has reached the broker, and those that were held for it join behind it, by number.
3. A broker thread that is free takes the head of the queue: its visibility timeout starts. The thread is busy for one
   service time, then the message is on the link for `link_s`.
4. With probability `q` it is delivered then; `delivery_s` is that moment less the arrival. Otherwise it is lost there,
   and visible again, at the head of the broker's queue, when its timeout is over, but not before it was lost: a timeout
   that is shorter than the attempt does not make duplicates. Younger messages may pass it meanwhile, in order, too.
5. The run starts empty and ends at `duration_s`. What is delivered from `warm_up_s` on counts, and so do the means over
   time from then on.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from rockdove.capacity.error import (
    InvalidScenario,
    require_not_negative,
    require_positive,
    require_probability,
    require_whole,
)


class Option(StrEnum):
    """The order in which the broker gives messages out."""

    IN_ORDER = "in_order"
    OUT_OF_ORDER = "out_of_order"


class Scenario(Struct, frozen=True, kw_only=True):
    """One system and one run of it; rates are per second.

    Service times follow a gamma distribution with mean `1 / rate` and squared coefficient of variation `scv`: 1 is
    exponential, 1/k is Erlang with k phases, 0 is constant, and every other value is as variable as it says.

    Raises `InvalidScenario`.
    """

    arrival: float
    sender_rate: float
    broker_rate: float
    n1: int
    n2: int
    q: float = 1.0
    link_s: float = 0.0
    timeout_s: float = 0.0
    option: Option = Option.OUT_OF_ORDER
    duration_s: float = 100.0
    warm_up_s: float = 0.0
    sender_scv: float = 1.0
    broker_scv: float = 1.0

    def __post_init__(self) -> None:
        require_positive(
            arrival=self.arrival,
            sender_rate=self.sender_rate,
            broker_rate=self.broker_rate,
            duration_s=self.duration_s,
        )
        require_not_negative(
            link_s=self.link_s,
            timeout_s=self.timeout_s,
            warm_up_s=self.warm_up_s,
            sender_scv=self.sender_scv,
            broker_scv=self.broker_scv,
        )
        require_whole(n1=self.n1, n2=self.n2)
        require_probability(q=self.q)
        if self.warm_up_s >= self.duration_s:
            raise InvalidScenario(f"warm_up_s is {self.warm_up_s}, and the run ends at {self.duration_s} s")


class Measure(Struct, frozen=True, kw_only=True):
    """What one run gave. Means over time are over what follows the warm-up.

    `waiting` counts messages that wait for a thread, of senders or broker, with those that in-order holds back, and
    without those that are on the link or invisible.
    """

    # Mean time from arrival to delivery; NaN if nothing was delivered.
    delivery_s: float
    waiting: float
    # Mean share of threads that are busy.
    busy_sender: float
    busy_broker: float
    # Share of the time with at least one thread busy.
    active_sender: float
    active_broker: float
    delivered: int


# The figures that the experiments are about.
METRICS: Final = ("delivery_s", "waiting", "busy_sender", "busy_broker", "active_sender", "active_broker")
