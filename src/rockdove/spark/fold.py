"""The compiled loop over events: it brings the events of each message together, and counts.

Both sides may have recorded the same operation: a message's sends, receives, deletes and changes of visibility count by
the client's events if there are any, else by the server's.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rockdove.capacity.compiled import compiled
from rockdove.spark import copy
from rockdove.spark.message_id import number
from rockdove.spark.order import Ints
from rockdove.spark.row import (
    BROKEN,
    BY_CLIENT,
    CHANGE,
    DEAD_LETTER,
    DELETE,
    EXPIRE,
    HASH_BITS,
    HASH_MASK,
    LATENCY_SHIFT,
    MISS,
    MISSING,
    OP_MASK,
    PURGE,
    RECEIVE,
    REDRIVE,
    REST_MASK,
    SEND,
    SUCCESS,
    Rows,
)

# What is counted in each cell, by its place in a row of `Cells.counts`. Failures and misses are counted for each side.
SENT, RECEIVED, RECEIVES, DELETED, EXPIRED, DEAD_LETTERED, REDRIVEN, PURGED, LOST, DAMAGED = range(10)
FAILED, FAILED_BY_CLIENT, MISSES, MISSES_BY_CLIENT = range(10, 14)
ENTERED, STARTED, LEFT = range(14, 17)
COUNTS: Final = 17

# How many entries of the book's lists are in use, by their place in `Book.sizes`; the number of the queue at hand; and
# how many cells or events make the book full. It ends with a queue, which may have any number of events.
MESSAGES, RESPONSES, DELIVERIES, REQUESTS, SPELLS, NUMBERED, PURGES = range(7)
CELLS, QUEUES, EVENTS, SORTED_PURGES, NUMBER, MOST_CELLS, MOST_EVENTS = range(7, 14)
SIZES: Final = 14

# What is known of each queue, by its place in a row of `Book.facts`.
LAST_SEND, LAST_RECEIVE, LAST_MISS, CLIENT_ASKED, CLIENT_FAILED, SEEN, FIRST, LAST = range(8)
FIRST_MESSAGE, FIRST_SPELL, FIRST_CELL, NAMED = range(8, 12)
FACTS: Final = 12

# Later than all times.
LATEST: Final = 2**63 - 1
# A latency and its cell share 64 bits, so that one sort serves both.
LATENCY_BITS: Final = 43
LONGEST_US: Final = (1 << LATENCY_BITS) - 1
# Cells that an event makes, at most: its own, and when its message came, left and was purged.
CELLS_AN_EVENT: Final = 6
# Runs of events longer than this are sorted by time before they are sorted by message.
LONG_RUN: Final = 32
# Queues share lists: what is told apart by a hash has the place of its queue mixed in.
MIX: Final = 0x1E3779B97F4A7C16


class Cells(NamedTuple):
    """Counts of a queue in a window. There is a cell only where something is counted."""

    begin: int
    width: int
    # For each window its cell in the queue at hand, or -1.
    slots: Ints
    # For each cell its window, the place of its queue, and its counts.
    window: Ints
    queue: Ints
    counts: NDArray[np.int64]


class Book(NamedTuple):
    """What is known of some queues: counts by cell, and lists that `sizes` has the lengths of."""

    cells: Cells
    sizes: Ints
    # One row for each queue.
    facts: NDArray[np.int64]
    # For each message received whose place in the order is known; `cell` is that of its first receive.
    sent: Ints
    high: Ints
    low: Ints
    received: Ints
    sender: Ints
    seq: Ints
    cell: Ints
    # (cell << LATENCY_BITS) | microseconds.
    responses: Ints
    deliveries: Ints
    # For each receive: its cell, and a hash that messages of one request share.
    asked: Ints
    request: Ints
    # From a message's last receive to its deletion.
    work_begin: Ints
    work_end: Ints
    # The columns of `copy.Numbered`, for each message whose sender is known.
    who: Ints
    which: Ints
    went: Ints
    came: Ints
    fate: Ints
    went_cell: Ints
    came_cell: Ints
    # When the queue at hand was purged; sorted as far as `SORTED_PURGES` tells.
    purges: Ints


def facts_of_all(facts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row of a queue from those that several tasks have of it, whose lists are one after the other."""
    whole = facts[:1].copy()
    for place in (LAST_SEND, LAST_RECEIVE, LAST_MISS, LAST, CLIENT_ASKED, CLIENT_FAILED):
        whole[0, place] = facts[:, place].max()
    whole[0, FIRST], whole[0, SEEN] = facts[:, FIRST].min(), facts[:, SEEN].sum()
    return whole


