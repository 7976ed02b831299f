"""What a controller of front-ends asks of whatever runs them, and of whatever gives them requests."""

from collections.abc import Sequence
from typing import Protocol

from rockdove.elastic.front_end.page import Reading
from rockdove.elastic.provision.base import Seen


class FrontEndError(Exception):
    """It cannot go on; the message is for the operator, and says what to do."""


class Fleet(Protocol):
    """Front-ends by number. They live on when the controller ends."""

    async def start(self, number: int) -> None: ...

    async def drain(self, number: int) -> None:
        """It finishes what it has, and ends."""

    async def stop(self, number: int) -> None:
        """It ends at once."""

    async def list(self) -> list[Seen]:
        """Those that live, whoever started them."""

    def address(self, seen: Seen) -> str | None:
        """Its URL, once it listens. Raises `FrontEndError`."""

    def last_words(self, number: int) -> str:
        """What it has said last, for the operator."""

    async def is_ready(self, url: str) -> bool | None:
        """None: it does not answer."""

    async def read(self, url: str) -> Reading | None: ...


class Dispatcher(Protocol):
    """Gives each request to one of the front-ends that it knows. It lives on when the controller ends."""

    async def route(self, urls: Sequence[str]) -> frozenset[int]:
        """Requests go to these, of which there is at least one.

        What was given to others is finished there, by the processes that are told; for a moment they may still give
        something to others. Raises `FrontEndError`.
        """

    def still(self, processes: frozenset[int]) -> bool:
        """Whether one of them has not finished yet."""

    async def stop(self) -> None:
        """It finishes what it has, and ends."""
