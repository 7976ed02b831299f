"""How loops are compiled: once, kept on disk, and without Python's checks of indices."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Numba's decorator, with the types that it hides."""
    made: Loop = njit(cache=True, nogil=True)(loop)
    return made
