"""Ends the leases of consumers that nobody has heard of for too long, if that is wanted at all."""

import logging
from functools import partial

from rockdove.broker.ask import ask
from rockdove.broker.context import Context
from rockdove.broker.lease import Leasing
from rockdove.broker.rounds import Rounds
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import ServiceUnavailable

log = logging.getLogger("rockdove")

# Seconds between two looks at the consumers, at most.
ROUND_S = 5.0


class LeaseKeeper(Rounds):
    """Without a time to keep leases for, it does nothing."""

    def __init__(self, context: Context, keep_s: float | None) -> None:
        self._context = context
        self._leasing = Leasing(context)
        self._keep_s = keep_s
        self._began_us = context.clock.now_us()
        super().__init__(self.look, min(ROUND_S, keep_s or ROUND_S))

    def start(self) -> None:
        if self._keep_s is not None:
            super().start()

    async def look(self) -> int:
        """Give back what silent consumers hold; how many messages."""
        leases = self._context.store.leases
        if self._keep_s is None or leases is None:
            return 0
        before_us = self._context.clock.now_us() - int(self._keep_s * SECOND_US)
        if before_us < self._began_us:
            # While the service was down nobody could call: that is no silence.
            return 0
        number = 0
        try:
            silent: list[tuple[str, str]] = await ask(partial(leases.silent, before_us))
            queues = self._context.directory.with_uids({uid for uid, _ in silent}) if silent else {}
            for uid, consumer in silent:
                if uid in queues:
                    ended = await self._leasing.release(queues[uid], consumer, forget=False)
                    number += ended.messages
                    log.warning(
                        "consumer %s of queue %s was silent for too long: %d leased messages are visible again",
                        consumer,
                        queues[uid].record.name,
                        ended.messages,
                        extra={"event": "lease-ended"},
                    )
        except ServiceUnavailable:
            # The store has a fault of its own to tell; the next round tries again.
            return number
        return number
