"""Operations that the client is about to have, by the names that they will have."""

import time
from typing import Any

from msgspec import Struct

from rockdove.client import AsyncClient
from rockdove.core.errors import AccessDenied


class SignedIn(Struct, frozen=True):
    account_id: str
    account_name: str
    admin: bool
    session_token: str
    expires_timestamp: int


class QueueFigures(Struct, kw_only=True):
    queue_name: str
    created_timestamp: int
    fifo: bool = False
    physical_queues: int = 1
    dead_letter_queue: str | None = None
    max_receive_count: int | None = None
    visible: int | None = None
    in_flight: int | None = None
    delayed: int | None = None
    oldest_timestamp: float | None = None
    leased: int = 0
    sent: int = 0
    received: int = 0
    empty: int = 0
    deleted: int = 0
    expired: int = 0
    dead_lettered: int = 0
    delivery: list[int] = []


class Figures(Struct, kw_only=True):
    version: str
    time: float
    whole: bool = False
    more: bool = False
    queues: list[QueueFigures] = []
    gone: list[str] = []


async def sign_in(client: AsyncClient, name: str, password: str) -> Any:
    if hasattr(client, "sign_in"):
        return await client.sign_in(name, password)
    raise AccessDenied("This service cannot check passwords yet.")


async def renew(client: AsyncClient) -> Any:
    return await client.renew_session()  # type: ignore[attr-defined]


async def figures(client: AsyncClient, since: str | None, wait_s: int) -> Any:
    if hasattr(client, "figures"):
        return await client.figures(since, wait_s=wait_s)
    queues = []
    for url in await client.list_queues():
        told = await client.attributes(url)
        queues.append(
            QueueFigures(
                queue_name=url.rpartition("/")[2],
                created_timestamp=int(told["CreatedTimestamp"]),
                fifo=told.get("FifoQueue") == "true",
                physical_queues=int(told.get("RockdovePhysicalQueues", "1")),
                visible=int(told["ApproximateNumberOfMessages"]),
                in_flight=int(told["ApproximateNumberOfMessagesNotVisible"]),
                delayed=int(told["ApproximateNumberOfMessagesDelayed"]),
            )
        )
    return Figures(version="", time=time.time(), whole=True, queues=queues)
