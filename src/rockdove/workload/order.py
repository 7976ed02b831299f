"""How far messages came out of order, as the BDQS paper measures it."""

from bisect import bisect_left
from collections.abc import Sequence

from rockdove.workload.journal import Got, Sent


def longest_increasing(ranks: Sequence[int]) -> int:
    """The length of the longest subsequence that grows strictly."""
    # The smallest last element of a growing subsequence of each length.
    tails: list[int] = []
    for rank in ranks:
        place = bisect_left(tails, rank)
        if place == len(tails):
            tails.append(rank)
        else:
            tails[place] = rank
    return len(tails)


def out_of_order(ranks: Sequence[int]) -> int:
    """How many messages must be moved at least to put all in order."""
    return len(ranks) - longest_increasing(ranks)


def displacement(ranks: Sequence[int]) -> int:
    """The sum of the distances between where messages came and where they belong; ``ranks`` count from 0."""
    return sum(abs(place - rank) for place, rank in enumerate(ranks))


def arrival(received: Sequence[Got]) -> list[Got]:
    """The messages of one queue in the order in which they came, each once; damaged ones are left out."""
    firsts: dict[tuple[int, int], Got] = {}
    for got in sorted(received, key=lambda one: one.ended_us):
        if got.seq >= 0:
            firsts.setdefault((got.sender, got.seq), got)
    return list(firsts.values())


def ranks(arrived: Sequence[Got], sent: Sequence[Sent]) -> list[int]:
    """For each message of one queue the place at which it belongs among those that came.

    That is the order of the service's SentTimestamp. It has milliseconds; within one, message ids tell, if those of
    each sender grow as its numbers do. Ids that are random do not; then it is the time at which the send was
    answered.
    """
    answered = {(one.sender, one.seq): one.ended_us for one in sent}
    if _ids_tell(arrived):
        order = sorted(range(len(arrived)), key=lambda place: (arrived[place].sent_ms, arrived[place].message_id))
    else:
        order = sorted(
            range(len(arrived)),
            key=lambda place: (arrived[place].sent_ms, answered.get((arrived[place].sender, arrived[place].seq), 0)),
        )
    found = [0] * len(arrived)
    for rank, place in enumerate(order):
        found[place] = rank
    return found


def _ids_tell(arrived: Sequence[Got]) -> bool:
    """Among messages of one sender and one millisecond."""
    last: dict[tuple[int, int], str] = {}
    for got in sorted(arrived, key=lambda one: one.seq):
        key = (got.sender, got.sent_ms)
        if got.message_id < last.get(key, ""):
            return False
        last[key] = got.message_id
    return True
