"""The service in this process: its queues without HTTP, to tell what HTTP costs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rockdove.broker.compose import compose
from rockdove.broker.receive import Delivery
from rockdove.core.errors import Fault
from rockdove.server.service import ANYBODY, Service
from rockdove.server.setting import Settings
from rockdove.store.base import Appended
from rockdove.wire.shape import SendMessageBatchRequestEntry


class Within:
    """A `Messenger`. To be used inside ``async with``; it listens on a free port, too, for all but messages."""

    def __init__(self, store: str, folder: Path) -> None:
        self._service = Service(Settings(port=0, store=store, data=folder))

    async def __aenter__(self) -> Self:
        await self._service.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.stop()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._service.port}"

    async def send(self, queue: str, bodies: Sequence[str]) -> None:
        broker = self._service.broker
        place = broker.directory.at_url(queue, ANYBODY)
        now_us = self._service.clock.now_us()
        drafts = [
            compose(place, SendMessageBatchRequestEntry(id=f"{at}", message_body=body), ANYBODY, now_us)
            for at, body in enumerate(bodies)
        ]
        answer: asyncio.Future[list[Appended] | Fault] = asyncio.get_running_loop().create_future()
        broker.send(place, drafts, answer.set_result)
        _good(await answer)

    async def receive(self, queue: str, limit: int) -> list[str]:
        broker = self._service.broker
        place = broker.directory.at_url(queue, ANYBODY)
        answer: asyncio.Future[list[Delivery] | Fault] = asyncio.get_running_loop().create_future()

        def reply(outcome: list[Delivery] | Fault) -> bool:
            answer.set_result(outcome)
            return True

        broker.receive(place, limit, place.settings.visibility_timeout_us, 0, None, reply)
        found = await answer
        if isinstance(found, Fault):
            raise found
        write = broker.receipts.write
        return [write(place.uid, each.entry.id, each.claimed_us, each.entry.receive_count) for each in found]

    async def delete(self, queue: str, handles: Sequence[str]) -> None:
        broker = self._service.broker
        answer: asyncio.Future[list[Fault | None]] = asyncio.get_running_loop().create_future()
        broker.delete_all(broker.directory.at_url(queue, ANYBODY), handles, answer.set_result)
        for outcome in await answer:
            _good(outcome)


def _good(outcome: object) -> None:
    if isinstance(outcome, Fault):
        raise outcome
