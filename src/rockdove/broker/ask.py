"""For operations that are not on the hot path: a store's call as something to await."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from rockdove.core.errors import (
    Fault,
    NoMajority,
    QueueAway,
    QueueDoesNotExist,
    QueueGone,
    ServiceInterrupted,
    ServiceUnavailable,
    StoreError,
    StoreFull,
    StoreInterrupted,
    UnsupportedOperation,
)
from rockdove.store.base import Conflict, OverQuota, StillHolds, Store

T = TypeVar("T")


class PhysicalQueueUnavailable(ServiceUnavailable):
    """A physical queue cannot be reached, though others may be; it was not asked. To clients it is like its parent.

    ``numbers``: which, where several were meant.
    """

    numbers: frozenset[int] = frozenset()


async def ask(call: Callable[[Callable[[T | StoreError | Fault], None]], None]) -> T:
    """The result of a call that tells it to a callback. Raises the fault of a failure, or why a record is refused."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(outcome: T | StoreError | Fault) -> None:
        if future.done():
            return
        if isinstance(outcome, Conflict | OverQuota | StillHolds | Fault):
            future.set_exception(outcome)
        elif isinstance(outcome, StoreError):
            future.set_exception(unavailable(outcome))
        else:
            future.set_result(outcome)

    call(done)
    return await future


async def has_duty(store: Store, name: str, seconds: float) -> bool:
    """Whether this process is the one to do a piece of work, for so long from now on."""
    return store.duties is None or await ask(partial(store.duties.take, name, seconds))


def unavailable(error: StoreError) -> Fault:
    """What a client is told of a store's error: why, if that is nothing but a full disk, and if nobody knows more."""
    if isinstance(error, StoreInterrupted):
        return ServiceInterrupted()
    if isinstance(error, QueueGone):
        # Whoever has not heard of it may have to ask again: another process has purged or deleted it.
        return QueueDoesNotExist()
    if isinstance(error, QueueAway):
        fault = PhysicalQueueUnavailable()
        fault.numbers = error.numbers
        return fault
    if isinstance(error, NoMajority):
        return ServiceUnavailable(
            "Queues and accounts cannot be changed while most of the store's servers are away. Please try again."
        )
    return (
        ServiceUnavailable("The disk is full. Please try again.")
        if isinstance(error, StoreFull)
        else ServiceUnavailable()
    )


def need(capability: T | None, what: str, store: str) -> T:
    """A capability of the store. Raises the fault of a store that does not have it."""
    if capability is None:
        raise UnsupportedOperation(f"The store {store} of this service has no {what}.")
    return capability
