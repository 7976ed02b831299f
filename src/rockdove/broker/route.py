"""Which physical queue gets which message."""

from collections.abc import Sequence

from rockdove.broker.queue import Queue
from rockdove.store.base import Draft, Physical


def parts_of(queue: Queue, drafts: Sequence[Draft]) -> list[tuple[Physical, list[int]]]:
    """Which physical queue gets which of the drafts, by their places."""
    parts: dict[int, tuple[Physical, list[int]]] = {}
    firsts: dict[str, Physical] = {}
    for at, draft in enumerate(drafts):
        extra, key = draft.message.extra, draft.deduplication_key
        physical = queue.route(None if extra is None else extra.group_id)
        if key is not None:
            # A duplicate goes along with its first copy, whatever its group: else it might overtake it.
            physical = firsts.setdefault(key, physical)
        parts.setdefault(physical.record.number, (physical, []))[1].append(at)
    return list(parts.values())
