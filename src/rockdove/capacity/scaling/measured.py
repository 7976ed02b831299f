"""What a controller knows when it decides."""

from msgspec import Struct


class Member(Struct, frozen=True):
    """A physical queue whose worker runs.

    ``load``: messages that wait. ``in_flight``: those that its worker has. ``consumed``: what was finished since the
    last round. ``share``: the part of new messages that it gets. If it is not up, it takes no new messages.
    """

    number: int
    load: float
    in_flight: float = 0.0
    consumed: float = 0.0
    share: float = 0.0
    is_up: bool = True

    @property
    def is_empty(self) -> bool:
        return self.load + self.in_flight < 0.5


class Rates(Struct, frozen=True):
    """What was learned of the work, where it is known: arrivals a second, how they grow (a second squared), seconds of
    work for a message, the share of messages whose work fails and is done again, and how long a worker takes to start.
    """

    arrival: float | None = None
    growth: float = 0.0
    service_s: float | None = None
    failure: float = 0.0
    start_s: float = 0.0


class Measured(Struct, frozen=True):
    """At one moment. Members are in the order in which they were added. ``starting``: workers that do not run yet."""

    now_s: float
    period_s: float
    members: tuple[Member, ...]
    starting: int = 0
    rates: Rates = Rates()

    @property
    def workers(self) -> int:
        return len(self.members) + self.starting

    @property
    def average(self) -> float:
        """Load of a physical queue."""
        return sum(member.load for member in self.members) / len(self.members) if self.members else 0.0

    @property
    def backlog(self) -> float:
        return sum(member.load for member in self.members)
