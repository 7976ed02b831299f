"""Following a queue as ``tail -f`` follows a file, without ever losing a message."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from rockdove.cli.failure import Code, Failure, ReaderGone
from rockdove.cli.figure import amount
from rockdove.cli.output import note
from rockdove.cli.printer import Printer
from rockdove.cli.service import telling
from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault, Throttling
from rockdove.core.limits import MAX_RECEIVE, MAX_WAIT_S
from rockdove.wire.shape import Message

T = TypeVar("T")

# Seconds between two looks for a service that has gone.
_AGAIN_S = 0.5
# A reader that takes a message within this time gets more of them at once.
_QUICK_S = 0.05
# The pauses between two looks at whether the reader has taken a message.
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.0002, 0.05


class Follower:
    """Receives, prints, and deletes what has been printed; gives back what has not when it ends."""

    def __init__(
        self,
        endpoint: str,
        region: str | None,
        queue: str,
        printer: Printer,
        most: int | None,
        wait: int | None,
        visibility: int | None,
        deletes: bool,
    ) -> None:
        self._endpoint = endpoint
        self._region = region
        self._queue = queue
        self._printer = printer
        self._left = most
        self._wait_s = MAX_WAIT_S if wait is None else wait
        self._visibility_s = visibility
        self._deletes = deletes
        # Messages to take at once: few for a reader that is slow, so that their time is not up before he has them.
        self._pace = 1 if printer.is_pipe else MAX_RECEIVE
        # Why nothing more can be printed, if that is no reader's wish.
        self._failed: Failure | None = None

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        try:
            client = AsyncClient(self._endpoint, region=self._region, retry=None)
        except ValueError as error:
            raise Failure(str(error), Code.USAGE) from None
        self._stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stopped.set)
        if self._printer.is_pipe:
            # The other end of a pipe that is only written to is "readable" when it has been closed.
            loop.add_reader(sys.stdout.fileno(), self._reader_gone)
        async with client:
            with telling(client.endpoint, self._queue):
                # A service that is not there from the start is a mistake, not a restart.
                await client.queue_url(self._queue)
                await self._follow(client)

    def _reader_gone(self) -> None:
        asyncio.get_running_loop().remove_reader(sys.stdout.fileno())
        self._stopped.set()

    async def _follow(self, client: AsyncClient) -> None:
        while not self._stopped.is_set() and self._left != 0:
            messages = await self._receive(client)
            printed = await self._print(messages)
            if self._left is not None:
                self._left -= printed
            await self._settle(client, messages[:printed], messages[printed:])
        if self._failed is not None:
            raise self._failed

    async def _receive(self, client: AsyncClient) -> list[Message]:
        """Messages, or nothing if none came, or if it is time to end."""
        limit = self._pace if self._left is None else min(self._left, self._pace)
        call = asyncio.ensure_future(
            self._patiently(
                client,
                lambda: client.receive(self._queue, limit=limit, wait_s=self._wait_s, visibility_s=self._visibility_s),
            )
        )
        stop = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((call, stop), return_when=asyncio.FIRST_COMPLETED)
            return (call.result() if call.done() else None) or []
        finally:
            for task in (call, stop):
                task.cancel()
            await asyncio.gather(call, stop, return_exceptions=True)

    async def _patiently(self, client: AsyncClient, ask: Callable[[], Awaitable[T]]) -> T | None:
        """The answer, however long the service is away or busy; None if it is time to end and there is no answer."""
        told = False
        while True:
            try:
                answer = await ask()
            except (Unreachable, UnexpectedAnswer, Fault) as error:
                busy = isinstance(error, Throttling)
                if isinstance(error, Fault) and error.status < 500 and not busy:
                    raise
                if self._stopped.is_set():
                    return None
                if not told:
                    what = "is too busy" if busy else "does not answer"
                    note(f"rockdove: {client.endpoint} {what}; waiting for it to come back")
                    told = True
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), _AGAIN_S)
                continue
            if told:
                note(f"rockdove: {client.endpoint} is back")
            return answer

    async def _print(self, messages: Sequence[Message]) -> int:
        """How many were printed and, in a pipe, read."""
        for number, message in enumerate(messages):
            try:
                if self._stopped.is_set() or not await self._hand_over(message):
                    return number
            except (ReaderGone, Failure) as error:
                self._failed = error if isinstance(error, Failure) else None
                self._stopped.set()
                return number
        return len(messages)

    async def _hand_over(self, message: Message) -> bool:
        """False: it is time to end, and the reader has not taken it yet."""
        self._printer.show(message)
        start = asyncio.get_running_loop().time()
        pause_s = _FIRST_LOOK_S
        while not self._printer.is_read():
            if self._stopped.is_set():
                return False
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_LOOK_S)
        is_quick = asyncio.get_running_loop().time() - start < _QUICK_S
        self._pace = min(self._pace * 2, MAX_RECEIVE) if is_quick else 1
        return True

    async def _settle(self, client: AsyncClient, printed: Sequence[Message], others: Sequence[Message]) -> None:
        """Delete what was printed, and let others have what was not."""
        if others:
            # If the service is away, they become visible when their time is up.
            with contextlib.suppress(Unreachable, UnexpectedAnswer, Fault):
                await client.change_visibility_batch(self._queue, {message.receipt_handle: 0 for message in others})
        handles = [message.receipt_handle for message in printed]
        if not self._deletes or not handles:
            return
        # Failures per message are those of messages that are gone, or that somebody else has by now.
        if await self._patiently(client, lambda: client.delete_batch(self._queue, handles)) is None:
            note(f"rockdove: {amount(len(handles), 'message')} could not be deleted and will come again")
