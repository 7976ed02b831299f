"""What was found out about a running system, as ``rockdove calibrate`` writes it and ``rockdove plan`` reads it.

Format 1. A reader refuses other formats, and passes over fields that it does not know: new ones may be added.
"""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from rockdove.capacity.error import CapacityError
from rockdove.capacity.plan.load import Load

FORMAT: Final = 1


class Estimate(Struct, frozen=True):
    """A value, and the bounds of its 95 % interval if they are known."""

    value: float
    low: float | None = None
    high: float | None = None


class Stage(Struct, frozen=True):
    """Service times of senders or broker: services a second of one thread, and their variability.

    `family` is the distribution that fits: exponential, erlang or general.
    """

    rate: Estimate
    scv: Estimate
    family: str = "general"


class Calibration(Struct, frozen=True, kw_only=True):
    """See docs/reference/plan.md for the fields."""

    format: int = FORMAT
    arrival: Estimate
    # Of the times between arrivals, and whether a Poisson process fits them.
    arrival_scv: Estimate = Estimate(1.0)
    poisson: bool = True
    sender: Stage
    broker: Stage
    reliability: Estimate
    link_s: Estimate = Estimate(0.0)
    timeout_s: Estimate = Estimate(0.0)

    def load(self) -> Load:
        """Arrivals that a Poisson process fits are taken for one."""
        return Load(
            arrival=self.arrival.value,
            arrival_scv=1.0 if self.poisson else self.arrival_scv.value,
            sender_rate=self.sender.rate.value,
            sender_scv=self.sender.scv.value,
            broker_rate=self.broker.rate.value,
            broker_scv=self.broker.scv.value,
            q=self.reliability.value,
            link_s=self.link_s.value,
            timeout_s=self.timeout_s.value,
        )


class UnreadableCalibration(CapacityError):
    """The file is no calibration, or of another format."""


def read(path: Path) -> Calibration:
    """Raises `UnreadableCalibration`, and OSError if there is no such file."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Calibration)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableCalibration(f"{path} is no calibration: {error}") from None
    if found.format != FORMAT:
        raise UnreadableCalibration(f"{path} has format {found.format}, and this Rockdove reads format {FORMAT}")
    return found
