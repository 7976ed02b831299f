"""A call that reports through `done`, as something to await."""

import asyncio
from collections.abc import Callable
from typing import Any

from rockdove.core.errors import StoreError


async def outcome_of(call: Callable[[Callable[[Any], None]], None]) -> Any:
    """Raises the `StoreError` that it is told."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def done(outcome: Any) -> None:
        if future.done():
            return
        if isinstance(outcome, StoreError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    call(done)
    return await future
