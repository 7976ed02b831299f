"""One sender: its messages one after another, each until the service has taken it."""

import asyncio
import random
from collections.abc import Callable

from rockdove.client import AsyncClient
from rockdove.workload.caller import Caller
from rockdove.workload.journal import Journal, Partition
from rockdove.workload.payload import Stamp, draw, write
from rockdove.workload.workload import Workload


class Sender:
    """Numbers its messages from 0. One whose request or answer was dropped is sent again under the same number."""

    def __init__(
        self, client: AsyncClient, caller: Caller, journal: Journal, place: Partition, number: int, run: str
    ) -> None:
        self._client = client
        self._caller = caller
        self._journal = journal
        self._place = place
        self._number = number
        self._run = run

    async def work(self, workload: Workload, rng: random.Random, on_sent: Callable[[], None]) -> None:
        for seq in range(workload.messages):
            stamp = Stamp(self._run, self._place.number, self._number, seq)
            await self._send(stamp, write(stamp, draw(rng, workload.size_bytes)))
            on_sent()
            if workload.send_delay_s:
                await asyncio.sleep(workload.send_delay_s)

    async def _send(self, stamp: Stamp, body: str) -> None:
        while True:
            answer = await self._caller.ask(self._place, "send", lambda: self._client.send(self._place.url, body))
            if answer is not None:
                self._journal.sent(self._place, stamp, len(body), answer.value.message_id, answer)
                return
