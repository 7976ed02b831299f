"""What an entry of a queue's journal says: verbs to be done, one after another, and the time at which."""

from typing import TypeAlias

import msgspec
from msgspec import Struct

from rockdove.core.message import Entry
from rockdove.core.publication import PublicationName
from rockdove.core.queue import QueueRecord
from rockdove.store.base import Draft
from rockdove.store.remote import asked


class SetQueue(Struct, array_like=True, tag=60):
    """The queue's record as of a version of the records."""

    token: int
    queue: QueueRecord
    version: int


class ClosePlaces(Struct, array_like=True, tag=61):
    """These physical queues are about to go, being empty."""

    token: int
    numbers: list[int]


class EndQueue(Struct, array_like=True, tag=62):
    """The queue is deleted."""

    token: int


class PassTime(Struct, array_like=True, tag=63):
    """Nothing but that time has passed: something has become visible."""

    token: int


class LandChunk(Struct, array_like=True, tag=64):
    """A chunk lands; each physical queue gets the drafts at its places."""

    token: int
    name: PublicationName
    attempt: str
    chunk: int
    drafts: list[Draft]
    parts: list[tuple[int, list[int]]]


class ForgetOnce(Struct, array_like=True, tag=66):
    """Messages that were appended once under these keys: nobody appends them again."""

    token: int
    keys: list[str]


class Adopt(Struct, array_like=True, tag=67):
    """Messages that were in the index; each once."""

    token: int
    physical: int
    entries: list[Entry]


class SweepBlocks(Struct, array_like=True, tag=65):
    """These blocks of bodies are removed: nothing may refer to them any more."""

    token: int
    blocks: list[int]


Command: TypeAlias = (
    asked.Append
    | asked.ClaimEntries
    | asked.Move
    | asked.Remove
    | asked.RemoveAll
    | asked.Release
    | asked.Expire
    | asked.Retime
    | asked.MakeLease
    | asked.AckLeases
    | asked.ReleaseLeases
    | asked.StageChunk
    | asked.PublishAttempt
    | asked.CommitBatch
    | asked.DiscardStage
    | SetQueue
    | ClosePlaces
    | EndQueue
    | PassTime
    | LandChunk
    | SweepBlocks
    | ForgetOnce
    | Adopt
)


class Said(Struct, array_like=True):
    """One entry."""

    now_us: int
    commands: list[Command]


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Said).decode
