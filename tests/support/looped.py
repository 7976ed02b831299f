"""Tests that are coroutines."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

P = ParamSpec("P")

# A test that takes longer hangs.
_LONGEST_S = 120


def looped(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(_LONGEST_S):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run
