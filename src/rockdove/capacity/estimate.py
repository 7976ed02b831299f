"""A number that was measured, and how far it may be off."""

from msgspec import Struct


class Estimate(Struct, frozen=True):
    """A value, and the bounds of its 95 % interval if they are known."""

    value: float
    low: float | None = None
    high: float | None = None

    def __contains__(self, value: float) -> bool:
        """Whether it may be this value; a bound that is not known bounds nothing."""
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)

    def inverse(self) -> "Estimate":
        """Of one divided by it: a rate of a mean time. Both are over 0."""
        high = 1 / self.low if self.low is not None and self.low > 0 else None
        return Estimate(1 / self.value, None if self.high is None else 1 / self.high, high)
