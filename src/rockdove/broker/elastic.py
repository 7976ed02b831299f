"""What controllers of elastic queues publish: one at a time holds a queue."""

import math

from msgspec.structs import replace

from rockdove.broker.admin import Admin
from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import ElasticStateHeld, InvalidParameterValue
from rockdove.core.queue import ElasticRecord, QueueRecord


class ElasticStates:
    """Kept with the record of the queue, so every front-end has them and they survive a restart."""

    def __init__(self, admin: Admin, clock: Clock) -> None:
        self._admin = admin
        self._clock = clock

    async def put(self, queue: Queue, holder: str, hold_s: float, state: str | None) -> bool:
        """Hold it for so long, unless another does; whether to pause. Without a state, the last one stays."""
        if not 0 < len(holder) <= limits.MAX_HOLDER_LENGTH:
            raise _invalid("Holder", holder[:200], f"Must have 1 to {limits.MAX_HOLDER_LENGTH} characters")
        if not (math.isfinite(hold_s) and 0 <= hold_s <= limits.MAX_ELASTIC_HOLD_S):
            raise _invalid("HoldSeconds", f"{hold_s:.12g}", f"Must be between 0 and {limits.MAX_ELASTIC_HOLD_S:,}")
        if state is not None and len(state.encode()) > limits.MAX_ELASTIC_STATE_BYTES:
            size = f"{len(state.encode()):,} bytes"
            raise _invalid("State", size, f"Must have at most {limits.MAX_ELASTIC_STATE_BYTES:,} bytes")
        paused = False

        def changed(record: QueueRecord) -> QueueRecord:
            nonlocal paused
            now_us, elastic = self._clock.now_us(), record.elastic or ElasticRecord()
            if elastic.holder != holder and elastic.held_until_us > now_us:
                left_s = (elastic.held_until_us - now_us) / SECOND_US
                raise ElasticStateHeld(
                    f"{elastic.holder} scales this queue, for {left_s:.1f} s more, or longer. Stop it, or wait."
                )
            paused = elastic.paused
            new = ElasticRecord(
                holder=holder,
                held_until_us=now_us + round(hold_s * SECOND_US),
                state=elastic.state if state is None else state,
                put_us=now_us,
                paused=elastic.paused,
            )
            return replace(record, elastic=new)

        await self._admin.change(queue, changed)
        return paused

    async def pause(self, queue: Queue, paused: bool) -> None:
        """Whether controllers are to pause."""

        def changed(record: QueueRecord) -> QueueRecord:
            return replace(record, elastic=replace(record.elastic or ElasticRecord(), paused=paused))

        await self._admin.change(queue, changed)


def _invalid(name: str, value: str, reason: str) -> InvalidParameterValue:
    return InvalidParameterValue(f"Value {value} for parameter {name} is invalid. Reason: {reason}.")
