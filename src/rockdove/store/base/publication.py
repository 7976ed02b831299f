"""What every store does for publishing once; the rules of `rockdove.store.base.store` hold.

Attempts stage chunks. Of attempts at a partition the first that publishes wins: all that it brings is appended in one
step with a record of it. Of attempts at a whole batch (`WHOLE` in place of the partition) somebody names those that
count. That is decided in one step, however large they are; then their chunks *land*, one after the other, while others
are served. Counts have them from the decision on.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from rockdove.core.publication import Landing, Parcel, Partly, PublicationName, Winner
from rockdove.store.base.done import Done
from rockdove.store.base.physical import Appended, Draft, Physical


class Standing(Struct, array_like=True):
    """How things stand with a publication.

    winner: the attempt that has published it, and ``messages`` how many; else None, and ``messages`` that the attempt
    which asks has staged.
    too_old: it is too far behind the newest of its application for anybody to know; the rest is then left out.
    bytes: what the attempt has staged.
    """

    winner: str | None = None
    messages: int = 0
    too_old: bool = False
    bytes: int = 0


class Published(Struct, array_like=True):
    """``appended`` is None if this attempt has not published: where its messages went, part by part."""

    standing: Standing
    appended: list[list[Appended]] | None = None


class Decision(Struct, array_like=True):
    """What has become of a batch that was to be published.

    messages: how many it has.
    is_new: this very call has published it.
    too_old: nobody knows any more whether it is.
    missing: nothing was decided, because of this attempt not all chunks are there.
    partly: nothing was decided, because so many partitions were published on their own, and are not the same.
    """

    messages: int = 0
    is_new: bool = False
    too_old: bool = False
    missing: str | None = None
    partly: int = 0


def in_order(places: Sequence[Sequence[int]], appended: Sequence[Sequence[Appended]]) -> list[Appended]:
    """What was appended part by part, in the order of the drafts."""
    found = {
        at: each for chosen, some in zip(places, appended, strict=True) for at, each in zip(chosen, some, strict=True)
    }
    return [found[at] for at in sorted(found)]


class Publications(Protocol):
    """What is staged and published of all queues."""

    def stage(
        self,
        name: PublicationName,
        attempt: str,
        chunk: int,
        parcels: Sequence[Parcel],
        size_bytes: int,
        done: Done[Standing],
    ) -> None:
        """Keep a chunk, or replace it, unless the publication is over."""

    def look(self, name: PublicationName, attempt: str, done: Done[Standing]) -> None: ...

    def chunks(self, name: PublicationName, attempt: str, done: Done[dict[int, list[Parcel]]]) -> None:
        """All that an attempt has staged, by the chunks' numbers."""

    def publish(
        self,
        name: PublicationName,
        attempt: str,
        parts: Sequence[tuple[Physical, Sequence[Draft]]],
        done: Done[Published],
    ) -> None:
        """Append all drafts, and forget what all attempts have staged, unless the publication is over."""

    def commit(
        self,
        name: PublicationName,
        winners: Sequence[Winner],
        partly: Partly,
        place: Physical,
        done: Done[Decision],
    ) -> None:
        """Publish what these attempts at a whole batch have staged, in this order, unless the batch is published.

        It lands after that; meanwhile ``place`` counts it.
        """

    def landed(self, name: PublicationName, done: Done[None]) -> None:
        """``done`` is called when nothing is left of the batch that is published and has not landed."""

    def discard(self, name: PublicationName, prefix: str, done: Done[None]) -> None:
        """Forget what attempts whose names begin so have staged for a whole batch, unless it is published."""


class Landings(Protocol):
    """What is published, and has not landed. Only a store that is in this process has it."""

    def on_landing(self, call: Callable[[], None]) -> None:
        """Called whenever there is something new to land."""

    def next(self, after: PublicationName | None, done: Done[Landing | None]) -> None:
        """The first chunk of a batch that has not landed, another than ``after`` if there are several."""

    def land(
        self,
        landing: Landing,
        drafts: Sequence[Draft],
        parts: Sequence[tuple[Physical, Sequence[int]]],
        done: Done[list[Appended] | None],
    ) -> None:
        """Append the drafts of a chunk, and forget it. Each physical queue gets those at its places.

        None: it is not there any more, because somebody else has done it, or because its queue was purged.
        """
