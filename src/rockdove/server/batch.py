"""What all batches have in common: their checks, and the entries that failed."""

import re
from collections.abc import Sequence
from typing import Protocol

from rockdove.core import limits
from rockdove.core.errors import (
    BatchEntryIdsNotDistinct,
    EmptyBatchRequest,
    Fault,
    InvalidBatchEntryId,
    TooManyEntriesInBatchRequest,
)
from rockdove.wire.shape import BatchResultErrorEntry

_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.MAX_BATCH_ID_LENGTH}}}")


class Entry(Protocol):
    """One entry of a batch request."""

    id: str


def check(entries: Sequence[Entry], kind: str) -> None:
    """Refuse a batch as a whole. ``kind`` is the entries' name in SQS."""
    if not entries:
        raise EmptyBatchRequest(f"There should be at least one {kind} in the request.")
    check_ids(entries, limits.MAX_BATCH_ENTRIES)


def check_ids(entries: Sequence[Entry], most: int) -> None:
    if len(entries) > most:
        raise TooManyEntriesInBatchRequest(
            f"Maximum number of entries per request are {most}. You have sent {len(entries)}."
        )
    seen = set()
    for entry in entries:
        if not _ID.fullmatch(entry.id):
            raise InvalidBatchEntryId()
        if entry.id in seen:
            raise BatchEntryIdsNotDistinct(f"Id {entry.id} repeated.")
        seen.add(entry.id)


def failed(id: str, fault: Fault, code: str | None = None) -> BatchResultErrorEntry:
    return BatchResultErrorEntry(id=id, sender_fault=fault.sender, code=code or fault.code, message=fault.message)
