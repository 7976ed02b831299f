"""What every store does for publishing once; the rules of `rockdove.store.base.store` hold.

Attempts stage chunks. The first that publishes wins: all that it brings is appended in one step with a record of it.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rockdove.core.publication import Parcel, PublicationName
from rockdove.store.base.done import Done
from rockdove.store.base.physical import Appended, Draft, Physical


class Standing(Struct, array_like=True):
    """How things stand with a publication.

    winner: the attempt that has published it, and ``messages`` how many; else None, and ``messages`` that the attempt
    which asks has staged.
    too_old: it is too far behind the newest of its application for anybody to know.
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
