"""Publishing once: of several attempts at a batch, or at one partition of it, one counts."""

from typing import Literal, TypeAlias

from msgspec import Struct

from rockdove.core.message import Extra, Message

# In place of a partition: a batch as a whole.
WHOLE = -1

# What to do with a batch of which partitions were published on their own: refuse it; leave out those partitions, if
# they have as many messages; take it for published as it is; or publish all of it.
Partly: TypeAlias = Literal["refuse", "match", "skip", "again"]


class PublicationName(Struct, frozen=True):
    """What is to be published once. ``queue`` is the logical queue's uid."""

    queue: str
    application: str
    batch: int
    partition: int

    @property
    def whole(self) -> "PublicationName":
        """Of its batch. When that is published, no partition is any more."""
        return PublicationName(self.queue, self.application, self.batch, WHOLE)


class Winner(Struct, array_like=True, frozen=True):
    """An attempt at a partition that counts, and how many chunks it has staged."""

    attempt: str
    chunks: int
    partition: int


class Parcel(Struct, array_like=True, frozen=True):
    """A message that waits to be published; this is also its form on disk. It is sent when it is published."""

    body: str
    md5: str
    delay_us: int
    extra: Extra | None = None
    deduplication_key: str | None = None

    def message(self, now_us: int) -> Message:
        return Message(now_us, self.body.encode(), self.md5, self.extra)


class Landing(Struct):
    """A chunk of a batch that is published, and is on its way into its queue. ``at_us``: when it was published."""

    name: PublicationName
    attempt: str
    chunk: int
    at_us: int
    parcels: list[Parcel]
