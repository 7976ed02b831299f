"""The compiled loop of the simulator: one event after the other, as `rockdove.capacity.vma.scenario` tells it.

A message is a slot: a number into arrays. Queues are chains of slots, so that a lost message can return to the head,
and only one size grows, that of the arrays. Each of the five kinds of events has its next one at hand: the arrival; the
first sender thread to finish; the first message on the link, all of which take the same time; the first broker thread
to finish; the first invisible message to return. A delivery changes nothing that others see, and needs no event.
"""

from typing import Any

import numpy as np

from rockdove.capacity.compiled import compiled
from rockdove.capacity.vma.chain import NONE, append, prepend
from rockdove.capacity.vma.heap import pop, push, replace

Array = np.ndarray[Any, Any]

# Slots to begin with; a power of two.
_SLOTS = 256
# What happens next.
_ARRIVES, _SENT, _REACHES, _SERVED, _RETURNS = range(5)


@compiled
def draw(random: Any, rate: float, scv: float) -> float:
    """A service time."""
    if scv == 1.0:
        return float(random.standard_exponential() / rate)
    if scv == 0.0:
        return 1.0 / rate
    return float(random.standard_gamma(1.0 / scv) * scv / rate)


@compiled
def wider(values: Array) -> Array:
    """Twice as many, the old ones first."""
    made = np.empty(2 * len(values), values.dtype)
    made[: len(values)] = values
    return made


@compiled
def linked(follower: Array, first: int) -> int:
    """Makes one chain of the slots from `first` on; gives its beginning."""
    for slot in range(first, len(follower)):
        follower[slot] = slot + 1
    follower[-1] = NONE
    return first


@compiled
def rehold(held: Array, number: Array) -> Array:
    """The same messages in twice the room: a message is at its number, modulo the room."""
    made = np.full(2 * len(held), NONE)
    for slot in held:
        if slot != NONE:
            made[number[slot] & (len(made) - 1)] = slot
    return made


@compiled
def release(
    held: Array, slot: int, expected: int, first: int, last: int, follower: Array, number: Array
) -> tuple[int, int, int]:
    """Holds the message until all before it are there; gives the number expected next, and the queue's new ends."""
    room = len(held) - 1
    held[number[slot] & room] = slot
    while held[expected & room] != NONE:
        first, last = append(first, last, follower, held[expected & room])
        held[expected & room] = NONE
        expected += 1
    return expected, first, last


