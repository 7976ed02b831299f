"""What clients hold of the service's memory with what they have not finished, and who takes too long."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol

from rockdove.server.allocator import trim
from rockdove.server.board import Board, Seat
from rockdove.server.limit import Limits

# Seconds between two looks at all connections, unless a limit is shorter.
SWEEP_S = 1.0
# Of large requests, so many bytes are served at once, in all processes: they are in memory several times until they are
# stored.
SERVED_BYTES = 8 * 1024 * 1024
# Who makes room makes it down to this share: to look at all holders for each that comes would take its time.
ROOM = 0.9
# When so much was held, and half of it is free again, memory is given back to the system.
MUCH_BYTES = 16 * 1024 * 1024
# So much of large requests is read in one round of the event loop.
READ_BYTES = 512 * 1024
# So many of those that wait are served in one round of the event loop, and of all large ones so many bytes: to decode
# them costs time.
GRANTS = 8
BEGUN_BYTES = 1024 * 1024


class Held(Protocol):
    """A connection, as far as it can hold things up."""

    def check_time(self, now_s: float) -> None:
        """End what takes too long."""

    def is_settled(self) -> bool:
        """Whether it holds nothing any more, though the book may say so until the next look."""

    def let_go(self) -> bool:
        """Memory is short: refuse what is unfinished. False if there is nothing that can be refused."""


class Guard:
    """One for all connections. A request that arrives in one piece, and whose answer is taken, costs nothing here."""

    def __init__(self, limits: Limits, seat: Seat | None = None) -> None:
        """``seat``: of this process, among those that the bound is for together."""
        self.limits = limits
        self._seat = seat or Board().seat()
        # Who holds how many bytes, the longest holder first.
        self._held: dict[Held, int] = {}
        self._bytes = 0
        # The most since memory was last given back.
        self._most = 0
        self._timer: asyncio.TimerHandle | None = None
        # Of large requests: bytes that are being served, and who waits for a turn.
        self._served = 0
        self._line: deque[tuple[int, Callable[[int], None]]] = deque()
        self._is_granting = False
        # Of those that were begun in this round of the event loop.
        self._begun_bytes = 0
        # Of large requests: what was read of them in this round of the event loop, and who waits for the next.
        self._read_bytes = 0
        self._readers: deque[tuple[int, Callable[[], None]]] = deque()

    @property
    def held_bytes(self) -> int:
        return self._bytes

    def hold(self, holder: Held, number: int) -> None:
        """So many bytes are held by this one now. If that is too much, the oldest large holder has to let go."""
        self._add(number - self._held.get(holder, 0))
        self._held[holder] = number
        if self._is_too_much():
            self._make_room()

    def lessen(self, holder: Held, number: int) -> None:
        """It holds only so many bytes of what it held."""
        if holder in self._held:
            self._add(number - self._held[holder])
            self._held[holder] = number
            if not number:
                del self._held[holder]

    def free(self, holder: Held) -> None:
        self._add(-self._held.pop(holder, 0))

    def _add(self, number: int) -> None:
        self._bytes += number
        self._most = max(self._most, self._bytes)
        self._seat.buffered.add(number)

    def _is_too_much(self, share: float = 1.0) -> bool:
        """All processes together hold too much, and this one more than its share of that."""
        most = int(self.limits.max_buffered_bytes * share)
        if self._bytes > most:
            return True
        return self._seat.buffered.total() > most and self._bytes > most // self._seat.size

    def _make_room(self) -> None:
        for holder in [each for each in self._held if each.is_settled()]:
            self.free(holder)
        # Who holds far less than others do is not to blame, however long ago it began.
        little = self._bytes / max(len(self._held), 1) / 10
        for holder, _ in sorted(self._held.items(), key=lambda held: held[1] < little):
            if not self._is_too_much(ROOM):
                return
            if holder.let_go():
                self.free(holder)

    # Turns of large requests.

    def begin(self, number: int, granted: Callable[[int], None]) -> bool:
        """Whether a request of so many bytes may be served now.

        If not, ``granted`` is called with them when its turn has come, in the order of asking; from then on it has it.
        """
        if self._line or not self._has_room(number):
            self._line.append((number, granted))
            return False
        self._begin(number)
        return True

    def _begin(self, number: int) -> None:
        self._served += number
        if not self._begun_bytes:
            asyncio.get_running_loop().call_soon(self._end_round)
        self._begun_bytes += number

    def _end_round(self) -> None:
        self._begun_bytes = 0
        self._go_on()

    def _has_room(self, number: int) -> bool:
        if self._begun_bytes and self._begun_bytes + number > BEGUN_BYTES:
            return False
        return not self._served or self._served + number <= SERVED_BYTES // self._seat.size

    def end(self, number: int) -> None:
        """It has its answer, or is not served after all."""
        self._served -= number
        self._go_on()

    def _go_on(self) -> None:
        if self._line and not self._is_granting and self._has_room(self._line[0][0]):
            self._is_granting = True
            asyncio.get_running_loop().call_soon(self._grant)

    def _grant(self) -> None:
        """Some of those that wait; then others have a turn, who may ask for less."""
        self._is_granting = False
        try:
            for _ in range(GRANTS):
                if not self._line or not self._has_room(self._line[0][0]):
                    return
                size, granted = self._line.popleft()
                self._begin(size)
                granted(size)
        finally:
            self._go_on()

    def may_read(self, number: int, later: Callable[[], None]) -> bool:
        """Whether a request that begins with so many bytes is read at once; else ``later`` is called in its turn.

        To read large ones costs time: of those of many clients, some are read in each round of the event loop.
        """
        if self._readers or self._read_bytes > READ_BYTES:
            self._readers.append((number, later))
            return False
        if not self._read_bytes:
            asyncio.get_running_loop().call_soon(self._next_round)
        self._read_bytes += number
        return True

    def _next_round(self) -> None:
        loop = asyncio.get_running_loop()
        self._read_bytes = 0
        while self._readers and self._read_bytes <= READ_BYTES:
            number, later = self._readers.popleft()
            self._read_bytes += number
            loop.call_soon(later)
        if self._read_bytes:
            loop.call_soon(self._next_round)

    def watch(self, connections: Collection[Held]) -> None:
        """Look at all connections every second, instead of a timer for each request."""
        limits, loop = self.limits, asyncio.get_running_loop()
        shortest = min(
            limits.header_timeout_s, limits.body_timeout_s, limits.write_timeout_s, limits.idle_timeout_s, 2 * SWEEP_S
        )

        def sweep() -> None:
            now = loop.time()
            for connection in list(connections):
                connection.check_time(now)
            if self._most > MUCH_BYTES and self._bytes < self._most // 2:
                self._most = self._bytes
                trim()
            self._timer = loop.call_later(shortest / 2, sweep)

        sweep()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
