"""Leases of the memory store."""

from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from rockdove.core import ids as entry_ids
from rockdove.core.clock import Clock
from rockdove.core.lease import ALL_SHARDS, Holder, Holding, Lease, LeaseName
from rockdove.store.base import Claimed, Done, Physical, Want
from rockdove.store.base.lease import Ended, Leased, Outcome, left
from rockdove.store.memory.physical import MemoryPhysical
from rockdove.store.memory.pile import Pile
from rockdove.store.memory.tell import tell_soon


class _Consumer(Struct):
    """``ended``: through which sequence the leases of a shard have ended."""

    seen_us: int
    ended: dict[int, int] = field(default_factory=dict)

    def has_ended(self, shard: int, sequence: int) -> bool:
        return sequence <= max(self.ended.get(shard, -1), self.ended.get(ALL_SHARDS, -1))

    def end(self, shard: int, sequence: int) -> None:
        self.ended[shard] = max(sequence, self.ended.get(shard, -1))


class _Kept(Struct):
    made_us: int
    ids: list[int]


class LeasesState(Struct, array_like=True):
    """Leases and consumers as they are written down."""

    leases: list[tuple[LeaseName, int, list[int]]]
    consumers: list[tuple[tuple[str, str], int, dict[int, int]]]


class MemoryLeases:
    """See `rockdove.store.base.lease.Leases`. ``physical`` finds a physical queue by its number."""

    def __init__(self, clock: Clock, physical: Callable[[int], MemoryPhysical | None]) -> None:
        self._clock = clock
        self._physical = physical
        self._leases: dict[LeaseName, _Kept] = {}
        self._consumers: dict[tuple[str, str], _Consumer] = {}

    def state(self) -> "LeasesState":
        leases = [(name, kept.made_us, kept.ids) for name, kept in self._leases.items()]
        return LeasesState(leases, [(key, kept.seen_us, kept.ended) for key, kept in self._consumers.items()])

    def take_state(self, state: "LeasesState") -> None:
        self._leases = {name: _Kept(made_us, ids) for name, made_us, ids in state.leases}
        self._consumers = {key: _Consumer(seen_us, ended) for key, seen_us, ended in state.consumers}

    def drop_queue(self, queue: str) -> None:
        self._leases = {name: kept for name, kept in self._leases.items() if name.queue != queue}
        self._consumers = {key: kept for key, kept in self._consumers.items() if key[0] != queue}

    def knows(self, name: LeaseName) -> bool:
        """Whether there is, or was, a lease of that name."""
        consumer = self._consumers.get((name.queue, name.consumer))
        return name in self._leases or (consumer is not None and consumer.has_ended(name.shard, name.sequence))

    def lease(
        self, name: LeaseName, parts: Sequence[Physical], want: Want, even_empty: bool, done: Done[Leased]
    ) -> None:
        tell_soon(done, self._lease(name, parts, want, even_empty))

    def _lease(self, name: LeaseName, parts: Sequence[Physical], want: Want, even_empty: bool) -> Leased:
        now_us = self._clock.now_us()
        consumer = self._consumers.get((name.queue, name.consumer))
        if consumer is not None:
            consumer.seen_us = now_us
            if consumer.has_ended(name.shard, name.sequence):
                return Leased(Outcome.ENDED, [], 0, [])
        kept = self._leases.get(name)
        if kept is not None:
            found = [entry for id in kept.ids if (pile := self._of(id)) and (entry := pile.find(id)) is not None]
            return Leased(Outcome.AGAIN, found, kept.made_us, [], len(kept.ids))
        claims = self._claim(parts, want)
        entries = [entry for _, claimed in claims for entry in claimed.entries]
        dead = any(claimed.dead for _, claimed in claims)
        if not entries and (not even_empty or dead or not want.limit):
            landing = any(part.is_landing for part in parts if isinstance(part, MemoryPhysical))
            return Leased(Outcome.NOTHING, [], 0, claims, landing=landing)
        self._leases[name] = _Kept(now_us, [entry.id for entry in entries])
        self._consumers.setdefault((name.queue, name.consumer), _Consumer(now_us))
        return Leased(Outcome.MADE, entries, now_us, claims, len(entries))

    def _claim(self, parts: Sequence[Physical], want: Want) -> list[tuple[int, Claimed]]:
        claims: list[tuple[int, Claimed]] = []
        # What is dead must not be met twice.
        want = replace(want, timeout_us=max(want.timeout_us, 1))
        for part in parts:
            number = part.record.number
            physical = self._physical(number)
            if want.limit <= 0 or want.room_bytes <= 0:
                break
            if physical is not None and physical.pile is not None:
                claimed = physical.pile.lease(want)
                physical.hidden(Claimed([], claimed.dead))
                claims.append((number, claimed))
                want = left(want, claimed)
        return claims

    def _pile(self, number: int) -> Pile | None:
        physical = self._physical(number)
        return None if physical is None else physical.pile

    def _of(self, id: int) -> Pile | None:
        return self._pile(entry_ids.physical_of(id))

    def _removed(self, ids: Sequence[int]) -> None:
        for number, part in groupby(sorted(ids), entry_ids.physical_of):
            physical = self._physical(number)
            if physical is not None:
                physical.removed(len(list(part)))

    def ack(
        self, queue: str, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool, done: Done[Ended]
    ) -> None:
        ended = self._end(queue, consumer, shard, sequence)
        gone = [id for id in ended.ids if (pile := self._of(id)) is not None and pile.remove(id, None)]
        ended.messages = len(gone)
        ended.ids = gone if tell_ids else []
        tell_soon(done, ended)
        self._removed(gone)

    def release(self, queue: str, consumer: str, forget: bool, done: Done[Ended]) -> None:
        ended = self._end(queue, consumer, None, None)
        if forget:
            self._consumers.pop((queue, consumer), None)
        tell_soon(done, ended)
        for number, ids in groupby(sorted(ended.ids), entry_ids.physical_of):
            physical = self._physical(number)
            if physical is not None and physical.pile is not None:
                visible = physical.pile.unlease(list(ids))
                ended.messages += visible
                physical.arrived(visible)
        ended.ids = []

    def _end(self, queue: str, name: str, shard: int | None, sequence: int | None) -> Ended:
        """Forget leases, and remember that they were; ``ids`` has their messages."""
        over = [
            lease
            for lease in self._leases
            if (lease.queue, lease.consumer) == (queue, name)
            and shard in (None, lease.shard)
            and (sequence is None or lease.sequence <= sequence)
        ]
        ids = [id for lease in over for id in self._leases.pop(lease).ids]
        last = sequence if sequence is not None else max((lease.sequence for lease in over), default=None)
        consumer = self._consumers.get((queue, name))
        # Of a consumer that nobody has heard of there is nothing to remember.
        if last is not None and consumer is not None:
            consumer.end(ALL_SHARDS if shard is None else shard, last)
            consumer.seen_us = self._clock.now_us()
        return Ended(len(over), 0, ids)

    def page(
        self, queue: str, consumer: str | None, after: tuple[str, int, int] | None, limit: int, done: Done[list[Lease]]
    ) -> None:
        found = [
            Lease(name.consumer, name.shard, name.sequence, len(kept.ids), kept.made_us)
            for name, kept in sorted(self._leases.items(), key=lambda item: item[0])
            if name.queue == queue
            and consumer in (None, name.consumer)
            and (after is None or (name.consumer, name.shard, name.sequence) > after)
        ]
        tell_soon(done, found[:limit])

    def holders(self, queue: str, consumer: str | None, limit: int, done: Done[list[Holder]]) -> None:
        found = [holder for of, holder in self._holders() if of == queue and consumer in (None, holder.consumer)]
        tell_soon(done, sorted(found, key=lambda holder: (holder.seen_us, holder.consumer))[:limit])

    def _holders(self) -> list[tuple[str, Holder]]:
        sums: dict[tuple[str, str], tuple[int, int]] = {}
        for name, kept in self._leases.items():
            leases, messages = sums.get((name.queue, name.consumer), (0, 0))
            sums[name.queue, name.consumer] = (leases + 1, messages + len(kept.ids))
        return [
            (queue, Holder(name, leases, messages, self._consumers[queue, name].seen_us))
            for (queue, name), (leases, messages) in sums.items()
        ]

    def holdings(self, done: Done[dict[str, Holding]]) -> None:
        sums: dict[str, Holding] = {}
        for queue, holder in self._holders():
            so_far = sums.get(queue, Holding(seen_us=holder.seen_us))
            sums[queue] = Holding(
                so_far.consumers + 1,
                so_far.leases + holder.leases,
                so_far.messages + holder.messages,
                min(so_far.seen_us, holder.seen_us),
            )
        tell_soon(done, sums)

    def silent(self, before_us: int, done: Done[list[tuple[str, str]]]) -> None:
        found = [(queue, holder.consumer) for queue, holder in self._holders() if holder.seen_us < before_us]
        tell_soon(done, sorted(found))
