"""Figures in words, for people."""

from typing import Any

NOTHING = "–"  # noqa: RUF001


def short(value: Any) -> str:
    """``12345`` is ``12.3k``."""
    if value is None:
        return NOTHING
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            divisor = 1e3 if unit == "k" else limit
            return f"{value / divisor:.3g}{unit}"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(value: Any) -> str:
    if value is None:
        return NOTHING
    if value == 0:
        return "0 %"
    return f"{value * 100:.3g} %" if value >= 0.0001 else "under 0.01 %"


def milliseconds(value: Any) -> str:
    if value is None:
        return NOTHING
    if value >= 600_000:
        return f"{value / 60_000:.3g} min"
    return f"{value / 1000:.3g} s" if value >= 1000 else f"{value:.3g} ms"
