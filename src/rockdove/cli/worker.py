"""``rockdove worker``: have the messages of a queue worked on."""

import asyncio
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount
from rockdove.cli.output import Output, note
from rockdove.cli.service import telling
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.errors import QueueDoesNotExist
from rockdove.core.limits import MAX_PHYSICAL_QUEUES, MAX_VISIBILITY_TIMEOUT_S

if TYPE_CHECKING:
    from rockdove.elastic.worker.handler import Handler
    from rockdove.elastic.worker.report import Report, ReportFile
    from rockdove.elastic.worker.worker import Manners, Worker

_REPORT_S = 0.5
_MOST_CONCURRENCY = 1_000


def worker(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")],
    handler: Annotated[
        str | None,
        typer.Option("--handler", metavar="PACKAGE.MODULE:FUNCTION", help="The function that gets each message."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option("--exec", metavar="CMD", help="The command that gets each body on its standard input."),
    ] = None,
    physical: Annotated[
        int | None,
        typer.Option(
            "--physical",
            metavar="I",
            min=0,
            max=2 * MAX_PHYSICAL_QUEUES - 1,
            help="Only this physical queue, from 0.",
            show_default="all",
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            metavar="N",
            min=1,
            max=_MOST_CONCURRENCY,
            help="Messages at a time.",
            show_default="the handler's, or 1",
        ),
    ] = None,
    visibility: Annotated[
        int,
        typer.Option(
            "--visibility",
            metavar="S",
            min=1,
            max=MAX_VISIBILITY_TIMEOUT_S,
            help="Seconds after which others get a message whose worker has died.",
        ),
    ] = 30,
    backoff: Annotated[
        float,
        typer.Option("--backoff", metavar="S", min=0, help="Seconds after which a failed message comes back first."),
    ] = 1.0,
    most_backoff: Annotated[
        float,
        typer.Option("--most-backoff", metavar="S", min=0, help="Twice as long each time, but not longer."),
    ] = 300.0,
    grace: Annotated[
        float,
        typer.Option("--grace", metavar="S", min=0, help="Seconds to finish what has been begun, when told to end."),
    ] = 30.0,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="A file that tells how much is done, twice a second."),
    ] = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Have each message of a queue worked on, and delete it when that is done.

    With --handler a function of yours gets the message: async or not, decorated with rockdove.elastic.handler
    or not. Its first parameter's type says what it gets: str the body, Message all of it, a dataclass or dict
    the body read as JSON. With --exec a command gets the body on its standard input; code 0 is success.

    What fails comes back later, each time after twice as long. While a message is worked on, its visibility
    timeout is renewed. Ctrl-C or SIGTERM: nothing more is received, what has been begun is finished;
    a second time: it is given back at once.

    \b
    Examples:
      rockdove worker jobs --exec "python convert.py"
      rockdove worker jobs --handler shop.orders:handle --concurrency 8
    """
    if (handler is None) is (command is None):
        raise Failure("say what is to be done: either --handler package.module:function or --exec CMD", Code.USAGE)
    from rockdove.elastic.worker.execute import execute
    from rockdove.elastic.worker.handler import HandlerError, find
    from rockdove.elastic.worker.report import ReportFile, Taken
    from rockdove.elastic.worker.worker import Manners

    try:
        found = find(handler) if handler is not None else execute(command or "")
    except HandlerError as error:
        raise Failure(str(error), Code.USAGE) from error
    manners = Manners(
        concurrency=concurrency or found.concurrency or 1,
        visibility_s=visibility,
        first_backoff_s=backoff,
        most_backoff_s=most_backoff,
        grace_s=grace,
    )
    try:
        file = None if report is None else ReportFile(report)
    except (Taken, OSError) as error:
        raise Failure(f"cannot write to {report}: {error}") from None
    logging.basicConfig(format="rockdove worker: %(message)s", level=logging.WARNING)
    asyncio.run(_run(endpoint, region, queue, physical, found, manners, file, Output(as_json)))
    if any(thread.name.startswith("handler") for thread in threading.enumerate()):
        # A function that did not end in time: nobody waits for it.
        os._exit(Code.DONE)


async def _run(
    endpoint: str,
    region: str | None,
    queue: str,
    physical: int | None,
    handler: "Handler",
    manners: "Manners",
    file: "ReportFile | None",
    output: Output,
) -> None:
    from rockdove.client import AsyncClient
    from rockdove.elastic.worker.worker import Worker

    try:
        client = AsyncClient(endpoint, region=region)
    except ValueError as error:
        raise Failure(str(error), Code.USAGE) from None
    async with client:
        with telling(client.endpoint, queue):
            url = await client.queue_url(queue)
            place = url if physical is None else f"{url}~{physical}"
            worker = Worker(client, place, handler, manners)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, worker.drain)
            telling_task = asyncio.ensure_future(_tell(worker, physical, file)) if file is not None else None
            try:
                await worker.run()
            except QueueDoesNotExist:
                if physical is None:
                    raise
                note(f"rockdove worker: {queue} has no physical queue {physical} any more")
            finally:
                if telling_task is not None:
                    telling_task.cancel()
                    await asyncio.gather(telling_task, return_exceptions=True)
    tally = worker.tally
    if output.as_json:
        output.document({"done": tally.done, "failed": tally.failed, "busy_s": round(tally.busy_s, 6)})
    else:
        output.line(f"{amount(tally.done, 'message')} done, {tally.failed:,} failed")


async def _tell(worker: "Worker", physical: int | None, file: "ReportFile") -> None:
    started_s = time.time()
    try:
        while True:
            file.write(_report(worker, physical, started_s))
            await asyncio.sleep(_REPORT_S)
    finally:
        file.write(_report(worker, physical, started_s))
        file.close()


def _report(worker: "Worker", physical: int | None, started_s: float) -> "Report":
    from rockdove.elastic.worker.report import Report

    tally = worker.tally
    return Report(
        pid=os.getpid(),
        physical=physical,
        started_s=started_s,
        done=tally.done,
        failed=tally.failed,
        busy_s=tally.busy_s,
        is_ready=worker.is_ready,
        is_draining=worker.is_draining,
    )
