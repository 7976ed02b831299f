"""Publishing once, as plainly as can be: what random histories on a store are compared with."""

from dataclasses import dataclass, field

from rockdove.core.limits import REMEMBERED_BATCHES
from rockdove.core.publication import Parcel, PublicationName
from rockdove.store.base.publication import Standing


@dataclass
class PublicationModel:
    """What is staged, by publication, attempt and chunk; and who has published how many, for ever."""

    staged: dict[PublicationName, dict[str, dict[int, list[Parcel]]]] = field(default_factory=dict)
    published: dict[PublicationName, tuple[str, int]] = field(default_factory=dict)

    def standing(self, name: PublicationName, attempt: str) -> Standing:
        if self._is_old(name):
            return Standing(None, self._number(name, attempt), True, self._bytes(name, attempt))
        if name in self.published:
            return Standing(*self.published[name])
        return Standing(None, self._number(name, attempt), False, self._bytes(name, attempt))

    def is_open(self, name: PublicationName) -> bool:
        return name not in self.published and not self._is_old(name)

    def stage(self, name: PublicationName, attempt: str, chunk: int, parcels: list[Parcel]) -> None:
        if self.is_open(name):
            self.staged.setdefault(name, {}).setdefault(attempt, {})[chunk] = parcels

    def chunks(self, name: PublicationName, attempt: str) -> dict[int, list[Parcel]]:
        return self.staged.get(name, {}).get(attempt, {})

    def publish(self, name: PublicationName, attempt: str, number: int) -> None:
        assert self.is_open(name)
        self.published[name] = (attempt, number)
        self.staged.pop(name, None)

    def _is_old(self, name: PublicationName) -> bool:
        same = [each.batch for each in self.published if (each.queue, each.application) == _of(name)]
        return bool(same) and name.batch <= max(same) - REMEMBERED_BATCHES

    def _number(self, name: PublicationName, attempt: str) -> int:
        return sum(map(len, self.chunks(name, attempt).values()))

    def _bytes(self, name: PublicationName, attempt: str) -> int:
        return sum(parcel_bytes(parcels) for parcels in self.chunks(name, attempt).values())


def parcel_bytes(parcels: list[Parcel]) -> int:
    return sum(len(parcel.body) for parcel in parcels)


def _of(name: PublicationName) -> tuple[str, str]:
    return name.queue, name.application
