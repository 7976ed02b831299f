"""One receiver: receive, process, delete, until its queue has nothing more for it."""

import asyncio
import time
from collections.abc import Callable

from rockdove.client import AsyncClient
from rockdove.core.errors import InvalidParameterValue, ReceiptHandleIsInvalid
from rockdove.workload.caller import Caller
from rockdove.workload.fault import Dice
from rockdove.workload.journal import Journal, Partition, receiver_name
from rockdove.workload.workload import Workload

# What a receiver needs to know of a message besides its body.
WANTED = ("SentTimestamp", "ApproximateReceiveCount")
# Without a message for so long, after all senders have finished, a receiver leaves the rest to the drain.
_QUIET_S = 1.0
# After an empty answer to a receive that does not wait.
_PAUSE_S = 0.02


class Receiver:
    """Does not ask again for a delete that was dropped: the message then comes once more, as the paper counts on."""

    def __init__(
        self, client: AsyncClient, caller: Caller, dice: Dice, journal: Journal, place: Partition, number: int
    ) -> None:
        self._client = client
        self._caller = caller
        self._dice = dice
        self._journal = journal
        self._place = place
        self._number = number
        self._life = 0

    async def work(
        self,
        workload: Workload,
        senders_done: Callable[[], bool],
        all_done: Callable[[], bool],
        on_deleted: Callable[[], None],
    ) -> None:
        """``all_done`` is whether all that was sent has been deleted."""
        last_s = time.monotonic()
        while True:
            was_over = senders_done()
            if was_over and all_done():
                return
            if await self._turn(workload, on_deleted) or not was_over:
                last_s = time.monotonic()
            elif time.monotonic() - last_s > _QUIET_S + workload.wait_s:
                return

    async def _turn(self, workload: Workload, on_deleted: Callable[[], None]) -> bool:
        """One message; False if there was none."""
        me = receiver_name(self._place, self._number, self._life)
        answer = await self._caller.ask(
            self._place,
            "receive",
            lambda: self._client.receive(
                self._place.url, wait_s=workload.wait_s, system_attributes=WANTED, message_attributes=()
            ),
        )
        if answer is None:
            return False
        if not answer.value:
            self._journal.missed(self._place, me, answer)
            if not workload.wait_s:
                await asyncio.sleep(_PAUSE_S)
            return False
        [message] = answer.value
        self._journal.got(self._place, me, message, answer)
        if self._dice.crashes():
            self._journal.crashed()
            self._life += 1
            return True
        if workload.receive_delay_s:
            await asyncio.sleep(workload.receive_delay_s)
        if await self._delete(message.receipt_handle, message.message_id, me):
            on_deleted()
        return True

    async def _delete(self, receipt_handle: str, message_id: str, me: str) -> bool:
        try:
            answer = await self._caller.ask(
                self._place, "delete", lambda: self._client.delete(self._place.url, receipt_handle)
            )
        except (InvalidParameterValue, ReceiptHandleIsInvalid):
            # Some services take no handle whose time is up. The message comes again.
            return False
        if answer is None:
            return False
        self._journal.deleted(self._place, me, message_id, answer)
        return True
