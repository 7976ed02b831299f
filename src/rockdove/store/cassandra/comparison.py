"""This machine's clock beside Cassandra's, by which all services of a keyspace go."""

from collections.abc import Coroutine
from typing import Any

from rockdove.core.clock import SECOND_US, Clock, SystemClock
from rockdove.core.errors import StoreError
from rockdove.store.cassandra.schema import READ_CLOCK
from rockdove.store.cassandra.session import Row, Session

# By so many seconds a machine's clock may be off from Cassandra's: if it is more, somebody has to set it.
MOST_OFF_S = 0.5
# A node tells its time in milliseconds, rounded down: half of one is added, and it is off by as much.
_HALF_MS_US = 500


class ClockComparison:
    """For the event loop's thread."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        # A clock that tests step is left as it is; the machine's is compared all the same.
        self._clock = clock if isinstance(clock, SystemClock) else SystemClock()

    async def make(self) -> None:
        """Set the clock by Cassandra's, or ask nothing while it is further off than it may be. Raises `StoreError`.

        Services whose clocks differ hide messages for longer or shorter, and take segments for closed too early.
        """
        try:
            offset_us, doubt_us = await self._measure(self._session.ask_first_node(READ_CLOCK))
        except StoreError:
            offset_us, doubt_us = await self._measure(self._session.ask(READ_CLOCK))
        clock = self._clock
        machine_us = clock.machine_us() - clock.steady_us()
        # No further than it must be: what took long tells little.
        known_us = machine_us if clock.offset_us is None else clock.offset_us
        clock.offset_us = min(max(known_us, offset_us - doubt_us), offset_us + doubt_us)
        ahead_us = machine_us - offset_us
        where = "ahead of" if ahead_us > 0 else "behind"
        self._session.refusal = (
            f"the clock of this machine is {abs(ahead_us) / SECOND_US:.1f} s {where} that of Cassandra, and may be off "
            f"by {MOST_OFF_S:g} s. Set both by NTP"
            if abs(ahead_us) - doubt_us > MOST_OFF_S * SECOND_US
            else None
        )

    async def _measure(self, answer: Coroutine[Any, Any, list[Row]]) -> tuple[int, int]:
        """What Cassandra's clock is ahead of the steady one, and by how much that may be wrong: the node told its time
        in between."""
        before_us = self._clock.steady_us()
        ((node_ms,),) = await answer
        after_us = self._clock.steady_us()
        node_us = int(node_ms) * 1000 + _HALF_MS_US
        return node_us - (before_us + after_us) // 2, (after_us - before_us) // 2 + _HALF_MS_US
