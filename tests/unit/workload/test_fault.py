"""Faults fall as often as they should, and the same way for the same seed."""

import pytest

from rockdove.workload.fault import Dice, generator
from rockdove.workload.workload import Faults, Thread

DRAWS = 20_000


def falls(faults: Faults, seed: int = 1, thread: Thread = Thread(0, 0), draws: int = DRAWS) -> list[bool]:  # noqa: B008
    dice = Dice(faults, generator(seed, "receive", thread))
    return [dice.crashes() for _ in range(draws)]


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5])
def test_as_often_as_told(probability: float) -> None:
    number = sum(falls(Faults(crash=probability)))
    # Five standard deviations.
    assert abs(number - DRAWS * probability) < 5 * (DRAWS * probability) ** 0.5


def test_never_without_a_probability() -> None:
    dice = Dice(Faults(), generator(1, "send", Thread(0, 0)))
    assert not any(dice.crashes() or dice.drops_request() or dice.drops_response() for _ in range(1000))


def test_each_knob_turns_its_own_fault() -> None:
    for name, ask in (("drop_requests", "drops_request"), ("drop_responses", "drops_response"), ("crash", "crashes")):
        dice = Dice(Faults(**{name: 0.5}), generator(1, "send", Thread(0, 0)))
        seen = {
            other: any(getattr(dice, other)() for _ in range(100))
            for other in ("drops_request", "drops_response", "crashes")
        }
        assert seen == {other: other == ask for other in seen}


def test_the_seed_repeats_it_and_threads_differ() -> None:
    faults = Faults(crash=0.3)
    assert falls(faults, seed=5) == falls(faults, seed=5)
    assert falls(faults, seed=5) != falls(faults, seed=6)
    assert falls(faults, thread=Thread(0, 1)) != falls(faults, thread=Thread(1, 0))
