"""Moving messages from one queue to another: dead letters and move tasks lose nothing and double nothing."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from rockdove.broker.context import Context
from rockdove.broker.placing import Placing
from rockdove.broker.queue import Queue
from rockdove.core.errors import Fault, StoreError
from rockdove.core.message import Entry
from rockdove.store.base import Appended, Done, Draft, Physical, Store


def transfer(
    context: Context,
    source: Physical,
    entries: Sequence[Entry],
    target: Queue,
    drafts: Sequence[Draft],
    done: Callable[[Fault | None, int], None],
) -> None:
    """Move messages to another queue; how many were moved. What is gone meanwhile is left out."""
    number = 0

    def move(physical: Physical, places: list[int], part: Done[list[Appended]]) -> None:
        chosen = [entries[at].id for at in places]
        _transfer(context.store, source, chosen, physical, [drafts[at] for at in places], part)

    def moved(places: list[int], appended: list[Appended]) -> None:
        nonlocal number
        number += len(appended)

    Placing(context.store.records, target, drafts, move, moved, lambda fault: done(fault, number)).start()


def _transfer(
    store: Store,
    source: Physical,
    ids: Sequence[int],
    target: Physical,
    drafts: Sequence[Draft],
    done: Done[list[Appended]],
) -> None:
    """In one step where the store can do that. Else append once by a key, then remove.

    After a crash between the two the messages are in both queues, and hidden in the first; when they show there again
    they are moved again, under the same keys, which the second queue knows.
    """
    if store.transfers is not None:
        store.transfers.transfer(source, ids, target, drafts, done)
        return
    keyed = [replace(draft, once_key=f"{source.record.prefix}{id}") for id, draft in zip(ids, drafts, strict=True)]

    def appended(outcome: list[Appended] | StoreError) -> None:
        if isinstance(outcome, StoreError):
            done(outcome)
            return
        source.remove_all(ids, lambda removed: done(removed if isinstance(removed, StoreError) else outcome))

    target.append(keyed, appended)
