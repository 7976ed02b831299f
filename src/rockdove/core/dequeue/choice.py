"""Which policy a queue has, and with which settings."""

from enum import StrEnum
from random import Random

from msgspec import Struct

from rockdove.core.dequeue.base import DequeuePolicy
from rockdove.core.dequeue.conventional import MAX_VISITS, Conventional
from rockdove.core.dequeue.pms import MONITOR_S, Pms
from rockdove.core.dequeue.rds import SLEEP_S, Rds
from rockdove.core.dequeue.wake import Wake


class PolicyName(StrEnum):
    """As the attribute RockdoveDequeuePolicy has them."""

    CONVENTIONAL = "conventional"
    PMS = "pms"
    RDS = "rds"
    WAKE = "wake"


class PolicyChoice(Struct, frozen=True):
    """A policy by its name, and all that any policy can be told; without ``sleep_s`` the sleep adapts itself."""

    name: PolicyName = PolicyName.WAKE
    max_visits: int = MAX_VISITS
    monitor_s: float = MONITOR_S
    spread: bool = True
    sleep_s: float | None = SLEEP_S

    def make(self, rng: Random) -> DequeuePolicy:
        match self.name:
            case PolicyName.CONVENTIONAL:
                return Conventional(self.max_visits)
            case PolicyName.PMS:
                return Pms(rng, self.max_visits, self.monitor_s, self.spread)
            case PolicyName.RDS:
                return Rds(self.max_visits, self.sleep_s)
            case PolicyName.WAKE:
                return Wake()
