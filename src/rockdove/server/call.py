"""One request on its way through the service: who asks, over which protocol, and where the answer goes."""

from collections.abc import Callable
from typing import Protocol

from rockdove.core.errors import Fault
from rockdove.wire.shape import Result


class Waiting(Protocol):
    """A receive or a lease that is not answered yet."""

    @property
    def has_waited(self) -> bool:
        """Whether it waits for a message, or did before it found one."""

    def cancel(self) -> None:
        """Nobody wants it any more."""

    def give_up(self) -> None:
        """Answer now with what there is."""


class Call(Protocol):
    """What an operation needs of the request's connection."""

    # The account that asks.
    account: str
    # When the request was there, by `time.perf_counter`.
    began_s: float
    # Whether the request certainly holds no control character.
    plain: bool
    # What the request's header X-Amzn-Trace-Id says.
    trace_id: str | None
    # Set by an operation that is cancelled if the client goes away.
    waiting: Waiting | None

    @property
    def is_xml(self) -> bool:
        """Whether the answer will be XML."""

    def base_url(self) -> str:
        """``scheme://host`` as the client sees this service."""

    def answer(self, result: Result | None) -> None: ...

    def fail(self, fault: Fault) -> None: ...

    def when_taken(self, then: Callable[[], None]) -> None:
        """Call it when the answer has left: at once, unless the client does not read a large one."""

    def is_gone(self) -> bool:
        """Whether the client has hung up."""