# Functions take the arrays that they use, not `Rows` and `Book`: to hand over thirty arrays costs more than the work of
# an event.


@compiled
def fold(rows: Rows, begin: int, end: int, book: Book) -> int:
    """Count events from row `begin` on, all of a message at once; gives the row before which it stopped.

    That is `end`, or the first one of a queue when the book is full.
    """
    key, kind, time, cells, sizes = rows.key, rows.kind, rows.time, book.cells, book.sizes
    order = np.empty(LONG_RUN, np.int64)
    row = begin
    while row < end:
        if key[row] >> HASH_BITS != sizes[NUMBER]:
            if sizes[CELLS] >= sizes[MOST_CELLS] or sizes[EVENTS] >= sizes[MOST_EVENTS]:
                return row
            _open(key[row] >> HASH_BITS, cells.slots, cells.window, sizes, book.facts)
        facts = book.facts[sizes[QUEUES] - 1]
        stop = row + 1
        _note_event(kind[row], time[row], cells, sizes, facts)
        if key[row] & HASH_MASK == 0:
            _count_lone(kind[row], time[row], cells, sizes, facts, book.purges)
            row = stop
            continue
        if sizes[SORTED_PURGES] != sizes[PURGES]:
            # Events of no message have the lowest keys: there are no more of them.
            book.purges[: sizes[PURGES]] = np.sort(book.purges[: sizes[PURGES]])
            sizes[SORTED_PURGES] = sizes[PURGES]
        while stop < end and key[stop] == key[row]:
            _note_event(kind[stop], time[stop], cells, sizes, facts)
            stop += 1
        if stop - row > len(order):
            order = np.empty(2 * (stop - row), np.int64)
        _sort(kind, time, row, stop, order)
        first, length = 0, stop - row
        while first < length:
            last = first + 1
            while last < length and (kind[order[first]] ^ kind[order[last]]) & REST_MASK == 0:
                last += 1
            _count_message(rows, order, first, last, book, facts)
            first = last
        row = stop
    return row


@compiled
def _open(queue: int, slots: Ints, window: Ints, sizes: Ints, facts: Ints) -> None:
    """Begin with the next queue."""
    place = sizes[QUEUES]
    if place:
        for cell in range(facts[place - 1, FIRST_CELL], sizes[CELLS]):
            slots[window[cell]] = -1
    sizes[QUEUES] += 1
    sizes[NUMBER] = queue
    sizes[PURGES] = 0
    sizes[SORTED_PURGES] = 0
    row = facts[place]
    row[:] = 0
    row[LAST_SEND] = row[LAST_RECEIVE] = row[LAST_MISS] = row[LAST] = MISSING
    row[FIRST] = LATEST
    row[FIRST_MESSAGE], row[FIRST_SPELL], row[FIRST_CELL] = sizes[MESSAGES], sizes[SPELLS], sizes[CELLS]
    row[NAMED] = queue


