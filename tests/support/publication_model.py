"""Publishing once, as plainly as can be: what random histories on a store are compared with."""

from dataclasses import dataclass, field

from rockdove.core.limits import REMEMBERED_BATCHES
from rockdove.core.publication import Parcel, Partly, PublicationName, Winner
from rockdove.store.base.publication import Decision, Standing


@dataclass
class PublicationModel:
    """What is staged, by publication, attempt and chunk; and who has published how many, for ever."""

    staged: dict[PublicationName, dict[str, dict[int, list[Parcel]]]] = field(default_factory=dict)
    published: dict[PublicationName, tuple[str, int]] = field(default_factory=dict)
    # What is published as a whole and has not landed: when it was published, and its chunks in their order.
    landing: dict[PublicationName, tuple[int, list[list[Parcel]]]] = field(default_factory=dict)

    def standing(self, name: PublicationName, attempt: str) -> Standing:
        if self._is_old(name):
            return Standing(too_old=True)
        for known in (name, name.whole):
            if known in self.published:
                return Standing(*self.published[known])
        return Standing(None, self._number(name, attempt), False, self._bytes(name, attempt))

    def is_open(self, name: PublicationName) -> bool:
        return not {name, name.whole} & set(self.published) and not self._is_old(name)

    def stage(self, name: PublicationName, attempt: str, chunk: int, parcels: list[Parcel]) -> None:
        if self.is_open(name):
            self.staged.setdefault(name, {}).setdefault(attempt, {})[chunk] = parcels

    def chunks(self, name: PublicationName, attempt: str) -> dict[int, list[Parcel]]:
        return self.staged.get(name, {}).get(attempt, {})

    def publish(self, name: PublicationName, attempt: str, number: int) -> None:
        assert self.is_open(name)
        self.published[name] = (attempt, number)
        self.staged.pop(name, None)

    def commit(self, name: PublicationName, winners: list[Winner], partly: Partly, now_us: int) -> Decision:
        if not self.is_open(name):
            return Decision(0 if self._is_old(name) else self.published[name][1], too_old=self._is_old(name))
        alone = {
            each.partition: number
            for each, (_, number) in self.published.items()
            if (_of(each), each.batch) == (_of(name), name.batch)
        }
        for winner in winners:
            if sorted(self.chunks(name, winner.attempt)) != list(range(winner.chunks)):
                return Decision(missing=winner.attempt)
        numbers = {winner.partition: self._number(name, winner.attempt) for winner in winners}
        left, before = winners, sum(alone.values())
        if not alone or partly == "again":
            before = 0
        elif partly == "skip":
            left = []
        else:
            if partly == "refuse" or any(numbers.get(partition) != number for partition, number in alone.items()):
                return Decision(partly=len(alone))
            left = [winner for winner in winners if winner.partition not in alone]
        chunks = [self.chunks(name, winner.attempt)[at] for winner in left for at in range(winner.chunks)]
        total = before + sum(map(len, chunks))
        self.publish(name, "", total)
        if chunks:
            self.landing[name] = (now_us, chunks)
        return Decision(total, is_new=True)

    def unlanded(self, queue: str) -> int:
        return sum(len(chunk) for name, (_, chunks) in self.landing.items() if name.queue == queue for chunk in chunks)

    def purge(self, queue: str) -> None:
        self.landing = {name: left for name, left in self.landing.items() if name.queue != queue}

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
