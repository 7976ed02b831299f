"""Which of the known messages a receive takes: the first ones, or some of the first by chance."""

from typing import NamedTuple

from rockdove.core.clock import Clock
from rockdove.core.limits import MAX_ORDER_HINT
from rockdove.store.cassandra.index.entry import Spot
from rockdove.store.cassandra.index.known import Known
from rockdove.store.cassandra.index.look import Look
from rockdove.store.cassandra.index.members import PlaceMembers
from rockdove.store.cassandra.index.voice import Voice

# K is found out after so many messages: it grows if others had so many of them, and falls if they had so few.
ADJUST_DRAWN = 200
MANY_COLLIDED = 0.05
FEW_COLLIDED = 0.01


class Order(NamedTuple):
    """How messages are drawn. ``hint`` is K; 0 is no order; None: found out from how often others were quicker.

    literal: first draw, then see whether it is visible.
    """

    hint: int | None = 1
    literal: bool = False


IN_ORDER = Order()


class Draws:
    """Of one physical queue. ``collided`` counts the drawn ones that others had."""

    def __init__(self, known: Known, look: Look, clock: Clock, members: PlaceMembers, voice: Voice) -> None:
        self._known = known
        self._look = look
        self._clock = clock
        self._members = members
        self._voice = voice
        # K, where it is found out.
        self._hint = 1
        self._drawn = 0
        self.collided = 0

    def draw(self, limit: int, order: Order) -> list[Spot]:
        hint = self._hint if order.hint is None else order.hint
        now_us = self._clock.now_us()
        candidates = self._known.candidates
        candidates.pass_time(now_us)
        if order.literal:
            drawn = candidates.draw_blindly(limit, hint, now_us)
        else:
            drawn = candidates.draw(limit, hint, self._look.patience_s)
            if drawn and self._members.number > 1:
                # Others shall not take them at the same moment.
                self._voice.takes(drawn)
        self._known.taken.update(drawn)
        self._drawn += len(drawn)
        if self._drawn >= ADJUST_DRAWN:
            self._adjust()
        return drawn

    def _adjust(self) -> None:
        """If others were often quicker, choose among more; if not, keep the order better."""
        if self.collided > MANY_COLLIDED * self._drawn:
            self._hint = min(2 * self._hint, MAX_ORDER_HINT)
        elif self.collided < FEW_COLLIDED * self._drawn:
            self._hint = max(self._hint // 2, 1)
        self._drawn = self.collided = 0
