"""Which physical queue gets which message."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from rockdove.broker.gather import Gatherer
from rockdove.broker.queue import Queue, slot
from rockdove.core.errors import Fault
from rockdove.store.base import Draft, Physical

# Physical queues, each with the places of its drafts.
Parts: TypeAlias = list[tuple[Physical, list[int]]]


def route(queue: Queue, drafts: Sequence[Draft], done: Callable[[Parts | Fault], None]) -> None:
    """Tell which physical queue gets which of the drafts: at once, unless groups may still be where they were.

    A FIFO queue whose physical queues were replaced keeps the old ones until they are empty. A group stays where it
    is until none of its messages is left there. What an old physical queue does not hold it never takes again, so that
    a No stays true. A Yes may be over when the message comes: then it is refused there, and this is asked again.
    """
    groups = list(dict.fromkeys(map(group_of, drafts))) if queue.former else []
    try:
        # All as of now: the queue may change before the answers are there, and then others would have to be asked.
        homes = {group: queue.route(group) for group in groups}
        parts = [] if groups else _parts(drafts, queue.route)
    except Fault as fault:
        done(fault)
        return
    if not groups:
        done(parts)
        return
    # By group: how old a physical queue is that holds some of it, and which it is.
    holders: dict[str, tuple[int, Physical]] = {}

    def told(age: int, physical: Physical, asked: list[str], held: list[bool]) -> None:
        for group, is_held in zip(asked, held, strict=True):
            if is_held and (group not in holders or age < holders[group][0]):
                holders[group] = (age, physical)

    def over(fault: Fault | None) -> None:
        homes.update((group, physical) for group, (_, physical) in holders.items())
        done(fault or _parts(drafts, homes.__getitem__))

    gatherer = Gatherer(over)
    for age, generation in enumerate(queue.former):
        for at, physical in enumerate(generation):
            asked = [group for group in groups if slot(group, len(generation)) == at]
            if asked:
                physical.holds(asked, gatherer.part(partial(told, age, physical, asked)))
    gatherer.close()


def _parts(drafts: Sequence[Draft], home: Callable[[str], Physical]) -> Parts:
    """``home`` tells where a group's messages go."""
    parts: dict[int, tuple[Physical, list[int]]] = {}
    firsts: dict[str, Physical] = {}
    for at, draft in enumerate(drafts):
        physical, key = home(group_of(draft)), draft.deduplication_key
        if key is not None:
            # A duplicate goes along with its first copy, whatever its group: else it might overtake it.
            physical = firsts.setdefault(key, physical)
        parts.setdefault(physical.record.number, (physical, []))[1].append(at)
    return list(parts.values())


def group_of(draft: Draft) -> str:
    extra = draft.message.extra
    return "" if extra is None else extra.group_id or ""
