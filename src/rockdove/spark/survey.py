"""A first look at a trace: which queues there are, whose they are, and which task measures which."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from rockdove.spark.event import is_numbered
from rockdove.spark.window import Windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Seen(NamedTuple):
    """What events say of one queue of one account, or of none. Times are microseconds since 1970."""

    account: str | None
    queue: str
    events: int
    first: int
    last: int


class NamedQueue(NamedTuple):
    """A queue: its number, which modulo the number of tasks is the task that measures it, and what people call it.

    That is its name alone, unless several accounts have a queue of that name.
    """

    number: int
    name: str
    account: str | None
    queue: str
    first: int
    last: int


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


def survey(events: "DataFrame", parts: int) -> Survey | None:
    """The queues, and the time they span; None if there is no event."""
    from pyspark.sql import functions as f

    rows = (
        events.groupBy("account", "queue")
        .agg(
            f.count("*").alias("events"),
            f.unix_micros(f.min("event_time")).alias("first"),
            f.unix_micros(f.max("event_time")).alias("last"),
            f.bool_or(is_numbered()).alias("numbered"),
        )
        .collect()
    )
    if not rows:
        return None
    found = settle([Seen(*row[: len(Seen._fields)]) for row in rows])
    parts = min(parts, len(found))
    return Survey(
        min(seen.first for seen in found),
        max(seen.last for seen in found),
        sum(seen.events for seen in found),
        _places(found, parts),
        parts,
        any(row["numbered"] for row in rows),
    )


def settle(found: Sequence[Seen]) -> list[Seen]:
    """By name. Events that tell no account are of the account that has a queue of that name, if there is only one.

    Clients do not always know whose queue they use; the service does.
    """
    owners: dict[str, list[str]] = {seen.queue: [] for seen in found}
    for seen in found:
        if seen.account is not None:
            owners[seen.queue].append(seen.account)
    settled: dict[tuple[str, str | None], Seen] = {}
    for seen in found:
        account = owners[seen.queue][0] if len(owners[seen.queue]) == 1 else seen.account
        other = settled.get((seen.queue, account), Seen(account, seen.queue, 0, seen.first, seen.last))
        settled[seen.queue, account] = Seen(
            account, seen.queue, other.events + seen.events, min(other.first, seen.first), max(other.last, seen.last)
        )
    return sorted(settled.values(), key=lambda seen: (seen.queue, seen.account or ""))


def _places(found: Sequence[Seen], parts: int) -> list[NamedQueue]:
    names = Counter(seen.queue for seen in found)
    places = []
    for number, seen in zip(numbers([seen.events for seen in found], parts), found, strict=True):
        name = seen.queue if names[seen.queue] == 1 else f"{seen.account or 'unknown'}/{seen.queue}"
        places.append(NamedQueue(number, name, *seen[:2], *seen[-2:]))
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


def places(spark: "SparkSession", found: Survey) -> "DataFrame":
    kinds = {"number": pa.int64(), "name": pa.string(), "account": pa.string(), "queue": pa.string()}
    return _table(spark, [place[: len(kinds)] for place in found.places], kinds)


def owners(spark: "SparkSession", found: Survey) -> "DataFrame":
    """Which `number` events have whose account is `owner` and whose queue is `called` so; for `event.by_queue`."""
    names = Counter(place.queue for place in found.places)
    rows = [(place.number, place.account, place.queue) for place in found.places]
    # A queue that is the only one of its name also has the events that tell no account.
    rows += [
        (place.number, None, place.queue)
        for place in found.places
        if place.account is not None and names[place.queue] == 1
    ]
    return _table(spark, rows, {"number": pa.int64(), "owner": pa.string(), "called": pa.string()})


def _table(spark: "SparkSession", rows: Sequence[tuple[object, ...]], kinds: dict[str, pa.DataType]) -> "DataFrame":
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
    # From Arrow, because Spark would start Python processes to read a list of Python's.
    return spark.createDataFrame(pa.Table.from_arrays(arrays, list(kinds)))
