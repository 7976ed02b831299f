"""How much is produced, over time: ramps, bursts, a day."""

import math
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

# Messages a second, by seconds.
Production = Callable[[float], float]


class Ramp(Struct, frozen=True):
    """Up from ``least`` to ``most`` by ``slope`` a second, level for ``top_s``, down again if it is to, and level."""

    slope: float
    most: float = 750.0
    least: float = 0.0
    top_s: float = 500.0
    is_back: bool = True
    end_s: float = 300.0

    @property
    def rise_s(self) -> float:
        return (self.most - self.least) / self.slope

    @property
    def duration_s(self) -> float:
        return self.rise_s + self.top_s + (self.rise_s if self.is_back else 0.0) + self.end_s

    def __call__(self, time_s: float) -> float:
        fallen_s = max(time_s - self.rise_s - self.top_s, 0.0) if self.is_back else 0.0
        return max(min(self.least + self.slope * time_s, self.most) - self.slope * fallen_s, self.least)


class Shape(StrEnum):
    """What production is like. RAMP: another one than those of the paper."""

    SLOW = "slow ramp"
    STEEP = "steep ramp"
    RAMP = "ramp"
    BURSTS = "bursts"
    DAY = "day"


def bursts(time_s: float) -> float:
    """150 a second, and 600 for two minutes of every fifteen."""
    return 600.0 if time_s % 900.0 >= 600.0 and time_s % 900.0 < 720.0 else 150.0


def day(time_s: float) -> float:
    """From 50 a second at night to 750 at noon; a day passes in an hour."""
    return 400.0 - 350.0 * math.cos(2 * math.pi * time_s / 3_600.0)
