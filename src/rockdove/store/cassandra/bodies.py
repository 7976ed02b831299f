"""What messages carry, stored once: queues hold references to it.

Each front-end fills blocks of its own, one after another. A block is one partition, so several messages that are sent
together are one write. In a queue's state a message has the reference in place of its body.
"""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from time import monotonic
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from rockdove.core.clock import Clock
from rockdove.core.message import Entry, Extra, Message
from rockdove.core.publication import Parcel
from rockdove.store.base import Draft
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.session import Session
from rockdove.store.common.size import encode_extra

# A block takes so many messages and bytes at most.
BLOCK_PLACES = 500
BLOCK_BYTES = 4 * 1024 * 1024
# It is filled for so many seconds at most: then it can be removed when nothing refers to it.
BLOCK_S = 300
# One write has so many bytes at most, unless one message is larger.
WRITE_BYTES = 512 * 1024
# One read asks for so many messages at most: they may be large.
READ_PLACES = 100

_extra = msgspec.json.Decoder(Extra).decode


class Reference(NamedTuple):
    """Where a body is, and how many bytes the message has."""

    block: int
    place: int
    size: int

    def __str__(self) -> str:
        return f"{self.block:x}.{self.place}.{self.size}"


def reference(text: str | bytes) -> Reference:
    block, place, size = (text if isinstance(text, str) else text.decode()).split(".")
    return Reference(int(block, 16), int(place), int(size))


def referred_bytes(message: Message) -> int:
    """How many bytes a message has of which only the reference is here."""
    return reference(message.body).size


class _Filled(Struct):
    """A block that is being filled."""

    number: int
    begun_s: float
    places: int = 0
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        is_old = monotonic() - self.begun_s > BLOCK_S
        return is_old or self.places >= BLOCK_PLACES or self.bytes >= BLOCK_BYTES


