"""What a store is made of. Verbs and records are what every store has; of the rest it says what it has.

Stores are driven by one event loop. Each call returns at once; its outcome comes later, in the same loop, through
``done``: the result, or a `StoreError`, in which case nothing of it has happened (or, if the store is another process
that was lost meanwhile, nobody knows). A change is reported done only when it will survive a crash, as far as the store
promises durability at all.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from rockdove.core.queue import PhysicalRecord, QueueRecord
from rockdove.store.base.browsing import Browsing
from rockdove.store.base.done import Done
from rockdove.store.base.duty import Duties
from rockdove.store.base.lease import Leases
from rockdove.store.base.physical import Physical
from rockdove.store.base.publication import Landings, Publications
from rockdove.store.base.record import Records, Snapshot
from rockdove.store.base.size import Sizing
from rockdove.store.base.transfer import Transfers
from rockdove.store.base.upkeep import Upkeep

# The physical queue's number, how many messages became visible, and when the next does (None: no time is known).
Arrived: TypeAlias = Callable[[int, int, int | None], None]


class Effort(Struct, array_like=True, frozen=True):
    """What a store has done since it was opened: transactions tried, those that failed, and the time they took."""

    batches: int = 0
    failed: int = 0
    busy_s: float = 0.0


class Store(Protocol):
    """Physical queues, records, and the capabilities of this store."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def has_fast_claims(self) -> bool:
        """Whether receives of a standard queue may take messages without being sure that nobody else does."""

    @property
    def records(self) -> Records: ...

    @property
    def browsing(self) -> Browsing | None: ...

    @property
    def upkeep(self) -> Upkeep | None: ...

    @property
    def transfers(self) -> Transfers | None: ...

    @property
    def leases(self) -> Leases | None: ...

    @property
    def publications(self) -> Publications | None: ...

    @property
    def landings(self) -> Landings | None:
        """Of a store with publications that is in this process."""

    @property
    def duties(self) -> Duties | None:
        """Of a store that several processes use alike. Without it, one of them does all that is done unasked."""

    @property
    def sizing(self) -> Sizing | None:
        """Of a store that is not just memory of this process."""

    @property
    def full(self) -> str | None:
        """Why nothing should be appended at the moment, in words for the client; None: there is room."""

    @property
    def trouble(self) -> str | None:
        """Why changes fail at the moment, in words for the operator; None: the last one that was tried has landed."""

    @property
    def effort(self) -> Effort:
        """How much work writing was so far; nothing for a store that has none."""

    async def open(self) -> Snapshot:
        """Take the store into use. Raises `DataFolderError` with a line that says what to do."""

    def close(self) -> None:
        """Finish what was begun, and let go."""

    def physical(self, queue: QueueRecord, record: PhysicalRecord) -> Physical:
        """The physical queue of a record."""

    def delivered(self, physical: Physical, claims: Sequence[tuple[int, int]]) -> None:
        """Claimed messages, by id and receive count, are on their way to a client.

        What was claimed and neither delivered nor released when its front-end dies is visible again at once.
        """

    def refresh(self, physical: Sequence[Physical], done: Done[None]) -> None:
        """Make hints true as of this call. Where they always are, ``done`` is called at once."""

    # Wake-ups.

    def on_arrival(self, arrived: Arrived) -> None:
        """Who is told of messages that have become, or will become, visible in physical queues listened to."""

    def listen(self, physical: Physical) -> None:
        """Be told from now on. What became visible before may have to be looked for."""

    def unlisten(self, physical: Physical) -> None: ...
