"""What is left to publish of a batch of which some partitions were published on their own."""

from collections.abc import Sequence

from msgspec import Struct

from rockdove.core.publication import Partly, Winner


class Choice(Struct):
    """Who is still to land, how many messages that is, and how many are in the queue then, of the whole batch."""

    winners: list[Winner]
    landing: int
    total: int


def choose(counted: Sequence[tuple[Winner, int]], alone: dict[int, int], partly: Partly) -> Choice | None:
    """``counted``: the attempts and what they have staged. ``alone``: the partitions, and what was published of them.

    None: nobody has said what to do with those partitions, or they have other numbers of messages now.
    """
    chosen, before = list(counted), sum(alone.values())
    if not alone or partly == "again":
        before = 0
    elif partly == "skip":
        chosen = []
    elif partly == "match" and alone.items() <= {(winner.partition, number) for winner, number in counted}:
        chosen = [(winner, number) for winner, number in counted if winner.partition not in alone]
    else:
        return None
    landing = sum(number for _, number in chosen)
    return Choice([winner for winner, _ in chosen], landing, before + landing)
