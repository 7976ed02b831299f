"""How loops are compiled: once, and kept on disk."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Numba's decorator, with the types that it hides."""
    return cast(Loop, njit(cache=True, nogil=True)(loop))
