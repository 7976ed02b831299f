"""Claims of a process that has its store itself: in turns, as those of front-ends are."""

from collections.abc import Callable

from msgspec import Struct

from rockdove.core.errors import StoreError
from rockdove.store.base import Claimed, Physical, Want
from rockdove.store.common.turns import ClaimTurns, within


class _Claim(Struct):
    physical: int
    place: Physical
    want: Want
    done: Callable[[Claimed | StoreError], None]


class Claims:
    """What receives bring at a time is bounded: all that is claimed by one commit becomes answers at once."""

    def __init__(self) -> None:
        self._turns: ClaimTurns[_Claim] = ClaimTurns(self._begin)

    def claim(self, place: Physical, want: Want, done: Callable[[Claimed | StoreError], None]) -> None:
        self._turns.ask(_Claim(place.record.number, place, want, done))

    def _begin(self, claim: _Claim, size: int) -> None:
        def landed(outcome: Claimed | StoreError) -> None:
            try:
                claim.done(outcome)
            finally:
                self._turns.landed(claim.physical, size, outcome if isinstance(outcome, Claimed) else None)

        claim.place.claim(within(claim.want, size, self._turns.is_alone), landed)
