"""How a store tells the outcome of a call."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from rockdove.core.errors import StoreError

T = TypeVar("T")
# Called once, in the event loop that made the call: with the result, or with the error.
Done: TypeAlias = Callable[[T | StoreError], None]