@compiled
def _cell(cells: Cells, sizes: Ints, time: int) -> int:
    """The cell of the queue at hand for a moment."""
    window = max(0, min((time - cells.begin) // cells.width, len(cells.slots) - 1))
    cell: int = cells.slots[window]
    if cell < 0:
        cell = sizes[CELLS]
        sizes[CELLS] += 1
        cells.slots[window] = cell
        cells.window[cell], cells.queue[cell] = window, sizes[QUEUES] - 1
        cells.counts[cell] = 0
    return cell


@compiled
def _note_event(kind: int, time: int, cells: Cells, sizes: Ints, facts: Ints) -> None:
    sizes[EVENTS] += 1
    facts[SEEN] += 1
    facts[FIRST] = min(facts[FIRST], time)
    facts[LAST] = max(facts[LAST], time)
    if not kind & SUCCESS:
        side = FAILED_BY_CLIENT if kind & BY_CLIENT else FAILED
        cells.counts[_cell(cells, sizes, time), side] += 1
        if kind & BY_CLIENT:
            facts[CLIENT_FAILED] = 1
    if kind & BY_CLIENT and (kind & OP_MASK == RECEIVE or kind & OP_MASK == MISS):
        facts[CLIENT_ASKED] = 1


@compiled
def _count_lone(kind: int, time: int, cells: Cells, sizes: Ints, facts: Ints, purges: Ints) -> None:
    """An event of no message."""
    if not kind & SUCCESS:
        return
    op = kind & OP_MASK
    if op == MISS:
        side = MISSES_BY_CLIENT if kind & BY_CLIENT else MISSES
        cells.counts[_cell(cells, sizes, time), side] += 1
        facts[LAST_MISS] = max(facts[LAST_MISS], time)
    elif op == PURGE:
        purges[sizes[PURGES]] = time
        sizes[PURGES] += 1


@compiled
def _sort(kind: Ints, time: Ints, begin: int, end: int, order: Ints) -> None:
    """The rows of a run by message, then by time. Nearly always they are of one message: keys hardly ever meet."""
    if end - begin > LONG_RUN:
        order[: end - begin] = begin + np.argsort(time[begin:end], kind="mergesort")
    else:
        for index in range(end - begin):
            order[index] = begin + index
    for index in range(1, end - begin):
        row, place = order[index], index
        while place > 0 and _is_later(kind, time, order[place - 1], row):
            order[place] = order[place - 1]
            place -= 1
        order[place] = row


@compiled
def _is_later(kind: Ints, time: Ints, one: int, other: int) -> bool:
    if (kind[one] ^ kind[other]) & REST_MASK != 0:
        return bool(kind[one] & REST_MASK > kind[other] & REST_MASK)
    if time[one] != time[other]:
        return bool(time[one] > time[other])
    return bool(kind[one] & OP_MASK > kind[other] & OP_MASK)


@compiled
def _count_message(rows: Rows, order: Ints, first: int, last: int, book: Book, facts: Ints) -> None:
    """All events of one message, by time: the rows in `order` from `first` up to `last`."""
    cells, sizes = book.cells, book.sizes
    counts, mixed = cells.counts, (sizes[QUEUES] - 1) * MIX
    by_client = 0
    enqueued, enqueued_by_client = LATEST, LATEST
    sender, seq = 0, 0
    for index in range(first, last):
        row = order[index]
        kind = rows.kind[row]
        if kind & BY_CLIENT and kind & SUCCESS:
            by_client |= 1 << (kind & OP_MASK)
        if rows.enqueued[row] != MISSING:
            # The first: a send that was taken for a copy of an earlier one has a later time, and moves nothing.
            if kind & BY_CLIENT:
                enqueued_by_client = min(enqueued_by_client, rows.enqueued[row])
            else:
                enqueued = min(enqueued, rows.enqueued[row])
        if rows.sender[row] != 0:
            # Its last bit is set, and stays.
            sender, seq = rows.sender[row] ^ mixed, rows.seq[row]
    # The server knows it to the microsecond, a client to the millisecond.
    if enqueued == LATEST:
        enqueued = enqueued_by_client
    if enqueued == LATEST:
        enqueued = MISSING

    sent, received, deleted, gone, held = MISSING, MISSING, MISSING, MISSING, MISSING
    born = MISSING
    sent_cell, received_cell = 0, 0
    intact, heard = False, False
    named = order[first]
    for index in range(first, last):
        row = order[index]
        kind, time = rows.kind[row], rows.time[row]
        op = kind & OP_MASK
        if not kind & SUCCESS or (by_client >> op & 1 and not kind & BY_CLIENT):
            continue
        heard = True
        cell = _cell(cells, sizes, time)
        if op in (SEND, RECEIVE, DELETE, CHANGE) and kind >> LATENCY_SHIFT >= 0:
            book.responses[sizes[RESPONSES]] = cell << LATENCY_BITS | kind >> LATENCY_SHIFT
            sizes[RESPONSES] += 1
        if op == SEND:
            # Once more is a copy that the service has not taken: nothing came into the queue.
            if sent == MISSING:
                sent, born, sent_cell = time, rows.sent[row], cell
                counts[cell, SENT] += 1
                facts[LAST_SEND] = max(facts[LAST_SEND], time)
        elif op == RECEIVE:
            facts[LAST_RECEIVE] = max(facts[LAST_RECEIVE], time)
            counts[cell, RECEIVES] += 1
            book.asked[sizes[REQUESTS]] = cell
            book.request[sizes[REQUESTS]] = rows.request[row] ^ mixed
            sizes[REQUESTS] += 1
            intact = intact or not kind & BROKEN
            held = time
            if received == MISSING:
                received, received_cell, named = time, cell, row
                counts[cell, RECEIVED] += 1
                start = rows.sent[row] if rows.sent[row] != MISSING else born
                if start != MISSING:
                    waited = min(max(time - start, 0), LONGEST_US)
                    book.deliveries[sizes[DELIVERIES]] = cell << LATENCY_BITS | waited
                    sizes[DELIVERIES] += 1
        elif op == DELETE and deleted == MISSING:
            deleted = time
            counts[cell, DELETED] += 1
            if held != MISSING:
                book.work_begin[sizes[SPELLS]] = held
                book.work_end[sizes[SPELLS]] = time
                sizes[SPELLS] += 1
        elif op in (EXPIRE, DEAD_LETTER, REDRIVE) and gone == MISSING:
            gone = time
            place = EXPIRED if op == EXPIRE else DEAD_LETTERED if op == DEAD_LETTER else REDRIVEN
            counts[cell, place] += 1

    if deleted != MISSING:
        gone = deleted if gone == MISSING else min(gone, deleted)
    # Failures alone do not tell that it ever was in the queue.
    entered = sent if sent != MISSING else enqueued if heard else MISSING
    if gone == MISSING and entered != MISSING:
        # The first purge after which nothing was heard of it.
        purge = np.searchsorted(book.purges[: sizes[PURGES]], max(entered, held))
        if purge < sizes[PURGES]:
            gone = book.purges[purge]
            counts[_cell(cells, sizes, gone), PURGED] += 1
    lost = sent != MISSING and received == MISSING and gone == MISSING
    damaged = sent != MISSING and received != MISSING and not intact
    if lost:
        counts[sent_cell, LOST] += 1
    if damaged:
        counts[sent_cell, DAMAGED] += 1
    if sender != 0:
        place = sizes[NUMBERED]
        sizes[NUMBERED] += 1
        book.who[place], book.which[place], book.went[place], book.came[place] = sender, seq, sent, received
        book.went_cell[place], book.came_cell[place] = sent_cell, received_cell
        book.fate[place] = (
            (copy.LOST if lost else 0)
            | (copy.DAMAGED if damaged else 0)
            | (copy.WHOLE if intact else 0)
            | (copy.SAFE if received != MISSING or gone != MISSING else 0)
        )
    _count_stay(cells, sizes, entered, received, gone)
    if received != MISSING and enqueued != MISSING:
        place = sizes[MESSAGES]
        sizes[MESSAGES] += 1
        book.sent[place], book.received[place], book.cell[place] = enqueued, received, received_cell
        book.sender[place], book.seq[place] = sender, seq
        book.high[place], book.low[place] = number(rows.offsets, rows.data, named)


@compiled
def _count_stay(cells: Cells, sizes: Ints, entered: int, received: int, gone: int) -> None:
    """When the message came, when it no longer waited for its first receive, and when it was gone."""
    if entered == MISSING:
        return
    cells.counts[_cell(cells, sizes, entered), ENTERED] += 1
    if received != MISSING or gone != MISSING:
        start = received if gone == MISSING else gone if received == MISSING else min(received, gone)
        cells.counts[_cell(cells, sizes, max(start, entered)), STARTED] += 1
    if gone != MISSING:
        cells.counts[_cell(cells, sizes, max(gone, entered)), LEFT] += 1
