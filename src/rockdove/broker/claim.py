"""Claims in turns, so that what receives bring at a time is bounded."""

from typing import Protocol

from msgspec import Struct

from rockdove.core.errors import StoreError
from rockdove.store.base import Claimed, Physical, Want
from rockdove.store.common.turns import ClaimTurns, within


class Claimer(Protocol):
    """Who claims."""

    @property
    def is_over(self) -> bool:
        """Whether nobody wants its outcome any more."""

    def claimed(self, place: Physical, outcome: Claimed | StoreError) -> None: ...


class _Claim(Struct):
    physical: int
    place: Physical
    want: Want
    claimer: Claimer


class Claims:
    """All that is claimed by one commit becomes answers at once. Who has gone before its turn comes claims nothing."""

    def __init__(self) -> None:
        self._turns: ClaimTurns[_Claim] = ClaimTurns(self._begin)

    def claim(self, place: Physical, want: Want, claimer: Claimer) -> None:
        self._turns.ask(_Claim(place.record.number, place, want, claimer))

    @property
    def waiting(self) -> int:
        """How many have not begun."""
        return self._turns.waiting

    def go_on(self) -> None:
        """There may be more room than there was."""
        self._turns.go_on()

    def _begin(self, claim: _Claim, size: int) -> None:
        if claim.claimer.is_over:
            self._landed(claim, size, None, Claimed([], []))
            return

        def landed(outcome: Claimed | StoreError) -> None:
            self._landed(claim, size, outcome if isinstance(outcome, Claimed) else None, outcome)

        claim.place.claim(within(claim.want, size, self._turns.is_alone), landed)

    def _landed(self, claim: _Claim, size: int, brought: Claimed | None, outcome: Claimed | StoreError) -> None:
        try:
            claim.claimer.claimed(claim.place, outcome)
        finally:
            self._turns.landed(claim.physical, size, brought)
