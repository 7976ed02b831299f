"""What can be wrong with the question that a model is asked."""

from numbers import Integral

from rockdove.core.errors import RockdoveError

# More threads than anybody has: numbers beyond are mistakes, and would overflow.
MOST_THREADS = 1_000_000
# No rate, time or cost is smaller or greater: squares of what is beyond would overflow.
_LEAST, _MOST = 1e-12, 1e12


class CapacityError(RockdoveError):
    """A model cannot answer; the message says what to ask instead."""


class InvalidScenario(CapacityError):
    """A value that no system has, such as a rate of zero; `name` is that of the field, if it is one."""

    def __init__(self, text: str, name: str | None = None) -> None:
        self.text = text
        self.name = name
        super().__init__(text if name is None else f"{name} {text}")


class Untold(CapacityError):
    """What was measured does not tell what is asked for; the message says of what, and why."""


def require_positive(**values: float) -> None:
    """Raises `InvalidScenario`; the names are those of the arguments."""
    for name, value in values.items():
        # Written so that NaN fails.
        if not 0 < value < float("inf"):
            raise InvalidScenario(f"must be a number over 0, not {value:g}", name)
        if not _LEAST <= value <= _MOST:
            raise InvalidScenario(f"must be between {_LEAST:g} and {_MOST:g}, not {value:g}", name)


def require_not_negative(**values: float) -> None:
    """Raises `InvalidScenario`."""
    for name, value in values.items():
        if not 0 <= value < float("inf"):
            raise InvalidScenario(f"must be a number of 0 or more, not {value:g}", name)
        if value > _MOST:
            raise InvalidScenario(f"must be at most {_MOST:g}, not {value:g}", name)


def require_whole(**values: int) -> None:
    """Raises `InvalidScenario`."""
    for name, value in values.items():
        if not isinstance(value, Integral) or value < 1:
            raise InvalidScenario(f"must be a whole number of 1 or more, not {value}", name)


def require_probability(**values: float) -> None:
    """Of what happens at last. Raises `InvalidScenario`."""
    for name, value in values.items():
        if not 0 < value <= 1:
            raise InvalidScenario(f"must be over 0 and at most 1, not {value:g}", name)


class Unstable(CapacityError):
    """More arrives than the threads can do: the queue grows without end, and there are no means to speak of."""

    def __init__(self, what: str, arrival: float, rate: float, threads: int) -> None:
        self.smallest = smallest_stable(arrival, rate)
        many = "1 thread does" if threads == 1 else f"{threads} threads do"
        super().__init__(
            f"{what} is not stable: {arrival:.6g} messages/s arrive, and {many} {threads * rate:.6g}; "
            f"the smallest stable number of threads is {self.smallest}"
        )


def smallest_stable(arrival: float, rate: float) -> int:
    """The fewest threads, of so many services a second each, that do more than arrives. Raises `InvalidScenario`."""
    if arrival / rate >= MOST_THREADS:
        raise InvalidScenario(
            f"{arrival:g} messages/s, of which a thread does {rate:g}, would take more than {MOST_THREADS:,} threads"
        )
    threads = int(arrival / rate)
    while threads * rate <= arrival:
        threads += 1
    return threads
