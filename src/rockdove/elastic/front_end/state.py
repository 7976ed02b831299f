"""What a controller of front-ends tells those who look at it."""

from msgspec import Struct

from rockdove.elastic.state import Decided


class ShownFrontEnd(Struct, frozen=True, kw_only=True, rename="camel"):
    """``state``: starting, up, silent, draining (it finishes what it has) or ending. ``mean_s``: of the last period."""

    number: int
    state: str
    pid: int
    url: str | None = None
    requests: int = 0
    mean_s: float | None = None
    connections: int | None = None
    long_polls: int | None = None


class Round(Struct, frozen=True, kw_only=True, rename="camel"):
    """``at``: seconds since 1970. ``requests``: answered in the last period of ``period_s``; without receives."""

    at: float
    period_s: float
    wanted: int
    requests: int
    mean_s: float | None
    storage_bytes: float | None
    front_ends: list[ShownFrontEnd]
    decisions: list[Decided]
