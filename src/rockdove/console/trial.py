"""Simulations that are under way: each is a process that lives as long as the page that has asked reads its stream."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from rockdove.console.event import event
from rockdove.console.question import Question
from rockdove.console.wrong import Wrong

# At a time, of all who look: they take a core each.
MOST: Final = 2
# Seconds after which a stream says that it is still there; then it also sees that the browser is not.
_STILL_S: Final = 1.0

Line = dict[str, Any]


class Trials:
    """For one event loop."""

    def __init__(self) -> None:
        self._running = 0

    def reserve(self) -> None:
        """Raises `Wrong` if there are enough."""
        if self._running >= MOST:
            raise Wrong(f"{MOST} simulations are running already. Try again when one has ended.", status=429)
        self._running += 1

    async def stream(self, question: Question, is_over: Callable[[], bool]) -> AsyncGenerator[bytes]:
        """Events, as they come, for who has reserved; the process ends when nobody reads any more."""
        process: asyncio.subprocess.Process | None = None
        try:
            process = await _start(question)
            async for line in _lines(process):
                if is_over():
                    return
                if line is None:
                    yield b": still here\n\n"
                    continue
                yield event(line.pop("event"), line)
            if await process.wait() != 0:
                yield event("failed", {"error": "The simulator has ended by itself; the console's log says why."})
        finally:
            self._running -= 1
            if process is not None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def _start(question: Question) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "rockdove.console.simulation",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(question))
    process.stdin.close()
    return process


async def _lines(process: asyncio.subprocess.Process) -> AsyncIterator[Line | None]:
    """None where nothing has come for a while."""
    assert process.stdout is not None
    reading = asyncio.ensure_future(process.stdout.readline())
    try:
        while True:
            await asyncio.wait([reading], timeout=_STILL_S)
            if not reading.done():
                yield None
                continue
            text = reading.result()
            if not text:
                return
            yield msgspec.json.decode(text, type=Line)
            reading = asyncio.ensure_future(process.stdout.readline())
    finally:
        reading.cancel()