class Bodies:
    """For the event loop's thread."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._blocks: dict[str, _Filled] = {}

    # Writing.

    async def refer(self, queue: str, drafts: Sequence[Draft]) -> list[Draft]:
        """Store what drafts carry; the same drafts with references. Raises `StoreError`."""
        contents = [(draft.message.body, draft.message.md5, draft.message.extra) for draft in drafts]
        references = await self._write(queue, contents)
        return [
            msgspec.structs.replace(draft, message=_light(draft.message, each))
            for draft, each in zip(drafts, references, strict=True)
        ]

    async def refer_parcels(self, queue: str, parcels: Sequence[Parcel]) -> list[Parcel]:
        """The same for parcels. Raises `StoreError`."""
        contents = [(parcel.body.encode(), parcel.md5, parcel.extra) for parcel in parcels]
        references = await self._write(queue, contents)
        return [
            msgspec.structs.replace(parcel, body=str(each), extra=_light_extra(parcel.extra))
            for parcel, each in zip(parcels, references, strict=True)
        ]

    async def _write(self, queue: str, contents: Sequence[tuple[bytes, str, Extra | None]]) -> list[Reference]:
        name = self._session.named(queue)
        references: list[Reference] = []
        writes: list[list[tuple[str, Sequence[Any]]]] = []
        new: list[int] = []
        last, room = -1, 0
        for body, md5, extra in contents:
            packed = b"" if extra is None else encode_extra(extra)
            size = len(body) + len(packed)
            block = self._blocks.get(queue)
            if block is None or block.is_full:
                block = self._blocks[queue] = _Filled(secrets.randbits(62), monotonic())
                new.append(block.number)
            if block.number != last or room < size:
                writes.append([])
                last, room = block.number, WRITE_BYTES
            room -= size
            writes[-1].append((schema.ADD_BODY, (name, block.number, block.places, body, md5, packed)))
            references.append(Reference(block.number, block.places, size))
            block.places += 1
            block.bytes += size
        now_us = self._clock.now_us()
        # A block that is not listed would never be swept.
        await asyncio.gather(
            *(self._session.ask(schema.ADD_BLOCK, self._session.named(queue), number, now_us) for number in new)
        )
        await asyncio.gather(*(self._session.ask_batch(rows) for rows in writes))
        return references

    # Reading.

    async def resolve(self, queue: str, entries: Sequence[Entry]) -> list[Entry]:
        """Entries with what their messages carry; those whose bodies are gone are left out. Raises `StoreError`."""
        wanted = [reference(entry.message.body) for entry in entries]
        found = await self._read(queue, wanted)
        resolved: list[Entry] = []
        for entry, each in zip(entries, wanted, strict=True):
            content = found.get(each[:2])
            if content is not None:
                body, md5, extra = content
                message = Message(entry.message.sent_us, body or b"", md5 or "", _extra(extra) if extra else None)
                resolved.append(msgspec.structs.replace(entry, message=message))
        return resolved

    async def are_lost(self, queue: str, entries: Sequence[Entry]) -> bool:
        """Whether no node has what these messages carry. Raises `StoreError`."""
        for each in (reference(entry.message.body) for entry in entries):
            name = self._session.named(queue)
            if await self._session.ask_all(schema.READ_BODIES, name, each.block, [each.place]):
                return False
        return True

    async def resolve_parcels(self, queue: str, parcels: Sequence[Parcel]) -> list[Parcel]:
        """The same for parcels. Raises `StoreError`."""
        wanted = [reference(parcel.body) for parcel in parcels]
        found = await self._read(queue, wanted)
        resolved: list[Parcel] = []
        for parcel, each in zip(parcels, wanted, strict=True):
            body, _, extra = found.get(each[:2], (b"", "", b""))
            whole = (body or b"").decode(), _extra(extra) if extra else None
            resolved.append(msgspec.structs.replace(parcel, body=whole[0], extra=whole[1]))
        return resolved

    async def _read(self, queue: str, wanted: Sequence[Reference]) -> dict[tuple[int, ...], tuple[bytes, str, bytes]]:
        places: dict[int, list[int]] = defaultdict(list)
        for each in wanted:
            places[each.block].append(each.place)
        reads = [
            (block, some[at : at + READ_PLACES])
            for block, some in places.items()
            for at in range(0, len(some), READ_PLACES)
        ]
        rows = await asyncio.gather(
            *(self._session.ask(schema.READ_BODIES, self._session.named(queue), *read) for read in reads)
        )
        return {
            (block, place): (body, md5, extra)
            for (block, _), some in zip(reads, rows, strict=True)
            for place, body, md5, extra in some
        }

    # Removing.

    async def remove(self, queue: str, references: Iterable[Reference]) -> None:
        """Raises `StoreError`."""
        name = self._session.named(queue)
        writes: dict[int, list[tuple[str, Sequence[Any]]]] = defaultdict(list)
        for each in references:
            writes[each.block].append((schema.DROP_BODY, (name, each.block, each.place)))
        await asyncio.gather(*(self._session.ask_batch(rows) for rows in writes.values()))

    async def unused(self, queue: str, kept: Set[int], before_us: int) -> list[int]:
        """Blocks that were begun before a time, but those to be kept. Raises `StoreError`."""
        filled = self._blocks.get(queue)
        found: list[int] = []
        after = -1
        while rows := await self._session.ask(schema.READ_BLOCKS, self._session.named(queue), after, READ_PLACES):
            for block, made_us in rows:
                if block not in kept and made_us < before_us and (filled is None or block != filled.number):
                    found.append(block)
            after = rows[-1][0]
        return found

    async def drop(self, queue: str, blocks: Iterable[int]) -> None:
        """Raises `StoreError`."""
        for block in blocks:
            await self._session.ask(schema.DROP_BLOCK, self._session.named(queue), block)
            await self._session.ask(schema.FORGET_BLOCK, self._session.named(queue), block)

    def forget(self, queue: str) -> None:
        """The queue is gone."""
        self._blocks.pop(queue, None)


def _light_extra(extra: Extra | None) -> Extra | None:
    """What a queue goes by."""
    if extra is None or (extra.group_id is None and extra.message_id is None):
        return None
    return Extra(group_id=extra.group_id, message_id=extra.message_id)


def _light(message: Message, where: Reference) -> Message:
    return Message(message.sent_us, str(where).encode(), "", _light_extra(message.extra))
