"""``rockdove autoscale``: the controller of an elastic queue, or of front-ends, with a live view."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rockdove.cli import front_ends as fronts
from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.cli.provisioning import PROVISIONERS, Wish, concurrency_of, maker, telling_trouble
from rockdove.cli.service import telling
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.limits import MAX_VISIBILITY_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rockdove.capacity.scaling.measured import Rates
    from rockdove.cli.provisioning import Maker
    from rockdove.elastic.controller import Watcher
    from rockdove.elastic.measure import Watched
    from rockdove.elastic.state import Published


def autoscale(
    queue: Annotated[str | None, typer.Argument(metavar="QUEUE", help="The queue's name or URL.")] = None,
    handler: Annotated[
        str | None,
        typer.Option("--handler", metavar="PACKAGE.MODULE:FUNCTION", help="What the workers do with each message."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option("--exec", metavar="CMD", help="The command that gets each body on its standard input."),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            metavar="N",
            min=1,
            max=1_000,
            help="Messages at a time of each worker.",
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
    elastic: Annotated[
        str | None,
        typer.Option(
            "--elastic", metavar="JSON", help="Set the queue's RockdoveElastic to this first.", show_default="as it is"
        ),
    ] = None,
    provisioner: Annotated[
        str, typer.Option("--provisioner", metavar="|".join(PROVISIONERS), help="What runs the workers.")
    ] = "process",
    workload: Annotated[
        str | None,
        typer.Option("--workload", metavar="statefulset/NAME|deployment/NAME", help="What is scaled, with kubernetes."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", metavar="NAME", help="Where it is.", show_default="the pod's own, or default"),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="How to reach Kubernetes.",
            show_default="in a pod its service account, elsewhere as kubectl",
        ),
    ] = None,
    startup: Annotated[
        float | None,
        typer.Option(
            "--startup",
            metavar="S",
            min=0,
            help="Seconds that a machine takes.",
            show_default="0; simulated: 96.9; kubernetes: as pods took",
        ),
    ] = None,
    placing: Annotated[
        str,
        typer.Option("--placing", metavar="energy|performance", help="Fill machines first, or one worker a machine."),
    ] = "energy",
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="What the work is like, from rockdove calibrate.",
            show_default="what the workers tell",
        ),
    ] = None,
    watch: Annotated[
        Path | None,
        typer.Option(
            "--watch",
            metavar="DIR",
            help="What comes and what the work is like, from a running rockdove watch --out DIR.",
            show_default="what the workers tell",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="For reports and logs of workers.", show_default="one in /tmp"),
    ] = None,
    drain: Annotated[
        bool, typer.Option("--drain/--leave", help="Whether the workers end with the controller.", show_default="leave")
    ] = False,
    for_s: Annotated[
        float | None, typer.Option("--for", metavar="S", min=0, help="End after so many seconds.", show_default="never")
    ] = None,
    front_ends: Annotated[
        bool, typer.Option("--front-ends", help="Scale the front-ends of a store instead, behind nginx.")
    ] = False,
    store: fronts.Store = None,
    listen: fronts.Listen = None,
    least: fronts.Least = None,
    most: fronts.Most = None,
    high_ms: fronts.High = None,
    low_ms: fronts.Low = None,
    high_bytes: fronts.HighBytes = None,
    period: fronts.Period = None,
    safety: fronts.Safety = None,
    data: fronts.Data = None,
    allow_host: fronts.Names = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Give a queue as many workers as its load needs, or a store as many front-ends.

    Each physical queue of the queue has a worker of its own. Every period the controller reads their loads and
    what was done, shares new messages out by that, and adds or removes workers by the rule that the queue's
    RockdoveElastic names. Producers notice nothing.

    One controller at a time scales a queue; another one waits. Workers outlive it, unless it drains them at the
    end: when it is started again, it goes on with those that there are. --json prints each round as a line.

    With --front-ends and no QUEUE: so many "rockdove serve" processes on this machine as the mean response time
    and the size of a Redis or Cassandra store need, behind an nginx that it starts. No request fails when one
    comes or goes.

    \b
    Examples:
      rockdove autoscale jobs --exec "python convert.py" --elastic '{"maxLoad": 50, "maxWorkers": 4}'
      rockdove autoscale jobs --handler shop.orders:handle --concurrency 8
      rockdove autoscale jobs --provisioner kubernetes --workload statefulset/jobs-worker --namespace shop
      rockdove autoscale jobs --handler shop.orders:handle --watch figures
      rockdove autoscale --front-ends --store redis://10.0.0.1:6379,10.0.0.2:6379 --max 4
    """
    wanted = fronts.Wanted(
        store=store,
        listen=listen,
        least=least,
        most=most,
        high_ms=high_ms,
        low_ms=low_ms,
        high_bytes=high_bytes,
        period_s=period,
        safety_s=safety,
        data=data,
        names=allow_host,
    )
    if front_ends:
        if queue is not None or handler is not None or command is not None or elastic is not None:
            raise Failure(
                "--front-ends is for all queues of a store: leave out QUEUE, --handler, --exec and --elastic",
                Code.USAGE,
            )
        fronts.scale(wanted, folder, config, drain, for_s, Output(as_json))
        return
    if queue is None:
        raise Failure("say which queue, as in: rockdove autoscale QUEUE; or --front-ends", Code.USAGE)
    wanted.refuse()
    wish = Wish(
        queue=queue,
        region=region,
        provisioner=provisioner,
        handler=handler,
        command=command,
        concurrency=concurrency,
        visibility=visibility,
        startup=startup,
        placing=placing,
        folder=folder,
        workload=workload,
        namespace=namespace,
        kubeconfig=kubeconfig,
    )
    make = maker(wish)
    _check(elastic)
    known = _known(calibration)
    logging.basicConfig(format="rockdove autoscale: %(message)s", level=logging.WARNING)
    output = Output(as_json)

    def look(url: str) -> "Watched":
        if watch is None:
            return lambda now_s: None
        from rockdove.elastic.watched import WatchTable

        *_, account, name = url.split("/")
        return WatchTable(watch, name, account).rates

    asyncio.run(_run(endpoint, region, queue, elastic, make, look, concurrency_of(wish), known, for_s, drain, output))


