"""Copies: messages that were sent again under the same number, because the answer to the first request did not come.

The service holds each under an id of its own, and cannot tell. The sender's number can: they are one message, which
was received more than once.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rockdove.spark.order import Ints
from rockdove.spark.row import MISSING

# What became of a message.
LOST: Final = 1
DAMAGED: Final = 2
# It came whole, or is gone as it should.
WHOLE: Final = 4
SAFE: Final = 8

_NEVER: Final = 2**63 - 1


class Numbered(NamedTuple):
    """Messages with a sender and a number; times may be `MISSING`."""

    sender: Ints
    seq: Ints
    sent: Ints
    received: Ints
    fate: Ints


class Extra(NamedTuple):
    """Of which messages it was counted what counts once for all copies of a message: their places."""

    sent: Ints
    received: Ints
    lost: Ints
    damaged: Ints


def extra(messages: Numbered) -> Extra | None:
    """None if there are no copies."""
    order, group = _groups(messages)
    number = np.bincount(group)
    if not np.any(number > 1):
        return None
    several = number[group] > 1
    places = order[several]
    found = Numbered(*(column[places] for column in messages))
    group = np.unique(group[several], return_inverse=True)[1]
    by_sent = np.lexsort((_late(found.sent), group))
    by_receive = np.lexsort((_late(found.received), group))
    fates = np.zeros(int(group[-1]) + 1, np.int64)
    np.bitwise_or.at(fates, group, found.fate)
    of_all = fates[group]
    lost = _counted(found.fate & LOST != 0, of_all & SAFE == 0, group, by_sent)
    damaged = _counted(found.fate & DAMAGED != 0, of_all & WHOLE == 0, group, by_sent)
    sent = _counted(found.sent != MISSING, None, group, by_sent)
    received = _counted(found.received != MISSING, None, group, by_receive)
    return Extra(places[sent], places[received], places[lost], places[damaged])


def first_of_each(
    sent: Ints, high: Ints, low: Ints, received: Ints, sender: Ints, seq: Ints
) -> NDArray[np.bool_] | None:
    """Which messages to keep, so that of copies the one that came first remains; None if there are no copies."""
    known = np.flatnonzero(sender)
    columns = (low.view(np.uint64), high.view(np.uint64), sent, received, seq, sender)
    order = known[np.lexsort([column[known] for column in columns])]
    again = order[1:][(sender[order][1:] == sender[order][:-1]) & (seq[order][1:] == seq[order][:-1])]
    if len(again) == 0:
        return None
    keep = np.ones(len(sender), np.bool_)
    keep[again] = False
    return keep


def _groups(messages: Numbered) -> tuple[Ints, Ints]:
    """Messages with those of the same number side by side, and numbers for these groups."""
    order = np.lexsort((messages.seq, messages.sender))
    sender, seq = messages.sender[order], messages.seq[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (sender[1:] != sender[:-1]) | (seq[1:] != seq[:-1])
    return order.astype(np.int64, copy=False), np.cumsum(begins) - 1


def _late(times: Ints) -> Ints:
    return np.where(times == MISSING, _NEVER, times)


def _counted(mask: NDArray[np.bool_], stays: NDArray[np.bool_] | None, group: Ints, order: Ints) -> Ints:
    """Members that were counted and should not have been: all but the first of a group, or all if none `stays`."""
    members = order[mask[order]]
    surplus = np.zeros(len(members), np.bool_)
    surplus[1:] = group[members][1:] == group[members][:-1]
    if stays is not None:
        surplus |= ~stays[members]
    return members[surplus]
