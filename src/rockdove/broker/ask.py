"""For operations that are not on the hot path: a store's call as something to await."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from rockdove.core.errors import Fault, ServiceUnavailable, StoreError, StoreFull

T = TypeVar("T")


async def ask(
    call: Callable[[Callable[[T | StoreError | Fault], None]], None], at_once: Callable[[], None] = lambda: None
) -> T:
    """The result of a call that tells it to a callback. Raises the fault of a failure.

    ``at_once`` is done in the very moment of success, before anybody else has a turn.
    """
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(outcome: T | StoreError | Fault) -> None:
        if future.done():
            return
        if isinstance(outcome, StoreError):
            future.set_exception(unavailable(outcome))
        elif isinstance(outcome, Fault):
            future.set_exception(outcome)
        else:
            at_once()
            future.set_result(outcome)

    call(done)
    return await future


def unavailable(error: StoreError) -> ServiceUnavailable:
    """What a client is told of a store's error: why, if that is nothing but a full disk."""
    return (
        ServiceUnavailable("The disk is full. Please try again.")
        if isinstance(error, StoreFull)
        else ServiceUnavailable()
    )
