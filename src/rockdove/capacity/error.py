"""What can be wrong with the question that a model is asked."""

from rockdove.core.errors import RockdoveError


class CapacityError(RockdoveError):
    """A model cannot answer; the message says what to ask instead."""


class InvalidScenario(CapacityError):
    """A value that no system has, such as a rate of zero."""


def require_positive(**values: float) -> None:
    """Raises `InvalidScenario`; the names are those of the arguments."""
    for name, value in values.items():
        # Written so that NaN fails.
        if not 0 < value < float("inf"):
            raise InvalidScenario(f"{name} must be a number over 0, not {value}")


def require_not_negative(**values: float) -> None:
    """Raises `InvalidScenario`."""
    for name, value in values.items():
        if not 0 <= value < float("inf"):
            raise InvalidScenario(f"{name} must be a number of 0 or more, not {value}")


def require_threads(**values: int) -> None:
    """Raises `InvalidScenario`."""
    for name, value in values.items():
        if value < 1:
            raise InvalidScenario(f"{name} must be 1 or more, not {value}")


def require_probability(**values: float) -> None:
    """Of what happens at last. Raises `InvalidScenario`."""
    for name, value in values.items():
        if not 0 < value <= 1:
            raise InvalidScenario(f"{name} must be over 0 and at most 1, not {value}")
