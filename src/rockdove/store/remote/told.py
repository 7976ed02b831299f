"""What the owner of a store says to its front-ends: outcomes of their verbs, and notices."""

from typing import TypeAlias

from msgspec import Struct

from rockdove.core.lease import Holder, Holding, Lease
from rockdove.core.message import Entry
from rockdove.core.publication import Parcel
from rockdove.core.queue import PhysicalRecord
from rockdove.store.base import (
    Appended,
    Change,
    Claimed,
    Counts,
    Decision,
    Effort,
    Ended,
    Hint,
    Leased,
    Published,
    Scanned,
    Sight,
    Snapshot,
    Standing,
)

# Outcomes of verbs, by the type of their result.


class Failed(Struct, array_like=True, tag=0, gc=False):
    """``kind`` is the name of the error's class."""

    token: int
    kind: str
    text: str


class DonePlain(Struct, array_like=True, tag=1, gc=False):
    token: int
    result: int | bool | None


class DoneAppended(Struct, array_like=True, tag=2, gc=False):
    token: int
    result: list[Appended]


class DoneClaimed(Struct, array_like=True, tag=3, gc=False):
    token: int
    result: Claimed


class DoneCounts(Struct, array_like=True, tag=4, gc=False):
    token: int
    result: Counts


class DoneEntry(Struct, array_like=True, tag=5, gc=False):
    token: int
    result: Entry | None


class DoneEntries(Struct, array_like=True, tag=6, gc=False):
    token: int
    result: list[Entry]


class DoneScanned(Struct, array_like=True, tag=36, gc=False):
    token: int
    result: Scanned


class DoneHints(Struct, array_like=True, tag=7, gc=False):
    token: int
    result: list[Hint]


class DoneSights(Struct, array_like=True, tag=8, gc=False):
    token: int
    result: list[Sight]


class DoneIds(Struct, array_like=True, tag=9, gc=False):
    token: int
    result: list[int]


class DoneLeased(Struct, array_like=True, tag=10, gc=False):
    token: int
    result: Leased


class DoneEnded(Struct, array_like=True, tag=11, gc=False):
    token: int
    result: Ended


class DoneLeases(Struct, array_like=True, tag=12, gc=False):
    token: int
    result: list[Lease]


class DoneHolders(Struct, array_like=True, tag=13, gc=False):
    token: int
    result: list[Holder]


class DoneHoldings(Struct, array_like=True, tag=14, gc=False):
    token: int
    result: dict[str, Holding]


class DoneSilent(Struct, array_like=True, tag=15, gc=False):
    token: int
    result: list[tuple[str, str]]


class DoneStanding(Struct, array_like=True, tag=16, gc=False):
    token: int
    result: Standing


class DoneChunks(Struct, array_like=True, tag=17, gc=False):
    token: int
    result: dict[int, list[Parcel]]


class DonePublished(Struct, array_like=True, tag=18, gc=False):
    token: int
    result: Published


class DoneReserved(Struct, array_like=True, tag=19, gc=False):
    token: int
    result: list[PhysicalRecord]


class DoneCalled(Struct, array_like=True, tag=20, gc=False):
    token: int
    result: bytes


class DoneFlags(Struct, array_like=True, tag=21, gc=False):
    token: int
    result: list[bool]


class DoneDecision(Struct, array_like=True, tag=22, gc=False):
    token: int
    result: Decision


# What nobody asked for.


class Arrived(Struct, array_like=True, tag=30, gc=False):
    physical: int
    visible: int
    next_us: int | None


class Changed(Struct, array_like=True, tag=31, gc=False):
    change: Change


class State(Struct, array_like=True, tag=32, gc=False):
    full: str | None
    trouble: str | None
    effort: Effort
    # See `rockdove.core.clock.SystemClock`.
    offset_us: int | None = None


class Begin(Struct, array_like=True, tag=33, gc=False):
    """The first message on a connection."""

    snapshot: Snapshot
    state: State
    # The names of those that the owner's store has, and its own.
    capabilities: list[str]
    store: str
    has_fast_claims: bool = False


class Passed(Struct, array_like=True, tag=34, gc=False):
    topic: str
    payload: bytes


class Question(Struct, array_like=True, tag=35, gc=False):
    number: int
    topic: str


Outcome: TypeAlias = (
    Failed
    | DonePlain
    | DoneAppended
    | DoneClaimed
    | DoneCounts
    | DoneEntry
    | DoneEntries
    | DoneScanned
    | DoneHints
    | DoneSights
    | DoneIds
    | DoneLeased
    | DoneEnded
    | DoneLeases
    | DoneHolders
    | DoneHoldings
    | DoneSilent
    | DoneStanding
    | DoneChunks
    | DonePublished
    | DoneReserved
    | DoneCalled
    | DoneFlags
    | DoneDecision
)
Notice: TypeAlias = Arrived | Changed | State | Begin | Passed | Question
