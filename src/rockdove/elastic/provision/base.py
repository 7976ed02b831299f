"""What a controller asks of whatever runs workers."""

from typing import Protocol

from msgspec import Struct

from rockdove.core.errors import RockdoveError


class ProvisionerTrouble(RockdoveError):
    """What runs workers does not do what it was asked for. That may pass: a controller asks again in the next round."""


class ProvisionerAway(ProvisionerTrouble):
    """It does not answer, or is in trouble itself."""


class ProvisionerRefuses(ProvisionerTrouble):
    """It knows us, and says no."""


class NothingToScale(ProvisionerTrouble):
    """What it should scale is not there."""


class Seen(Struct, frozen=True):
    """A worker, as it is now. ``number``: of its physical queue. What it has done is missing where nobody tells.

    ``life`` tells one that was started again from the one before. One that is silent lives, and has told nothing for so
    long that it takes no new messages.
    """

    number: int
    machine: str
    life: str
    is_ready: bool
    is_draining: bool = False
    done: int | None = None
    failed: int = 0
    busy_s: float = 0.0
    is_silent: bool = False


class Provisioner(Protocol):
    """Small, and async. What it has started lives on when the controller ends. All may raise `ProvisionerTrouble`."""

    async def fit(self, slots: int, pool: int) -> None:
        """From now on so many workers share a machine, and so many machines are kept ready."""

    async def start(self, number: int) -> None:
        """Have a worker for this physical queue; nothing happens if there is one. It may take a while to be ready."""

    async def drain(self, number: int) -> None:
        """It takes no more messages, finishes what it has, and ends."""

    async def stop(self, number: int) -> None:
        """It ends at once; what it has comes back when its time is over."""

    async def list(self) -> list[Seen]:
        """The workers that live, whoever started them. Machines that have started get theirs first."""

    async def close(self) -> None:
        """The controller ends; workers that can live on do."""

    @property
    def machines(self) -> int:
        """Those that there are, in use, kept ready or starting."""

    @property
    def start_s(self) -> float:
        """How long one more worker takes to be ready."""
