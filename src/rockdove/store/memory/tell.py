"""How the memory store tells its callers what became of a call."""

import asyncio

from rockdove.core.errors import StoreError
from rockdove.store.base import Done, T


def tell_soon(done: Done[T], result: T | StoreError) -> None:
    """In the running loop, after what is running now."""
    asyncio.get_running_loop().call_soon(done, result)
