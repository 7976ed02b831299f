"""What the memory store can do besides the verbs: browsing, upkeep, transfers."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rockdove.core.errors import StoreError
from rockdove.core.message import Entry
from rockdove.store.base import Appended, Done, Draft, Page, Physical, Scanned, Sight
from rockdove.store.common.gone import gone
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.pile import Pile
from rockdove.store.memory.tell import tell_soon


def _pile(physical: Physical) -> Pile | None:
    assert isinstance(physical, MemoryPhysical)
    return physical.pile


class MemoryBrowsing:
    """See `rockdove.store.base.Browsing`."""

    def oldest(self, physical: Physical, done: Done[int | None]) -> None:
        pile = _pile(physical)
        tell_soon(done, pile.oldest() if pile else None)

    def sight(self, physical: Physical, limit: int, done: Done[list[Sight]]) -> None:
        pile = _pile(physical)
        tell_soon(done, pile.sight(limit) if pile else [])

    def read(self, physical: Physical, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        pile = _pile(physical)
        found = [pile.find(id) for id in ids] if pile is not None else []
        tell_soon(done, [entry for entry in found if entry is not None])

    def scan(self, physical: Physical, page: Page, done: Done[Scanned]) -> None:
        pile = _pile(physical)
        tell_soon(done, pile.scan(page) if pile else Scanned([], None))


class MemoryUpkeep:
    """See `rockdove.store.base.Upkeep`. ``keys`` are those of the queues that have these physical ones."""

    def __init__(
        self, physical: Mapping[int, MemoryPhysical], keys: Callable[[Iterable[int]], list[tuple[str, str]]]
    ) -> None:
        self._physical = physical
        self._keys = keys

    def holding(self) -> list[tuple[str, str]]:
        return self._keys(number for number, each in self._physical.items() if each.hint().may_hold_any)

    def expire(self, physical: Physical, sent_after_us: int, done: Done[list[int]]) -> None:
        assert isinstance(physical, MemoryPhysical)
        removed = physical.pile.expire(sent_after_us) if physical.pile else []
        tell_soon(done, removed)
        physical.removed(len(removed))

    def retime(self, physical: Physical, delay_us: int, done: Done[None]) -> None:
        assert isinstance(physical, MemoryPhysical)
        if physical.pile:
            physical.pile.retime(delay_us)
        tell_soon(done, None)
        physical.arrived(1)


class MemoryTransfers:
    """See `rockdove.store.base.Transfers`."""

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        assert isinstance(source, MemoryPhysical)
        assert isinstance(target, MemoryPhysical)
        here, there = source.pile, target.pile
        moved: list[Appended] | StoreError
        if there is None or target.refuses(drafts):
            moved = gone()
        else:
            pairs = zip(ids, drafts, strict=True)
            taken = [draft for id, draft in pairs if here is not None and here.remove(id, None)]
            moved = there.append(taken)
            source.removed(len(taken))
            target.appended(taken)
        tell_soon(done, moved)
