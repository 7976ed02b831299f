"""Claims in turns: who has gone before its turn comes claims nothing, and does not hold up the others."""

from typing import Any

from rockdove.broker.claim import Claims
from rockdove.core.errors import StoreError
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import Claimed, Done, Physical, Want


class Place:
    """A physical queue whose claims have their outcomes when the test says so."""

    record = PhysicalRecord(1, "x")

    def __init__(self) -> None:
        self.under_way: list[Done[Claimed]] = []

    def claim(self, want: Want, done: Done[Claimed]) -> None:
        self.under_way.append(done)


class Claimer:
    is_over = False

    def __init__(self) -> None:
        self.outcomes: list[Claimed | StoreError] = []

    def claimed(self, place: Physical, outcome: Claimed | StoreError) -> None:
        self.outcomes.append(outcome)


def test_who_has_gone_claims_nothing() -> None:
    claims, place = Claims(), Place()
    physical: Any = place
    first, gone, last = Claimer(), Claimer(), Claimer()
    for claimer in (first, gone, last):
        claims.claim(physical, Want(1, 0), claimer)
    assert len(place.under_way) == 1, "of a queue that is not known one claim begins at a time"
    gone.is_over = True
    place.under_way.pop()(Claimed([], []))
    assert first.outcomes
    assert gone.outcomes, "it is told, so that it can wake another in its place"
    assert len(place.under_way) == 1
    assert not last.outcomes
    place.under_way.pop()(StoreError("away"))
    assert isinstance(last.outcomes[0], StoreError)
    claims.claim(physical, Want(1, 0), first)
    assert len(place.under_way) == 1, "nothing is left of a turn that nobody took"
