"""Runs a process of a service, from its start to its end."""

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import uvloop

from rockdove.server.owner import OwnerService
from rockdove.server.service import FrontEndParts, Service
from rockdove.server.setting import Settings
from rockdove.server.stop import STOP
from rockdove.server.supervisor import Family, Ready, Work

# Turns an exception of a start into the exit code and the line to print.
Explain = Callable[[Exception], tuple[int, str]]


async def until_stopped(
    start: Callable[[], Awaitable[Callable[[], None]]],
    stop: Callable[[], Awaitable[None]],
    signals: Sequence[signal.Signals] = (signal.SIGINT, signal.SIGTERM),
    gives_up: bool = False,
) -> None:
    """Start, and stop with one of the signals; what starting gives is called with every SIGHUP.

    ``gives_up``: what is still starting then is given up, because it may wait for somebody else.
    """
    stopped = asyncio.Event()
    on_reload: Callable[[], None] | None = None
    is_asked = False

    def hang_up() -> None:
        nonlocal is_asked
        is_asked = True
        if on_reload is not None:
            on_reload()

    loop = asyncio.get_running_loop()
    for number in signals:
        loop.add_signal_handler(number, stopped.set)
    # One handler for good: a call of an earlier one may still be due when another takes its place, and gets lost.
    loop.add_signal_handler(signal.SIGHUP, hang_up)
    starting = asyncio.ensure_future(start())
    if gives_up:
        asked = loop.create_task(stopped.wait())
        await asyncio.wait((starting, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not starting.done():
            starting.cancel()
            return
    on_reload = await starting
    if is_asked:
        # Asked for while the service started, perhaps after the certificate had been read.
        on_reload()
    # What is there by now stays, and a request leaves no cycles behind: look for garbage seldom, among what is new.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    await stopped.wait()
    await stop()


def owner_work(settings: Settings, family: Family, explain: Explain) -> Work:
    def work(ready: Callable[[Ready], None]) -> None:
        uvloop.run(_own(settings, family, explain, ready))

    return work


async def _own(settings: Settings, family: Family, explain: Explain, ready: Callable[[Ready], None]) -> None:
    async def start() -> Callable[[], None]:
        await owner.start(family.listening)
        ready(Ready(accounts=owner.has_accounts))
        return lambda: None

    try:
        owner = OwnerService(settings, family.board.seat(0))
        # Who wants the folder is told whom to stop.
        owner.answer_for(os.getppid())
        await until_stopped(start, lambda: owner.stop(), (STOP,))
    except Exception as error:
        code, text = explain(error)
        ready(Ready(code=code, error=os.fsencode(text)))
        raise SystemExit(code) from None


def front_end_work(settings: Settings, explain: Explain, front_end: FrontEndParts) -> Work:
    def work(ready: Callable[[Ready], None]) -> None:
        uvloop.run(_serve(settings, explain, front_end, ready))

    return work


async def _serve(
    settings: Settings, explain: Explain, front_end: FrontEndParts, ready: Callable[[Ready], None]
) -> None:
    async def start() -> Callable[[], None]:
        await service.start()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: service.complain(context))
        ready(Ready(accounts=service.accounts.exist))
        return service.reload

    try:
        service = Service(settings, front_end=front_end)
        await until_stopped(start, lambda: service.stop(), (STOP,), gives_up=True)
    except Exception as error:
        code, text = explain(error)
        ready(Ready(code=code, error=os.fsencode(text)))
        raise SystemExit(code) from None


def works(settings: Settings, family: Family, explain: Explain) -> tuple[Work, Callable[[FrontEndParts], Work]]:
    """The work of the owner, and of a front-end."""
    return owner_work(settings, family, explain), partial(front_end_work, settings, explain)
