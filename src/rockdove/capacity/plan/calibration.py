"""What was found out about a running system, as ``rockdove calibrate`` writes it and ``rockdove plan`` reads it.

Format 1. A reader refuses other formats, and passes over fields that it does not know: new ones may be added.
"""

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from rockdove.capacity.error import CapacityError
from rockdove.capacity.estimate import Estimate
from rockdove.capacity.fit.arrival import Poisson
from rockdove.capacity.plan.load import Load

FORMAT: Final = 1


class Stage(Struct, frozen=True, kw_only=True):
    """Service times of senders or broker: services a second of one thread, and their variability.

    `family` is the distribution that fits: exponential, erlang or general.
    """

    rate: Estimate
    scv: Estimate
    family: str = "general"
    # Erlang's.
    phases: int | None = None
    # Of each family: the Kolmogorov-Smirnov distance.
    distances: dict[str, float] = {}
    mean_s: Estimate | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None
    # How many were measured.
    services: int | None = None


class Basis(Struct, frozen=True, kw_only=True):
    """What a calibration stands on: times are in ISO 8601, deliveries are those that could succeed or fail in time."""

    first: str
    last: str
    queues: int
    arrivals: int
    deliveries: int
    failures: int


class Calibration(Struct, frozen=True, kw_only=True):
    """See docs/reference/calibration.md for the fields."""

    format: int = FORMAT
    arrival: Estimate
    # Of the times between arrivals, and whether a Poisson process fits them.
    arrival_scv: Estimate = Estimate(1.0)
    poisson: bool = True
    poisson_tests: Poisson | None = None
    sender: Stage
    broker: Stage
    reliability: Estimate
    # None where it could not be told; `notes` says why.
    link_s: Estimate | None = None
    timeout_s: Estimate | None = None
    # Measured, and not used for plans: from the moment when the service had a message to its delete.
    delivery_s: Estimate | None = None
    basis: Basis | None = None
    notes: list[str] = []

    def load(self) -> Load:
        """Arrivals that a Poisson process fits are taken for one; what is not known is 0."""
        return Load(
            arrival=self.arrival.value,
            arrival_scv=1.0 if self.poisson else self.arrival_scv.value,
            sender_rate=self.sender.rate.value,
            sender_scv=self.sender.scv.value,
            broker_rate=self.broker.rate.value,
            broker_scv=self.broker.scv.value,
            q=self.reliability.value,
            link_s=0.0 if self.link_s is None else self.link_s.value,
            timeout_s=0.0 if self.timeout_s is None else self.timeout_s.value,
        )


class _Head(Struct, frozen=True):
    format: int


class UnreadableCalibration(CapacityError):
    """The file is no calibration, or of another format."""


def read(path: Path) -> Calibration:
    """Raises `UnreadableCalibration`, and OSError if there is no such file."""
    return decode(path.read_bytes(), str(path))


def decode(content: bytes | str, name: str) -> Calibration:
    """Raises `UnreadableCalibration`, which calls it by that name."""
    try:
        # Before the rest: fields of another format may be different ones.
        written = msgspec.json.decode(content, type=_Head).format
        if written != FORMAT:
            raise UnreadableCalibration(f"{name} has format {written}, and this Rockdove reads format {FORMAT}")
        return msgspec.json.decode(content, type=Calibration)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableCalibration(f"{name} is no calibration: {error}") from None
