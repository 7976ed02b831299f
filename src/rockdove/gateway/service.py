"""The service behind a gateway: a client for each of those who come in."""

import asyncio
import hashlib
import time
from types import TracebackType
from typing import Self

from rockdove.client import AsyncClient, Basic, Bearer, Nobody, Outgoing, Retry, Unreachable
from rockdove.client.endpoint import parse_endpoint
from rockdove.core.errors import Fault
from rockdove.gateway.budget import Budget
from rockdove.gateway.error import Refused, refusal
from rockdove.gateway.lane import Lane

Identity = Basic | Bearer | Nobody
# Messages for one queue go in so many lines: those of one device in one of them, in order.
LANES = 8
# Of devices that come in, so many are asked for at once; for some seconds, those of the same account are not.
ASKED_AT_ONCE = 8
ASKED_S = 10.0
KNOWN_S = 5.0
# What a message takes beside its bytes.
_OVERHEAD_BYTES = 2_048


class Visitor:
    """Somebody whom the service knows: all devices that come in as one account."""

    def __init__(self, client: AsyncClient, budget: Budget) -> None:
        self.client = client
        self._budget = budget
        self.guests = 0
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._known_until_s = 0.0

    async def send(self, queue: str, device: str, message: Outgoing) -> "asyncio.Future[str]":
        """Waits for room; what it gives has the message's id when the service has it for good.

        That fails with `rockdove.gateway.error.Refused`.
        """
        size = message.size_bytes + _OVERHEAD_BYTES
        await self._budget.take(size)
        sent = self._lane(queue, device).send(message)
        sent.add_done_callback(lambda sent: self._budget.give(size))
        return sent

    def _lane(self, queue: str, device: str) -> Lane:
        number = int.from_bytes(hashlib.blake2b(device.encode(), digest_size=2).digest()) % LANES
        lane = self._lanes.get((queue, number))
        if lane is None:
            if len(self._lanes) > 100 * LANES:
                self._lanes = {key: known for key, known in self._lanes.items() if not known.is_idle}
            lane = self._lanes[queue, number] = Lane(self.client, queue)
        return lane

    def is_known(self) -> bool:
        """Whether the service has lately said so."""
        return time.monotonic() < self._known_until_s

    def was_asked_for(self) -> None:
        self._known_until_s = time.monotonic() + KNOWN_S

    def is_over(self) -> bool:
        return not self.guests and self.is_idle and not self.is_known()

    @property
    def is_idle(self) -> bool:
        return all(lane.is_idle for lane in self._lanes.values())

    def cancel(self) -> None:
        for lane in self._lanes.values():
            lane.cancel()


class Service:
    """Where a gateway's messages go. For one event loop."""

    def __init__(self, endpoint: str, region: str | None = None) -> None:
        self._endpoint = endpoint
        self._region = region
        self._visitors: dict[Identity, Visitor] = {}
        self._budget = Budget()
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)
        self.endpoint = parse_endpoint(endpoint).url

    async def lets_anybody_in(self) -> bool:
        """Whether a request without credentials is served. Raises as `admit` does, but no `Refused`."""
        try:
            await self.admit(Nobody())
        except Refused:
            return False
        await self.leave(Nobody())
        return True

    async def admit(self, identity: Identity) -> Visitor:
        """Who that is, to be given back by `leave`.

        Raises `rockdove.gateway.error.Refused`, a fault that passes, or `rockdove.client.Unreachable`.
        """
        visitor = self._visitors.get(identity)
        if visitor is None:
            visitor = self._visitors[identity] = Visitor(self._client(identity), self._budget)
        visitor.guests += 1
        try:
            async with asyncio.timeout(ASKED_S), self._asking:
                if not visitor.is_known():
                    await visitor.client.list_queues(limit=1)
                    visitor.was_asked_for()
        except BaseException as error:
            await self.leave(identity)
            if isinstance(error, TimeoutError):
                raise Unreachable(self.endpoint, "it does not answer", "look at its log") from None
            refused = refusal(error) if isinstance(error, Fault) else None
            if refused is not None:
                raise refused from None
            raise
        return visitor

    async def leave(self, identity: Identity) -> None:
        self._visitors[identity].guests -= 1
        # One that may come back soon, or has messages to send, goes with a later one.
        over = [known for known, visitor in self._visitors.items() if visitor.is_over()]
        for visitor in [self._visitors.pop(known) for known in over]:
            await visitor.client.close()

    def _client(self, identity: Identity) -> AsyncClient:
        return AsyncClient(self._endpoint, region=self._region, credentials=identity, retry=Retry(attempts=2))

    async def drain(self, grace_s: float) -> None:
        """Send what has come in; what takes longer is dropped, and was not acknowledged."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + grace_s
        while not all(visitor.is_idle for visitor in self._visitors.values()) and loop.time() < end_s:
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        for visitor in self._visitors.values():
            visitor.cancel()
        for visitor in self._visitors.values():
            await visitor.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
