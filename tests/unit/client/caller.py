"""Both clients behind one face, so that one suite tests both."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from rockdove.client import AsyncClient, Client

KINDS = ("sync", "async")


class _Waiting:
    """An AsyncClient whose methods block."""

    def __init__(self, runner: asyncio.Runner, client: AsyncClient) -> None:
        self._runner = runner
        self._client = client

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._client, name)
        if not callable(member):
            return member
        return lambda *args, **kwargs: self._runner.run(member(*args, **kwargs))


@contextmanager
def caller(
    kind: str, endpoint: str, *, sleep: Callable[[float], None] = time.sleep, **options: Any
) -> Iterator[Client]:
    if kind == "sync":
        with Client(endpoint, sleep=sleep, **options) as client:
            yield client
        return

    async def pause(seconds: float) -> None:
        sleep(seconds)

    with asyncio.Runner() as runner:
        waiting = AsyncClient(endpoint, sleep=pause, **options)
        try:
            yield cast(Client, _Waiting(runner, waiting))
        finally:
            runner.run(waiting.close())
