"""What every store does, by capability."""

from rockdove.store.base.browsing import LATEST_US, MOST_PASSED, Browsing, Page, Scanned, Sight
from rockdove.store.base.done import Done, T
from rockdove.store.base.duty import Duties
from rockdove.store.base.lease import Ended, Leased, Leases, Outcome
from rockdove.store.base.physical import (
    MOST_DEAD,
    MOST_DEAD_BYTES,
    UNKNOWN,
    Appended,
    Claimed,
    Counts,
    Draft,
    Hint,
    Physical,
    Want,
)
from rockdove.store.base.publication import Decision, Landings, Publications, Published, Standing
from rockdove.store.base.record import (
    MOST_RESERVED,
    AccountDropped,
    AccountPut,
    Change,
    Conflict,
    Listener,
    OverQuota,
    QueueDropped,
    QueuePut,
    Records,
    Reset,
    Snapshot,
    StillHolds,
    TaskDropped,
    TaskPut,
)
from rockdove.store.base.size import Sizing
from rockdove.store.base.store import Arrived, Effort, Store
from rockdove.store.base.transfer import Transfers
from rockdove.store.base.upkeep import Upkeep

__all__ = [
    "LATEST_US",
    "MOST_DEAD",
    "MOST_DEAD_BYTES",
    "MOST_PASSED",
    "MOST_RESERVED",
    "UNKNOWN",
    "AccountDropped",
    "AccountPut",
    "Appended",
    "Arrived",
    "Browsing",
    "Change",
    "Claimed",
    "Conflict",
    "Counts",
    "Decision",
    "Done",
    "Draft",
    "Duties",
    "Effort",
    "Ended",
    "Hint",
    "Landings",
    "Leased",
    "Leases",
    "Listener",
    "Outcome",
    "OverQuota",
    "Page",
    "Physical",
    "Publications",
    "Published",
    "QueueDropped",
    "QueuePut",
    "Records",
    "Reset",
    "Scanned",
    "Sight",
    "Sizing",
    "Snapshot",
    "Standing",
    "StillHolds",
    "Store",
    "T",
    "TaskDropped",
    "TaskPut",
    "Transfers",
    "Upkeep",
    "Want",
]
