"""The compiled loop over events: it brings the events of each message together, and counts.

Both sides may have recorded the same operation: a message's sends, receives, deletes and changes of visibility count by
the client's events if there are any, else by the server's.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rockdove.capacity.compiled import compiled
from rockdove.spark.order import Ints
from rockdove.spark.row import (
    BROKEN,
    BY_CLIENT,
    CHANGE,
    DEAD_LETTER,
    DELETE,
    EXPIRE,
    HASH_MASK,
    MISS,
    MISSING,
    OP_MASK,
    PURGE,
    RECEIVE,
    REDRIVE,
    SEND,
    SUCCESS,
    Rows,
)

# What is counted in each window, by its place in `Book.counts`. Failures and misses are counted for each side.
SENT, RECEIVED, RECEIVES, DELETED, EXPIRED, DEAD_LETTERED, REDRIVEN, PURGED, LOST, DAMAGED = range(10)
FAILED, FAILED_BY_CLIENT, MISSES, MISSES_BY_CLIENT = range(10, 14)
ENTERED, STARTED, LEFT = range(14, 17)
COUNTS: Final = 17

# Where `Book.facts` has how many entries of its lists are in use, and moments of the queue.
MESSAGES, RESPONSES, DELIVERIES, REQUESTS, SPELLS = range(5)
LAST_SEND, LAST_RECEIVE, LAST_MISS, LAST_PURGE, CLIENT_ASKED, EVENTS, FIRST, LAST = range(5, 13)
FACTS: Final = 13

# A latency and its window share 64 bits, so that one sort serves both.
LATENCY_BITS: Final = 43
LONGEST_US: Final = (1 << LATENCY_BITS) - 1
# Runs of events longer than this are sorted by time before they are sorted by id.
LONG_RUN: Final = 32


class Book(NamedTuple):
    """What is known of a queue: counts by window, and lists that `facts` has the lengths of."""

    begin: int
    width: int
    counts: NDArray[np.int64]
    facts: Ints
    # For each message received whose place in the order is known.
    sent: Ints
    high: Ints
    low: Ints
    received: Ints
    sender: Ints
    seq: Ints
    # (window << LATENCY_BITS) | microseconds.
    responses: Ints
    deliveries: Ints
    # For each receive: its time, and a hash that messages of one request share.
    asked: Ints
    request: Ints
    # From a message's last receive to its deletion.
    work_begin: Ints
    work_end: Ints


@compiled
def fold(rows: Rows, begin: int, end: int, book: Book) -> None:
    """Count the events of one queue from row `begin` up to `end`. All events of a message must be among them."""
    row = begin
    while row < end:
        _note_event(rows, row, book)
        if rows.key[row] & HASH_MASK == 0:
            _count_lone(rows, row, book)
            row += 1
            continue
        stop = row + 1
        while stop < end and rows.key[stop] == rows.key[row]:
            _note_event(rows, stop, book)
            stop += 1
        order = _ordered(rows, row, stop)
        first = 0
        while first < len(order):
            last = first + 1
            while last < len(order) and _compare(rows, order[first], order[last]) == 0:
                last += 1
            _count_message(rows, order[first:last], book)
            first = last
        row = stop


@compiled
def _note_event(rows: Rows, row: int, book: Book) -> None:
    facts, kind, time = book.facts, rows.kind[row], rows.time[row]
    facts[EVENTS] += 1
    facts[FIRST] = min(facts[FIRST], time)
    facts[LAST] = max(facts[LAST], time)
    if not kind & SUCCESS:
        side = FAILED_BY_CLIENT if kind & BY_CLIENT else FAILED
        book.counts[side, _window(book, time)] += 1
    if kind & BY_CLIENT and (kind & OP_MASK == RECEIVE or kind & OP_MASK == MISS):
        facts[CLIENT_ASKED] = 1


@compiled
def _window(book: Book, time: int) -> int:
    last: int = book.counts.shape[1] - 1
    return max(0, min((time - book.begin) // book.width, last))


@compiled
def _count_lone(rows: Rows, row: int, book: Book) -> None:
    """An event of no message."""
    kind, time, facts = rows.kind[row], rows.time[row], book.facts
    if not kind & SUCCESS:
        return
    op = kind & OP_MASK
    if op == MISS:
        side = MISSES_BY_CLIENT if kind & BY_CLIENT else MISSES
        book.counts[side, _window(book, time)] += 1
        facts[LAST_MISS] = max(facts[LAST_MISS], time)
    elif op == PURGE:
        facts[LAST_PURGE] = max(facts[LAST_PURGE], time)


@compiled
def _ordered(rows: Rows, begin: int, end: int) -> Ints:
    """The rows of a run by message, then by time. Nearly always they are of one message: hashes hardly ever meet."""
    order = np.arange(begin, end)
    if end - begin > LONG_RUN:
        order = order[np.argsort(rows.time[begin:end], kind="mergesort")]
    for index in range(1, len(order)):
        row, place = order[index], index
        while place > 0 and _is_later(rows, order[place - 1], row):
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
    return order


@compiled
def _is_later(rows: Rows, one: int, other: int) -> bool:
    compared = _compare(rows, one, other)
    if compared != 0:
        return compared > 0
    if rows.time[one] != rows.time[other]:
        return bool(rows.time[one] > rows.time[other])
    return bool(rows.kind[one] & OP_MASK > rows.kind[other] & OP_MASK)


@compiled
def _compare(rows: Rows, one: int, other: int) -> int:
    """The ids of two rows, byte by byte."""
    a, b = rows.offsets[one], rows.offsets[other]
    a_end, b_end = rows.offsets[one + 1], rows.offsets[other + 1]
    while a < a_end and b < b_end:
        if rows.data[a] != rows.data[b]:
            # A byte has no sign, and a difference of two would have none either.
            return -1 if rows.data[a] < rows.data[b] else 1
        a += 1
        b += 1
    return int((a_end - a) - (b_end - b))


@compiled
def _count_message(rows: Rows, order: Ints, book: Book) -> None:
    """All events of one message, by time."""
    counts, facts = book.counts, book.facts
    by_client = 0
    enqueued, enqueued_by_client = MISSING, MISSING
    sender, seq = 0, 0
    for row in order:
        kind = rows.kind[row]
        if kind & BY_CLIENT and kind & SUCCESS:
            by_client |= 1 << (kind & OP_MASK)
        if rows.enqueued[row] != MISSING:
            if kind & BY_CLIENT:
                enqueued_by_client = rows.enqueued[row]
            else:
                enqueued = rows.enqueued[row]
        if rows.sender[row] != 0:
            sender, seq = rows.sender[row], rows.seq[row]
    # The server knows it to the microsecond, a client to the millisecond.
    if enqueued == MISSING:
        enqueued = enqueued_by_client

    sent, received, deleted, gone, held = MISSING, MISSING, MISSING, MISSING, MISSING
    born = MISSING
    intact = False
    for row in order:
        kind, time = rows.kind[row], rows.time[row]
        op = kind & OP_MASK
        if not kind & SUCCESS or (by_client >> op & 1 and not kind & BY_CLIENT):
            continue
        window = _window(book, time)
        if op in (SEND, RECEIVE, DELETE, CHANGE) and rows.latency[row] >= 0:
            book.responses[facts[RESPONSES]] = window << LATENCY_BITS | min(rows.latency[row], LONGEST_US)
            facts[RESPONSES] += 1
        if op == SEND:
            facts[LAST_SEND] = max(facts[LAST_SEND], time)
            if sent == MISSING:
                sent, born = time, rows.sent[row]
                counts[SENT, window] += 1
        elif op == RECEIVE:
            facts[LAST_RECEIVE] = max(facts[LAST_RECEIVE], time)
            counts[RECEIVES, window] += 1
            book.asked[facts[REQUESTS]] = time
            book.request[facts[REQUESTS]] = rows.request[row]
            facts[REQUESTS] += 1
            intact = intact or not kind & BROKEN
            held = time
            if received == MISSING:
                received = time
                counts[RECEIVED, window] += 1
                start = rows.sent[row] if rows.sent[row] != MISSING else born
                if start != MISSING:
                    waited = min(max(time - start, 0), LONGEST_US)
                    book.deliveries[facts[DELIVERIES]] = window << LATENCY_BITS | waited
                    facts[DELIVERIES] += 1
        elif op == DELETE and deleted == MISSING:
            deleted = time
            counts[DELETED, window] += 1
            if held != MISSING:
                book.work_begin[facts[SPELLS]] = held
                book.work_end[facts[SPELLS]] = time
                facts[SPELLS] += 1
        elif op in (EXPIRE, DEAD_LETTER, REDRIVE) and gone == MISSING:
            gone = time
            place = EXPIRED if op == EXPIRE else DEAD_LETTERED if op == DEAD_LETTER else REDRIVEN
            counts[place, window] += 1

    if deleted != MISSING:
        gone = deleted if gone == MISSING else min(gone, deleted)
    entered = sent if sent != MISSING else enqueued
    if gone == MISSING and entered != MISSING and facts[LAST_PURGE] >= max(entered, received):
        gone = facts[LAST_PURGE]
        counts[PURGED, _window(book, gone)] += 1
    if sent != MISSING and received == MISSING and gone == MISSING:
        counts[LOST, _window(book, sent)] += 1
    if sent != MISSING and received != MISSING and not intact:
        counts[DAMAGED, _window(book, sent)] += 1
    _count_stay(book, entered, received, gone)
    if received != MISSING and enqueued != MISSING:
        place = facts[MESSAGES]
        facts[MESSAGES] += 1
        book.sent[place], book.received[place] = enqueued, received
        book.sender[place], book.seq[place] = sender, seq
        book.high[place], book.low[place] = _number(rows, order[0])


@compiled
def _count_stay(book: Book, entered: int, received: int, gone: int) -> None:
    """When the message came, when it no longer waited for its first receive, and when it was gone."""
    if entered == MISSING:
        return
    book.counts[ENTERED, _window(book, entered)] += 1
    if received != MISSING or gone != MISSING:
        start = received if gone == MISSING else gone if received == MISSING else min(received, gone)
        book.counts[STARTED, _window(book, max(start, entered))] += 1
    if gone != MISSING:
        book.counts[LEFT, _window(book, max(gone, entered))] += 1


@compiled
def _number(rows: Rows, row: int) -> tuple[int, int]:
    """An id as 128 bits in the same order: all of a UUID, the first 16 bytes of others."""
    begin, end = rows.offsets[row], rows.offsets[row + 1]
    high, low, digits = np.uint64(0), np.uint64(0), 0
    if end - begin == 36:
        for index in range(begin, end):
            digit = _digit(rows.data[index])
            if digit < 0:
                continue
            if digits < 16:
                high = high << np.uint64(4) | np.uint64(digit)
            else:
                low = low << np.uint64(4) | np.uint64(digit)
            digits += 1
        if digits == 32:
            return np.int64(high), np.int64(low)  # type: ignore[return-value]
        high, low = np.uint64(0), np.uint64(0)
    for index in range(16):
        byte = np.uint64(rows.data[begin + index]) if begin + index < end else np.uint64(0)
        if index < 8:
            high = high << np.uint64(8) | byte
        else:
            low = low << np.uint64(8) | byte
    return np.int64(high), np.int64(low)  # type: ignore[return-value]


@compiled
def _digit(character: int) -> int:
    if 48 <= character <= 57:
        return character - 48
    if 97 <= character <= 102:
        return character - 87
    return -1
