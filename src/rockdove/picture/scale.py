"""Axes: from values to places on a picture, and where the marks go."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


class Scale(NamedTuple):
    """From `low` to `high`, evenly, or by powers of ten."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.log:
            value = max(value, self.low)
            return (math.log10(value) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return (value - self.low) / (self.high - self.low)

    def marks(self) -> list[float]:
        if self.log:
            return _powers(self.low, self.high)
        step = _step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        return [step * number for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def linear(values: Sequence[float], least: float) -> Scale:
    """From zero to a round number; `least` keeps an axis of zeros from being blown up."""
    high = max([*values, least])
    step = _step(high / 4)
    return Scale(0, math.ceil(high / step - 1e-9) * step)


def powers(values: Sequence[float]) -> Scale:
    """Whole decades around the values."""
    positive = [value for value in values if value > 0] or [1.0]
    low = 10.0 ** math.floor(math.log10(min(positive)))
    high = 10.0 ** math.ceil(math.log10(max(positive)))
    return Scale(low, high if high > low else low * 10, log=True)


def _powers(low: float, high: float) -> list[float]:
    decades = range(round(math.log10(low)), round(math.log10(high)) + 1)
    # With few decades, marks between them.
    inner = (1, 2, 5) if len(decades) <= 3 else (1,)
    return [mark for power in decades for digit in inner if low <= (mark := digit * 10.0**power) <= high * 1.0001]


def _step(about: float) -> float:
    power = 10.0 ** math.floor(math.log10(about))
    return next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= about * 0.999)


def numbers(low: float, high: float) -> list[tuple[float, str]]:
    """Marks of an axis of numbers with their words."""
    return [(mark, f"{mark:,.6g}") for mark in Scale(low, high).marks()]


def counts(low: float, high: float) -> list[tuple[float, str]]:
    """Marks of an axis of whole numbers with their words."""
    return [(mark, f"{mark:,.0f}") for mark in Scale(low, high).marks() if mark == round(mark)]


def clock(first_s: float, last_s: float) -> list[tuple[float, str]]:
    """Marks of a time axis with their words, in UTC."""
    length = max(last_s - first_s, 1e-6)
    step = next((step for step in _STEPS_S if length / step <= 6), 86_400 * math.ceil(length / 86_400 / 6))
    form = "%d %b" if step >= 86_400 else "%d %b %H:%M" if length > 86_400 else "%H:%M" if step >= 60 else "%H:%M:%S"
    first = math.ceil(first_s / step)
    moments = [step * number for number in range(first, math.floor(last_s / step) + 1)]
    return [(moment, datetime.fromtimestamp(moment, UTC).strftime(form)) for moment in moments]