@compiled
def run(
    random: Any,
    arrival: float,
    rates: tuple[float, float],
    scvs: tuple[float, float],
    threads: tuple[int, int],
    q: float,
    link_s: float,
    timeout_s: float,
    in_order: bool,
    duration_s: float,
    warm_up_s: float,
    deliveries_s: Array,
) -> tuple[int, float, float, float, float, float, float]:
    """Deliveries, the sum of their times, and integrals: waiting, busy senders, busy broker, active ones of each.

    The first delivery times go to `deliveries_s`, as many as there is room for.
    """
    # Slots: when each arrived, its number, when it is through the link or was taken, and who follows it in its queue.
    born, number, moment = np.empty(_SLOTS), np.empty(_SLOTS, np.int64), np.empty(_SLOTS)
    follower = np.empty(_SLOTS, np.int64)
    free = linked(follower, 0)
    # Messages that in-order holds, by number; they, and all that they wait for, are in slots, so that this is room.
    held = np.full(_SLOTS, NONE)
    expected, numbered = 0, 0
    # Threads at work, and what is invisible.
    sending_s, sending, busy1 = np.empty(threads[0]), np.empty(threads[0], np.int64), 0
    serving_s, serving, busy2 = np.empty(threads[1]), np.empty(threads[1], np.int64), 0
    return_s, returning, invisible = np.empty(_SLOTS), np.empty(_SLOTS, np.int64), 0
    # The first and the last of each queue.
    for_sender, for_sender_end, on_link, on_link_end, for_broker, for_broker_end = NONE, NONE, NONE, NONE, NONE, NONE
    waiting, delivered = 0, 0
    spent_s, waiting_s, busy1_s, busy2_s, active1_s, active2_s = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    last = warm_up_s
    next_arrival = random.standard_exponential() / arrival

    while True:
        now, kind = next_arrival, _ARRIVES
        if busy1 > 0 and sending_s[0] < now:
            now, kind = sending_s[0], _SENT
        if on_link != NONE and moment[on_link] < now:
            now, kind = moment[on_link], _REACHES
        if busy2 > 0 and serving_s[0] < now:
            now, kind = serving_s[0], _SERVED
        if invisible > 0 and return_s[0] < now:
            now, kind = return_s[0], _RETURNS
        passed = min(now, duration_s) - last
        if passed > 0:
            waiting_s += waiting * passed
            busy1_s += busy1 * passed
            busy2_s += busy2 * passed
            active1_s += passed if busy1 > 0 else 0.0
            active2_s += passed if busy2 > 0 else 0.0
            last = now
        if now >= duration_s:
            break

        if kind == _ARRIVES:
            next_arrival = now + random.standard_exponential() / arrival
            if free == NONE:
                born, number, moment, follower = wider(born), wider(number), wider(moment), wider(follower)
                return_s, returning = wider(return_s), wider(returning)
                held = rehold(held, number)
                free = linked(follower, len(follower) // 2)
            slot = free
            free = follower[slot]
            born[slot], number[slot] = now, numbered
            numbered += 1
            if busy1 < threads[0]:
                push(sending_s, sending, busy1, now + draw(random, rates[0], scvs[0]), slot)
                busy1 += 1
            else:
                for_sender, for_sender_end = append(for_sender, for_sender_end, follower, slot)
                waiting += 1
        elif kind == _SENT:
            slot = sending[0]
            if for_sender != NONE:
                replace(sending_s, sending, busy1, now + draw(random, rates[0], scvs[0]), for_sender)
                for_sender = follower[for_sender]
                waiting -= 1
            else:
                pop(sending_s, sending, busy1)
                busy1 -= 1
            moment[slot] = now + link_s
            on_link, on_link_end = append(on_link, on_link_end, follower, slot)
        elif kind == _SERVED:
            slot = serving[0]
            over_s, visible_s = now + link_s, moment[slot] + timeout_s
            if for_broker != NONE:
                replace(serving_s, serving, busy2, now + draw(random, rates[1], scvs[1]), for_broker)
                moment[for_broker] = now
                for_broker = follower[for_broker]
                waiting -= 1
            else:
                pop(serving_s, serving, busy2)
                busy2 -= 1
            if q < 1.0 and random.random() >= q:
                push(return_s, returning, invisible, max(over_s, visible_s), slot)
                invisible += 1
            else:
                follower[slot] = free
                free = slot
                if warm_up_s <= over_s < duration_s:
                    spent_s += over_s - born[slot]
                    if delivered < len(deliveries_s):
                        deliveries_s[delivered] = over_s - born[slot]
                    delivered += 1
        else:
            waiting += 1
            if kind == _RETURNS:
                for_broker, for_broker_end = prepend(for_broker, for_broker_end, follower, returning[0])
                pop(return_s, returning, invisible)
                invisible -= 1
            else:
                slot = on_link
                on_link = follower[on_link]
                if in_order:
                    expected, for_broker, for_broker_end = release(
                        held, slot, expected, for_broker, for_broker_end, follower, number
                    )
                else:
                    for_broker, for_broker_end = append(for_broker, for_broker_end, follower, slot)
            while for_broker != NONE and busy2 < threads[1]:
                push(serving_s, serving, busy2, now + draw(random, rates[1], scvs[1]), for_broker)
                moment[for_broker] = now
                for_broker = follower[for_broker]
                busy2 += 1
                waiting -= 1

    return delivered, spent_s, waiting_s, busy1_s, busy2_s, active1_s, active2_s
