"""What the physical queues of a logical one share. For the event loop's thread."""

from rockdove.core.fairness import Shares
from rockdove.store.common.tally import Tally


class Together:
    """By the numbers of the physical queues, what each holds; and who of all tenants has how much in flight."""

    __slots__ = ("__weakref__", "shares", "tallies")

    def __init__(self) -> None:
        self.tallies: dict[int, Tally] = {}
        self.shares = Shares()
