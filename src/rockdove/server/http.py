"""The HTTP/1.1 front: one object for each connection, one request at a time on it, no framework in between."""

import asyncio
from collections.abc import Callable
from typing import cast

from rockdove.server.call import Waiting
from rockdove.server.exchange import Exchange, Site
from rockdove.server.intake import Intake
from rockdove.server.outlet import CLOSING, IDLE, LAST, SERVING, STOPPING, Outlet
from rockdove.server.pipeline import Pipeline


class Connection(asyncio.Protocol):
    """A client's connection, put together: what is read, what was sent ahead, what is served, and what is written."""

    # The reading side's own, so that what arrives takes no detour.
    data_received: Callable[[bytes], None]  # type: ignore[assignment]

    def __init__(self, site: Site, leave: Callable[[], None]) -> None:
        """``leave`` is called when the connection has ended."""
        self._leave = leave
        self._connections = site.connections
        self._guard = site.guard
        self._limits = limits = site.guard.limits
        self._outlet = Outlet()
        self._pipeline = Pipeline(self._outlet, limits.max_pipelined)
        self.call = Exchange(site, self._outlet, self._pipeline)
        self._intake = Intake(self, limits, self._outlet, self._pipeline, self.call)
        self.data_received = self._intake.receive
        # How many requests had been read at the last look.
        self._seen = 0

    @property
    def waiting(self) -> Waiting | None:
        return self.call.waiting

    # Protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not derive from asyncio's.
        self._outlet.open(cast(asyncio.Transport, transport))
        self._outlet.on_unread = self.hold
        self._intake.since_s = self._outlet.since_s
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._intake.end()
        self._leave()
        self._outlet.lost()
        self._outlet.be_taken()
        self._pipeline.clear()
        self._guard.free(self)
        self.call.leave()

    def pause_writing(self) -> None:
        """The client does not read its answers: it gets no more of them until it does."""
        self._outlet.congested = True
        if not self._outlet.goes_on:
            self._outlet.begin_to_wait()
            self.hold(anew=True)

    def resume_writing(self) -> None:
        if not self._outlet.go_on():
            self.let_go_of_some()
            return
        self._outlet.be_taken()
        self.hold()
        self._pipeline.serve_next()

    def eof_received(self) -> bool:
        """The client sends no more. If it may still read, it gets its answer; who waits for a message has gone."""
        outlet = self._outlet
        if self._pipeline.ahead and self.waiting is None:
            # All that was sent before has its answer first.
            self._pipeline.in_turn(outlet.close)
            return True
        if outlet.state is SERVING:
            outlet.state = LAST
        outlet.begin_to_wait()
        return self._is_serving() and self.waiting is None

    def shut(self) -> None:
        """The service is stopping: finish what is being served, hold nobody, and take nothing new."""
        outlet = self._outlet
        if outlet.state in (SERVING, LAST):
            outlet.state = STOPPING
        if self.waiting is not None:
            self.waiting.give_up()
        if outlet.state is not STOPPING:
            outlet.close()

    # What is held, and for how long.

    def hold(self, anew: bool = False) -> None:
        if anew:
            self._guard.free(self)
        self._guard.hold(self, self._held_bytes())

    def let_go_of_some(self) -> None:
        self._guard.lessen(self, self._held_bytes())

    def _held_bytes(self) -> int:
        return self._intake.held_bytes + self._pipeline.bytes + self._outlet.unread_bytes()

    def may_read(self, number: int, later: Callable[[], None]) -> bool:
        return self._guard.may_read(number, later)

    def _is_serving(self) -> bool:
        return IDLE < self._outlet.state < CLOSING

    def is_settled(self) -> bool:
        held = self._intake.is_unfinished or self._pipeline.bytes or self._outlet.congested
        return not (held or self._is_serving())

    def let_go(self) -> bool:
        if self._outlet.congested:
            self._outlet.cut_off()
            return True
        if self._outlet.deaf or not (self._intake.is_unfinished or self._pipeline.bytes):
            return False
        self._pipeline.clear()
        self._intake.refuse(503, b"The service has no memory left for requests that wait so long. Please try again.")
        return True

    def check_time(self, now_s: float) -> None:
        outlet, intake = self._outlet, self._intake
        if self.is_settled():
            self._guard.free(self)
        owes_reading = outlet.congested or outlet.is_closing()
        is_ours = self._is_serving() or bool(self._pipeline.ahead)
        if intake.number != self._seen or (is_ours and not owes_reading):
            # It has sent a whole request since the last look, or it is our turn.
            self._seen, intake.since_s = intake.number, now_s
        elif owes_reading:
            if now_s - outlet.since_s > self._limits.write_timeout_s:
                outlet.cut_off()
        elif not outlet.deaf:
            self._check_sending(now_s - intake.since_s)

    def _check_sending(self, waited_s: float) -> None:
        """It is for the client to send: the rest of a request, or the next one."""
        limits, most_s = self._limits, self._intake.wait_s()
        if most_s is not None:
            if waited_s > most_s:
                self._intake.refuse(408, b"The request did not arrive within %d seconds." % most_s)
        elif waited_s > (limits.idle_timeout_s if self._intake.number else limits.header_timeout_s):
            self._outlet.close()
