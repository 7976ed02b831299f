"""Faults on demand, drawn from the workload's seed: each sender and receiver has a sequence of its own."""

import random

from rockdove.workload.workload import Faults, Thread


def generator(seed: int, side: str, thread: Thread) -> random.Random:
    """The same for the same seed, whatever the others do and in whichever process."""
    return random.Random(f"{seed}/{side}/{thread.queue}/{thread.number}")


class Dice:
    """Says what goes wrong. What has no probability costs no draw."""

    def __init__(self, faults: Faults, rng: random.Random) -> None:
        self._faults = faults
        self._rng = rng

    def drops_request(self) -> bool:
        return self._falls(self._faults.drop_requests)

    def drops_response(self) -> bool:
        return self._falls(self._faults.drop_responses)

    def crashes(self) -> bool:
        return self._falls(self._faults.crash)

    def _falls(self, probability: float) -> bool:
        return probability > 0.0 and self._rng.random() < probability
