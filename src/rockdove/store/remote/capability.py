"""What a store in another process can do besides the verbs of physical queues."""

from collections.abc import Sequence

from rockdove.core.lease import Holder, Holding, Lease, LeaseName
from rockdove.core.message import Entry
from rockdove.core.publication import Parcel, Partly, PublicationName, Winner
from rockdove.store.base import (
    Appended,
    Decision,
    Done,
    Draft,
    Ended,
    Leased,
    Page,
    Physical,
    Published,
    Scanned,
    Sight,
    Standing,
    Want,
)
from rockdove.store.remote import asked
from rockdove.store.remote.perform import Asks


class RemoteBrowsing:
    """See `rockdove.store.base.Browsing`."""

    def __init__(self, link: Asks) -> None:
        self._ask = link.ask

    def oldest(self, physical: Physical, done: Done[int | None]) -> None:
        self._ask(done, asked.Oldest, physical.record.number)

    def sight(self, physical: Physical, limit: int, done: Done[list[Sight]]) -> None:
        self._ask(done, asked.Sights, physical.record.number, limit)

    def read(self, physical: Physical, ids: Sequence[int], done: Done[list[Entry]]) -> None:
        self._ask(done, asked.Read, physical.record.number, ids)

    def scan(self, physical: Physical, page: Page, done: Done[Scanned]) -> None:
        self._ask(done, asked.Scan, physical.record.number, page)


class RemoteUpkeep:
    """See `rockdove.store.base.Upkeep`."""

    def __init__(self, link: Asks) -> None:
        self._ask = link.ask

    def holding(self) -> None:
        """The owner sees to it."""

    def expire(self, physical: Physical, sent_after_us: int, done: Done[list[int]]) -> None:
        self._ask(done, asked.Expire, physical.record.number, sent_after_us)

    def retime(self, physical: Physical, delay_us: int, done: Done[None]) -> None:
        self._ask(done, asked.Retime, physical.record.number, delay_us)


class RemoteTransfers:
    """See `rockdove.store.base.Transfers`."""

    def __init__(self, link: Asks) -> None:
        self._ask = link.ask

    def transfer(
        self,
        source: Physical,
        ids: Sequence[int],
        target: Physical,
        drafts: Sequence[Draft],
        done: Done[list[Appended]],
    ) -> None:
        self._ask(done, asked.Transfer, source.record.number, ids, target.record.number, drafts)


class RemoteLeases:
    """See `rockdove.store.base.Leases`."""

    def __init__(self, link: Asks) -> None:
        self._ask = link.ask

    def lease(
        self, name: LeaseName, parts: Sequence[Physical], want: Want, even_empty: bool, done: Done[Leased]
    ) -> None:
        numbers = [part.record.number for part in parts]
        self._ask(done, asked.MakeLease, name, numbers, want, even_empty)

    def ack(
        self, queue: str, consumer: str, shard: int | None, sequence: int | None, tell_ids: bool, done: Done[Ended]
    ) -> None:
        self._ask(done, asked.AckLeases, queue, consumer, shard, sequence, tell_ids)

    def release(self, queue: str, consumer: str, forget: bool, done: Done[Ended]) -> None:
        self._ask(done, asked.ReleaseLeases, queue, consumer, forget)

    def page(
        self, queue: str, consumer: str | None, after: tuple[str, int, int] | None, limit: int, done: Done[list[Lease]]
    ) -> None:
        self._ask(done, asked.PageLeases, queue, consumer, after, limit)

    def holders(self, queue: str, consumer: str | None, limit: int, done: Done[list[Holder]]) -> None:
        self._ask(done, asked.ListHolders, queue, consumer, limit)

    def holdings(self, done: Done[dict[str, Holding]]) -> None:
        self._ask(done, asked.ListHoldings)

    def silent(self, before_us: int, done: Done[list[tuple[str, str]]]) -> None:
        self._ask(done, asked.ListSilent, before_us)


class RemotePublications:
    """See `rockdove.store.base.Publications`."""

    def __init__(self, link: Asks) -> None:
        self._ask = link.ask

    def stage(
        self,
        name: PublicationName,
        attempt: str,
        chunk: int,
        parcels: Sequence[Parcel],
        size_bytes: int,
        done: Done[Standing],
    ) -> None:
        self._ask(done, asked.StageChunk, name, attempt, chunk, parcels, size_bytes)

    def look(self, name: PublicationName, attempt: str, done: Done[Standing]) -> None:
        self._ask(done, asked.LookAtPublication, name, attempt)

    def chunks(self, name: PublicationName, attempt: str, done: Done[dict[int, list[Parcel]]]) -> None:
        self._ask(done, asked.ReadChunks, name, attempt)

    def publish(
        self,
        name: PublicationName,
        attempt: str,
        parts: Sequence[tuple[Physical, Sequence[Draft]]],
        done: Done[Published],
    ) -> None:
        numbered = [(physical.record.number, drafts) for physical, drafts in parts]
        self._ask(done, asked.PublishAttempt, name, attempt, numbered)

    def commit(
        self,
        name: PublicationName,
        winners: Sequence[Winner],
        partly: Partly,
        place: Physical,
        done: Done[Decision],
    ) -> None:
        self._ask(done, asked.CommitBatch, name, winners, partly, place.record.number)

    def landed(self, name: PublicationName, done: Done[None]) -> None:
        self._ask(done, asked.AwaitLanding, name)

    def discard(self, name: PublicationName, prefix: str, done: Done[None]) -> None:
        self._ask(done, asked.DiscardStage, name, prefix)
