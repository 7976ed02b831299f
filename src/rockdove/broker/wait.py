"""Waiting for a message: what a receive and a request for a lease have in common."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable

from rockdove.broker.context import Context
from rockdove.broker.queue import Queue
from rockdove.core.errors import Throttling


class WaitingRequest:
    """Base of a request that looks for messages, and waits for some if it found none.

    (A base, not a part: a part that calls its owner back would make a cycle for each request, and leave it to the
    garbage collector.)
    """

    # What most requests never change stands here, so that each begins with little work.
    _timer: asyncio.TimerHandle | None = None
    # While it sleeps, see `_sleep`.
    _alarm: asyncio.TimerHandle | None = None
    _woken = False
    _listens = False
    _arrivals = 0
    _place = 0
    # Whether the request is over: nobody waits for it any more.
    _over = False
    # It would not wait, and does only because a published batch is on its way into the queue.
    _for_landing = False

    def __init__(self, context: Context, queue: Queue, wait_s: int) -> None:
        self._context = context
        self._queue = queue
        self._wait_s = wait_s
        self._policy_number = queue.policies

    @property
    def is_over(self) -> bool:
        """Whether it has had its answer, or nobody waits for it any more."""
        return self._over

    @property
    def has_waited(self) -> bool:
        """Whether it waits for a message, or did before it found one."""
        return self._timer is not None

    @abstractmethod
    def _look(self) -> None:
        """Look for messages again."""

    @abstractmethod
    def _run_out(self) -> None:
        """The time is over, and nothing has come."""

    @abstractmethod
    def give_up(self) -> None:
        """Wait no longer: the service stops, or the permission may be gone."""

    def wake(self) -> None:
        """There may be something."""
        self._woken = not self._rouse()
        self._look()

    def cancel(self) -> None:
        """The client has gone. What is claimed for it already goes back when the claim has landed."""
        self._leave()
        self._end()

    def _begin_to_look(self) -> None:
        """What comes from now on may be found, or missed."""
        self._arrivals = self._queue.arrivals

    def _wait(self, next_us: int | None) -> Throttling | None:
        """Nothing was found: look again if something has come meanwhile, else wait until something comes.

        ``next_us``: when a message becomes visible, as far as is known. Gives the fault if too many wait already.
        """
        queue = self._queue
        fault = self._begin_to_wait()
        if fault is not None:
            return fault
        if not self._listens:
            self._listens = True
            if not queue.listen():
                # Nobody had listened until now: what came before that is still to be found.
                self._look()
                return None
        if self._arrivals != queue.arrivals:
            self._look()
            return None
        # Woken for nothing, it keeps its place.
        self._woken = False
        queue.enlist(self, self._place)
        if next_us is not None:
            queue.expect(next_us)
        return None

    def _begin_to_wait(self) -> Throttling | None:
        """For as long as the client allows. Gives the fault if too many wait already."""
        if self._timer is None:
            if self._context.waiting.is_full():
                # An empty answer would be taken for an empty queue, and asked for again at once.
                return Throttling("Too many receives wait for messages. Please try again, or do not wait.")
            self._context.waiting.enter()
            self._place = self._queue.take_place()
            self._timer = asyncio.get_running_loop().call_later(self._wait_s, self._run_out)
        return None

    def _sleep(self, seconds: float, then: Callable[[], None]) -> Throttling | None:
        """Wait for so long, whatever comes meanwhile."""
        fault = self._begin_to_wait()
        if fault is None:
            self._alarm = asyncio.get_running_loop().call_later(seconds, self._wake_up, then)
            self._queue.sleepers.add(self)
        return fault

    def _wake_up(self, then: Callable[[], None]) -> None:
        self._rouse()
        then()

    def _rouse(self) -> bool:
        """Whether it slept."""
        alarm, self._alarm = self._alarm, None
        if alarm is None:
            return False
        alarm.cancel()
        self._queue.sleepers.discard(self)
        return True

    def _is_permitted(self) -> bool:
        """Whether nothing has changed about who may wait; it may have while this one was not in the line."""
        return self._policy_number == self._queue.policies

    def _leave(self) -> bool:
        """Stop waiting; False if it was not, because it looks for messages just now."""
        return self._rouse() or self._queue.waiters.pop(self, None) is not None

    def _end(self) -> None:
        """The request is over."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._context.waiting.leave()
        if self._listens:
            self._listens = False
            self._queue.listeners -= 1

    def _pass_on(self) -> None:
        """Who was woken and does not wait again lets the next in line look: one wake-up may stand for many messages."""
        if self._woken:
            self._woken = False
            self._queue.wake(1)
