"""The owner of a store: accepts front-ends, and tells them what happens.

A front-end that is lost takes nothing with it: what it had claimed, and had not delivered, is visible again at once.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from typing import Protocol

from rockdove.core.clock import Clock, SystemClock
from rockdove.store.base import Change, Physical, QueueDropped, QueuePut, Store
from rockdove.store.common.arrivals import ArrivalListeners
from rockdove.store.common.gone import GonePhysical
from rockdove.store.common.ledger import Ledger
from rockdove.store.remote import asked, told
from rockdove.store.remote.frontend import FrontEnd

# Seconds between two looks at the store's state, and after how many front-ends are told in any case.
STATE_S = 0.1
BEAT = 10
# After so many looks, or with so many physical queues, those are let go that were not asked for since the last time.
PAGE = 600
MOST_PLACES = 5_000
CAPABILITIES = ("browsing", "upkeep", "transfers", "leases", "publications")
# Process, user and group of who is at the other end.
_CREDENTIALS = struct.Struct("3i")
# Seconds that front-ends have to answer a question.
QUESTION_S = 1.0


class Owned(Store, Protocol):
    """A store that is in this process."""

    @property
    def arrivals(self) -> ArrivalListeners: ...

    @property
    def ledger(self) -> Ledger: ...

    def held_by(self, process: int) -> None:
        """Before it is opened: this is the process to stop for who wants the data."""

    def be_shared(self) -> None:
        """This process does nothing but serve front-ends: be quick rather than thrifty."""


class Owner:
    """Serves a store that is open. Made inside the event loop that drives it."""

    def __init__(self, store: Owned, clock: Clock) -> None:
        self.store: Store = store
        store.be_shared()
        self.arrivals = store.arrivals
        self.clock = clock
        self._ledger = store.ledger
        # Whoever says something to them goes by a copy: one whose connection is found to be broken leaves at once.
        self._front_ends: set[FrontEnd] = set()
        # Physical queues that were asked for of late: since the last turn of the page, and since the one before.
        self._places: dict[int, Physical] = {}
        self._places_before: dict[int, Physical] = {}
        self._listening: socket.socket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looks = 0
        self._state = self._look_at_state()
        self._questions: dict[int, asyncio.Future[bytes]] = {}
        self._question = 0
        # Called with what front-ends tell everybody, and answering what they ask for, by topic.
        self.told: dict[str, Callable[[bytes], None]] = {}
        self.calls: dict[str, Callable[[bytes, Callable[[bytes], None]], None]] = {}
        # Called when a front-end is lost.
        self.on_leave: Callable[[FrontEnd], None] = lambda front_end: None
        store.records.subscribe(self._changed, lambda snapshot: None)

    def start(self, listening: socket.socket) -> None:
        """``listening`` is bound, and listens."""
        self._listening = listening
        listening.setblocking(False)
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)
        self._watch_state()

    def _accept(self, listening: socket.socket) -> None:
        try:
            sock, _ = listening.accept()
        except OSError:
            return
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, user, _ = _CREDENTIALS.unpack(raw)
        if user != os.geteuid():
            sock.close()
            return
        front_end = FrontEnd(self, sock)
        self._front_ends.add(front_end)
        there = [name for name in CAPABILITIES if getattr(self.store, name) is not None]
        store = self.store
        begin = told.Begin(self._ledger.snapshot(), self._look_at_state(), there, store.name, store.has_fast_claims)
        front_end.send(begin)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
        for front_end in list(self._front_ends):
            front_end.hang_up()

    # For front-ends, see `rockdove.store.remote.frontend.Desk`.

    def physical(self, number: int) -> Physical:
        return self._places.get(number) or self._find(number)

    def _find(self, number: int) -> Physical:
        found = self._places_before.get(number)
        if found is None:
            queue = self._ledger.queue_with(number)
            if queue is None:
                return GonePhysical(number)
            found = self.store.physical(queue, next(part for part in queue.physical if part.number == number))
        if len(self._places) >= MOST_PLACES:
            self._turn_page()
        self._places[number] = found
        return found

    def _turn_page(self) -> None:
        """Let go of what nobody has asked for: the store keeps what holds messages."""
        self._places, self._places_before = {}, self._places

    def leave(self, front_end: FrontEnd) -> None:
        if front_end in self._front_ends:
            self._front_ends.discard(front_end)
            self.on_leave(front_end)

    def hear(self, front_end: FrontEnd, tell: asked.Tell) -> None:
        for other in list(self._front_ends):
            if other is not front_end:
                other.send(told.Passed(tell.topic, tell.payload))
        listener = self.told.get(tell.topic)
        if listener is not None:
            listener(tell.payload)

    def call(self, topic: str, payload: bytes, done: Callable[[bytes], None]) -> None:
        self.calls[topic](payload, done)

    def reply(self, reply: asked.Answer) -> None:
        future = self._questions.pop(reply.number, None)
        if future is not None and not future.done():
            future.set_result(reply.payload)

    # Of front-ends.

    async def question(self, topic: str) -> dict[FrontEnd, bytes]:
        """Ask all front-ends; what those say who answer in time."""
        loop = asyncio.get_running_loop()
        waiting: dict[FrontEnd, tuple[int, asyncio.Future[bytes]]] = {}
        for front_end in list(self._front_ends):
            self._question += 1
            self._questions[self._question] = future = loop.create_future()
            waiting[front_end] = (self._question, future)
            front_end.send(told.Question(self._question, topic))
        if waiting:
            await asyncio.wait([future for _, future in waiting.values()], timeout=QUESTION_S)
        for number, _ in waiting.values():
            self._questions.pop(number, None)
        return {front_end: future.result() for front_end, (_, future) in waiting.items() if future.done()}

    # What everybody is told.

    def _changed(self, change: Change) -> None:
        if isinstance(change, QueuePut | QueueDropped):
            # What it had may be gone.
            self._places.clear()
            self._places_before.clear()
        for front_end in list(self._front_ends):
            front_end.send(told.Changed(change))

    def _look_at_state(self) -> told.State:
        offset_us = self.clock.offset_us if isinstance(self.clock, SystemClock) else None
        return told.State(self.store.full, self.store.trouble, self.store.effort, offset_us)

    def _watch_state(self) -> None:
        state = self._look_at_state()
        self._looks += 1
        if not self._looks % PAGE:
            self._turn_page()
        # Now and then also without news: front-ends shall know that the owner is alive.
        if state != self._state or not self._looks % BEAT:
            self._state = state
            for front_end in list(self._front_ends):
                front_end.send(state)
        self._timer = asyncio.get_running_loop().call_later(STATE_S, self._watch_state)