def _check(elastic: str | None) -> None:
    from rockdove.core.elastic import ElasticError, read

    try:
        if elastic is not None:
            read(elastic)
    except ElasticError as error:
        raise Failure(f"--elastic: {error}", Code.USAGE) from None


def _known(calibration: Path | None) -> "Rates | None":
    if calibration is None:
        return None
    from rockdove.capacity.error import CapacityError
    from rockdove.capacity.plan.calibration import read
    from rockdove.capacity.scaling.measured import Rates

    try:
        found = read(calibration)
    except (OSError, CapacityError) as error:
        raise Failure(f"--calibration: {error}", Code.USAGE) from None
    return Rates(found.arrival.value, 0.0, 1 / found.broker.rate.value, 1 - found.reliability.value)


async def _run(
    endpoint: str,
    region: str | None,
    queue: str,
    elastic: str | None,
    make: "Maker",
    look: "Callable[[str], Watched]",
    concurrency: int,
    known: "Rates | None",
    for_s: float | None,
    drain: bool,
    output: Output,
) -> None:
    from rockdove.client import AsyncClient
    from rockdove.core.elastic import read
    from rockdove.elastic.controller import Controller, NotElastic
    from rockdove.elastic.measure import Measure

    try:
        client = AsyncClient(endpoint, region=region)
    except ValueError as error:
        raise Failure(str(error), Code.USAGE) from None
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    if for_s is not None:
        loop.call_later(for_s, stopped.set)
    async with client:
        with telling(client.endpoint, queue), telling_trouble(), _view(queue, output) as watcher:
            url = await client.queue_url(queue)
            if elastic is not None:
                await client.set_attributes(queue, {"RockdoveElastic": elastic})
            text = (await client.attributes(queue, ["RockdoveElastic"])).get("RockdoveElastic")
            if text is None:
                raise _not_elastic(queue)
            provisioner = await make(client, url, read(text))
            holder = f"{socket.gethostname()}/{os.getpid()}"
            measure = Measure(concurrency, known, look(url))
            controller = Controller(client, queue, holder, provisioner, measure, watcher)
            try:
                await controller.run(stopped, drain)
            except NotElastic:
                raise _not_elastic(queue) from None
            finally:
                await provisioner.close()


def _not_elastic(queue: str) -> Failure:
    return Failure(
        f"{queue} is not elastic: say how many workers it may have, such as --elastic "
        '\'{"maxLoad": 200, "maxWorkers": 10}\'; "{}" takes all defaults',
        Code.REFUSED,
    )


# What one sees.


@contextmanager
def _view(queue: str, output: Output) -> "Iterator[Watcher]":
    """On a terminal a table that changes, with --json a line for each round, elsewhere a line for each decision."""
    if output.as_json:
        yield lambda published, paused: output.document(published)
        return
    if not sys.stdout.isatty():
        # What the controller before has decided is not news.
        shown = time.time()

        def tell(published: "Published", paused: bool) -> None:
            nonlocal shown
            for each in published.decisions:
                if each.at > shown:
                    output.line(f"{each.act.value}: {each.reason}")
            shown = max([shown, *(each.at for each in published.decisions)])

        yield tell
        return
    from rich.live import Live

    from rockdove.cli.scaling import picture

    with Live(refresh_per_second=4) as live:
        yield lambda published, paused: live.update(picture(queue, published, paused))
