"""What front-ends say to the owner of a store: a message for each verb.

Bodies of messages travel as they were sent, as bytes; nothing in between looks into them.
"""

from typing import TypeAlias

from msgspec import Struct

from rockdove.core.account import Account
from rockdove.core.lease import LeaseName
from rockdove.core.message import Entry
from rockdove.core.publication import Parcel, Partly, PublicationName, Winner
from rockdove.core.queue import MoveTask, QueueRecord
from rockdove.core.topic import TopicRecord
from rockdove.store.base import (
    Draft,
    Page,
    Want,
)

# A verb's ``token`` comes back with its outcome. ``physical`` is a physical queue's number.

# From a front-end: verbs of physical queues.


class Append(Struct, array_like=True, tag=0, gc=False):
    token: int
    physical: int
    drafts: list[Draft]


class ClaimEntries(Struct, array_like=True, tag=1, gc=False):
    token: int
    physical: int
    want: Want


class Move(Struct, array_like=True, tag=2, gc=False):
    token: int
    physical: int
    id: int
    visible_us: int
    receive_count: int | None


class Remove(Struct, array_like=True, tag=3, gc=False):
    token: int
    physical: int
    id: int
    receive_count: int


class RemoveAll(Struct, array_like=True, tag=4, gc=False):
    token: int
    physical: int
    ids: list[int]


class Release(Struct, array_like=True, tag=5, gc=False):
    token: int
    physical: int
    entries: list[Entry]


class CountEntries(Struct, array_like=True, tag=6, gc=False):
    token: int
    physical: int


class Find(Struct, array_like=True, tag=7, gc=False):
    token: int
    physical: int
    id: int


class Holds(Struct, array_like=True, tag=44, gc=False):
    token: int
    physical: int
    groups: list[str]


# What has no outcome.


class Delivered(Struct, array_like=True, tag=8, gc=False):
    """Ids and receive counts."""

    entries: list[tuple[int, int]]


class Listen(Struct, array_like=True, tag=9, gc=False):
    physical: int


class Unlisten(Struct, array_like=True, tag=10, gc=False):
    physical: int


class Refresh(Struct, array_like=True, tag=11, gc=False):
    token: int
    physical: list[int]


# Capabilities.


class Oldest(Struct, array_like=True, tag=12, gc=False):
    token: int
    physical: int


class Sights(Struct, array_like=True, tag=13, gc=False):
    token: int
    physical: int
    limit: int


class Read(Struct, array_like=True, tag=14, gc=False):
    token: int
    physical: int
    ids: list[int]


class Scan(Struct, array_like=True, tag=15, gc=False):
    token: int
    physical: int
    page: Page


class Expire(Struct, array_like=True, tag=16, gc=False):
    token: int
    physical: int
    sent_after_us: int


class Retime(Struct, array_like=True, tag=17, gc=False):
    token: int
    physical: int
    delay_us: int


class Transfer(Struct, array_like=True, tag=18, gc=False):
    token: int
    source: int
    ids: list[int]
    target: int
    drafts: list[Draft]


class MakeLease(Struct, array_like=True, tag=19, gc=False):
    token: int
    name: LeaseName
    physical: list[int]
    want: Want
    even_empty: bool


class AckLeases(Struct, array_like=True, tag=20, gc=False):
    token: int
    queue: str
    consumer: str
    shard: int | None
    sequence: int | None
    tell_ids: bool


class ReleaseLeases(Struct, array_like=True, tag=21, gc=False):
    token: int
    queue: str
    consumer: str
    forget: bool


class PageLeases(Struct, array_like=True, tag=22, gc=False):
    token: int
    queue: str
    consumer: str | None
    after: tuple[str, int, int] | None
    limit: int


class ListHolders(Struct, array_like=True, tag=23, gc=False):
    token: int
    queue: str
    consumer: str | None
    limit: int


class ListHoldings(Struct, array_like=True, tag=24, gc=False):
    token: int


class ListSilent(Struct, array_like=True, tag=25, gc=False):
    token: int
    before_us: int


class StageChunk(Struct, array_like=True, tag=26, gc=False):
    token: int
    name: PublicationName
    attempt: str
    chunk: int
    parcels: list[Parcel]
    size_bytes: int


class LookAtPublication(Struct, array_like=True, tag=27, gc=False):
    token: int
    name: PublicationName
    attempt: str


class ReadChunks(Struct, array_like=True, tag=28, gc=False):
    token: int
    name: PublicationName
    attempt: str


class PublishAttempt(Struct, array_like=True, tag=29, gc=False):
    token: int
    name: PublicationName
    attempt: str
    parts: list[tuple[int, list[Draft]]]


class CommitBatch(Struct, array_like=True, tag=41, gc=False):
    token: int
    name: PublicationName
    winners: list[Winner]
    partly: Partly
    place: int


class AwaitLanding(Struct, array_like=True, tag=43, gc=False):
    token: int
    name: PublicationName


class DiscardStage(Struct, array_like=True, tag=42, gc=False):
    token: int
    name: PublicationName
    prefix: str


# Records.


class Reserve(Struct, array_like=True, tag=30, gc=False):
    token: int
    number: int
    uid: str


class PutQueue(Struct, array_like=True, tag=31, gc=False):
    token: int
    queue: QueueRecord
    quota: int
    seen: int


class DropQueue(Struct, array_like=True, tag=32, gc=False):
    token: int
    queue: QueueRecord
    deleted_us: int
    seen: int


class PutTask(Struct, array_like=True, tag=33, gc=False):
    token: int
    task: MoveTask
    seen: int


class DropTask(Struct, array_like=True, tag=34, gc=False):
    token: int
    task: MoveTask
    seen: int


class PutAccount(Struct, array_like=True, tag=35, gc=False):
    token: int
    account: Account
    seen: int


class DropAccount(Struct, array_like=True, tag=36, gc=False):
    token: int
    id: str
    seen: int


class PutTopic(Struct, array_like=True, tag=45, gc=False):
    token: int
    topic: TopicRecord
    seen: int


class DropTopic(Struct, array_like=True, tag=46, gc=False):
    token: int
    topic: TopicRecord
    seen: int


class CatchUp(Struct, array_like=True, tag=37, gc=False):
    token: int


# Between front-ends, and about them: what is in it is no business of the store's.


class Tell(Struct, array_like=True, tag=38, gc=False):
    """For all other front-ends, and for the owner."""

    topic: str
    payload: bytes


class AskOwner(Struct, array_like=True, tag=39, gc=False):
    """For the owner, which answers."""

    token: int
    topic: str
    payload: bytes


class Answer(Struct, array_like=True, tag=40, gc=False):
    """To a `Question`."""

    number: int
    payload: bytes


Verb: TypeAlias = (
    Append
    | ClaimEntries
    | Move
    | Remove
    | RemoveAll
    | Release
    | CountEntries
    | Find
    | Holds
    | Delivered
    | Listen
    | Unlisten
    | Refresh
    | Oldest
    | Sights
    | Read
    | Scan
    | Expire
    | Retime
    | Transfer
    | MakeLease
    | AckLeases
    | ReleaseLeases
    | PageLeases
    | ListHolders
    | ListHoldings
    | ListSilent
    | StageChunk
    | LookAtPublication
    | ReadChunks
    | PublishAttempt
    | CommitBatch
    | AwaitLanding
    | DiscardStage
    | Reserve
    | PutQueue
    | DropQueue
    | PutTask
    | DropTask
    | PutTopic
    | DropTopic
    | PutAccount
    | DropAccount
    | CatchUp
    | Tell
    | AskOwner
    | Answer
)
