"""The service, as the connections to it see it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rockdove.broker.accounts import Accounts
from rockdove.server.gate import Gate
from rockdove.server.guard import Guard
from rockdove.server.host import Hosts
from rockdove.server.origin import Origins
from rockdove.server.timing import Timing
from rockdove.wire.operation import Operation
from rockdove.wire.shape import Request

if TYPE_CHECKING:
    from rockdove.server.exchange import Exchange
    from rockdove.server.http import Connection


class Site(Protocol):
    """What the front needs of the service behind it."""

    account: str
    trust_proxy: bool
    guard: Guard
    origins: Origins
    hosts: Hosts
    connections: set["Connection"]
    accounts: Accounts
    gate: Gate

    def handle(self, call: "Exchange", operation: Operation, request: Request) -> None:
        """Do an operation; the call is answered at once or later. Raises a fault, or anything in case of a defect."""

    # Whether others may have changed records that this process has not heard of yet.
    is_front_end: bool

    def catch_up(self, then: Callable[[], None]) -> None:
        """Hear of all changes that were made before now."""

    # Of all operations, by their names.
    timings: dict[str, Timing]
    access_log: bool

    def page(self, call: "Exchange", path: bytes) -> bool:
        """Whether the path is no operation's, such as /health; then a page is shown, at once or later."""

    def accessed(self, call: "Exchange", operation: str, status: int, seconds: float) -> None:
        """Log a request; only asked for with ``access_log``."""

    def erred(self, operation: str, status: int) -> None:
        """A request was answered with an error; the operation is empty where it is not known."""

    def next_request_id(self) -> bytes: ...

    def defect(self, error: Exception) -> None:
        """Something went wrong that should not have."""
