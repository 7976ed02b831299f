"""The outcome of one request, and when it was."""

from typing import Generic, TypeVar

from msgspec import Struct

T_co = TypeVar("T_co", covariant=True)


class Answer(Struct, Generic[T_co], frozen=True):
    """``status`` is None if there was no answer, or if it was ignored on purpose."""

    value: T_co
    began_us: int
    ended_us: int
    latency_us: int
    status: int | None = 200
