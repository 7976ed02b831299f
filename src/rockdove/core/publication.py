"""Publishing once: of several attempts at one partition of a batch, the first to finish counts."""

from msgspec import Struct

from rockdove.core.message import Extra, Message


class PublicationName(Struct, frozen=True):
    """What is to be published once. ``queue`` is the logical queue's uid."""

    queue: str
    application: str
    batch: int
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
