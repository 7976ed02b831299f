"""A first look at a trace: which queues there are, whose they are, and which task measures which."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from rockdove.spark.figure import QueueNames
from rockdove.spark.window import Windows

# Tasks for each core: enough to even out what queues and files of different sizes cost.
TASKS_A_CORE: Final = 4


class Seen(NamedTuple):
    """What events say of one queue of one account, or of none. Times are microseconds since 1970."""

    account: str | None
    queue: str
    events: int
    first: int
    last: int
    purges: int = 0

    def with_(self, other: "Seen") -> "Seen":
        """Both together."""
        return self._replace(
            events=self.events + other.events,
            first=min(self.first, other.first),
            last=max(self.last, other.last),
            purges=self.purges + other.purges,
        )


class NamedQueue(NamedTuple):
    """A queue: its number, which modulo the number of tasks is the task that measures it, and what people call it.

    That is its name alone, unless several accounts have a queue of that name.
    """

    number: int
    name: str
    account: str | None
    queue: str
    events: int
    first: int
    last: int
    purges: int = 0


class Survey(NamedTuple):
    """What a first look at two or three columns tells. Times are microseconds since 1970."""

    first: int
    last: int
    events: int
    places: list[NamedQueue]
    parts: int
    # Whether messages have numbers of their senders.
    numbered: bool

    def windows(self, windows: Windows) -> int:
        """How many windows the queues have at most, which is if something is left in each until the end."""
        return sum(windows.number - (place.first - windows.begin) // windows.width for place in self.places)


def surveyed(found: Sequence[Seen], parts: int, numbered: bool) -> Survey | None:
    """From what is known of queues, in any order; None if there is none."""
    if not found:
        return None
    settled = settle(found)
    parts = min(parts, len(settled))
    return Survey(
        min(seen.first for seen in settled),
        max(seen.last for seen in settled),
        sum(seen.events for seen in settled),
        _places(settled, parts),
        parts,
        numbered,
    )


def settle(found: Sequence[Seen]) -> list[Seen]:
    """By name. Events that tell no account are of the account that has a queue of that name, if there is only one.

    Clients do not always know whose queue they use; the service does.
    """
    owners: dict[str, set[str]] = {}
    for seen in found:
        known = owners.setdefault(seen.queue, set())
        if seen.account is not None:
            known.add(seen.account)
    settled: dict[tuple[str, str | None], Seen] = {}
    for seen in found:
        known = owners[seen.queue]
        own = seen._replace(account=next(iter(known))) if seen.account is None and len(known) == 1 else seen
        other = settled.get((own.queue, own.account))
        settled[own.queue, own.account] = own if other is None else own.with_(other)
    return sorted(settled.values(), key=lambda seen: (seen.queue, seen.account or ""))


def _places(found: Sequence[Seen], parts: int) -> list[NamedQueue]:
    names = Counter(seen.queue for seen in found)
    places = []
    for number, seen in zip(numbers([seen.events for seen in found], parts), found, strict=True):
        name = seen.queue if names[seen.queue] == 1 else f"{seen.account or 'unknown'}/{seen.queue}"
        places.append(NamedQueue(number, name, *seen))
    return places


def share_out(sizes: Sequence[int], parts: int) -> list[int]:
    """A part for each size, the largest first to the part that has least: no part has a large one and much else."""
    chosen = [0] * len(sizes)
    heap = [(0, part) for part in range(parts)]
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        filled, part = heapq.heappop(heap)
        chosen[index] = part
        heapq.heappush(heap, (filled + sizes[index], part))
    return chosen


def numbers(sizes: Sequence[int], parts: int) -> list[int]:
    """A number of its own for each size, which is its part modulo `parts`."""
    chosen = [0] * len(sizes)
    following = list(range(parts))
    for index, part in enumerate(share_out(sizes, parts)):
        chosen[index] = following[part]
        following[part] += parts
    return chosen


def names(found: Survey) -> QueueNames:
    return QueueNames.of((place.number, place.name, place.account, place.queue) for place in found.places)


def owners(found: Survey) -> dict[tuple[str | None, str], int]:
    """Which number the events of an account and a queue have."""
    names = Counter(place.queue for place in found.places)
    numbers = {(place.account, place.queue): place.number for place in found.places}
    # A queue that is the only one of its name also has the events that tell no account.
    return numbers | {(None, place.queue): place.number for place in found.places if names[place.queue] == 1}
