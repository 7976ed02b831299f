"""The same for many things, some at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def each(work: Callable[[T], Awaitable[None]], things: Iterable[T], at_once: int) -> None:
    """Returns when it is done for all. The first error ends the others and is raised as it is."""
    gate = asyncio.Semaphore(at_once)

    async def one(thing: T) -> None:
        async with gate:
            await work(thing)

    try:
        async with asyncio.TaskGroup() as group:
            for thing in things:
                group.create_task(one(thing))
    except ExceptionGroup as errors:
        raise first(errors) from None


def first(error: BaseException) -> Exception:
    """One error of a group: the others happened at the same time, and mostly for the same reason."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, Exception)
    return error
