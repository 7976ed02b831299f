"""``rockdove watch``: how a service does, from its trace, while it is written."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from rockdove.cli import option, span
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note
from rockdove.cli.pair import pairs
from rockdove.core.clock import SystemClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rockdove.cli.watching import View
    from rockdove.spark.watch.batch import Done
    from rockdove.spark.watch.folder import Folder

# How long Ctrl-C may go unnoticed.
_PAUSE_S = 0.2


def watch(
    trace: Annotated[
        str,
        typer.Argument(metavar="DIR", help='The folder of "rockdove serve --trace".', show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for the figures and the checkpoint.")],
    window: Annotated[str, typer.Option("--window", metavar="TIME", help="The length of a window.")] = "10s",
    watermark: Annotated[
        str, typer.Option("--watermark", metavar="TIME", help="How much later than others an event may come.")
    ] = "30s",
    remember: Annotated[
        str,
        typer.Option("--remember", metavar="TIME", help="How long received messages are remembered, for duplicates."),
    ] = "1h",
    once: Annotated[bool, typer.Option("--once", help="Take what is there, and end.")] = False,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="The Spark master; its workers must see both folders.",
            show_default="that of spark-submit, or local[*]",
        ),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; repeatable.")
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Follow a trace while it is written: rates, response times, order and duplicates of each queue, in windows.

    Needs rockdove[spark] and Java 17. DIR of --out gets metrics/, a Parquet table with a row for each queue and window
    once the window is closed; open.parquet with those that are not; and progress.json. Started again, it goes on where
    it was, whatever ended it.

    \b
    Examples:
      rockdove watch trace --out metrics
      rockdove watch trace --out metrics --window 1m --watermark 2m --json
      rockdove watch trace --out metrics --once
    """
    window_us, watermark_us, remember_us = (
        round(span.seconds(text, flag) * 1e6)
        for text, flag in ((window, "--window"), (watermark, "--watermark"), (remember, "--remember"))
    )
    settings = pairs(conf)
    # From here on, because imports alone take seconds.
    stopped = _stopped_by_signals()
    from rockdove.spark.path import whole_path
    from rockdove.spark.session import require, session

    require(master=master)
    from rockdove.cli.watching import view
    from rockdove.spark.watch.folder import Folder, FolderRefused

    trace = whole_path(trace)
    if trace.startswith("/") and not Path(trace).is_dir():
        raise Failure(f"there is no folder {trace}; record a trace with: rockdove serve --trace DIR", Code.NOT_FOUND)
    if out.absolute().is_relative_to(trace):
        raise Failure(f"--out must not be in {trace}: its tables would be taken for traces", Code.USAGE)
    done = False
    try:
        with Folder.held(out.absolute(), trace, window_us) as folder:
            shown = view(Output(as_json), folder.progress, once)
            if not (as_json or once or stopped.is_set()):
                note(f"starting Spark; Ctrl-C ends it, and the next watch of {out} goes on from there")
            if not stopped.is_set():
                with _ends_quietly(stopped), session(master, settings) as spark:
                    # Spark has its own idea of Ctrl-C.
                    _stopped_by_signals(stopped)
                    done = _follow(spark, folder, watermark_us, remember_us, once, shown, stopped)
    except FolderRefused as error:
        raise Failure(str(error), Code.REFUSED) from None
    except OSError as error:
        raise Failure(f"{out}: {error.strerror or error}") from None
    if not done:
        note(f"stopped; the next watch of {out} goes on from there")
        if once:
            raise typer.Exit(Code.INTERRUPTED)


@contextmanager
def _ends_quietly(stopped: Event) -> Iterator[None]:
    """Whoever told us to end may have told Spark as well: then it is no failure that it is gone."""
    from py4j.protocol import Py4JError

    from rockdove.spark.session import SparkFailed

    try:
        yield
    except KeyboardInterrupt:
        # While Spark starts, Ctrl-C is in its hands.
        stopped.set()
    except (Py4JError, SparkFailed, ConnectionError):
        if not stopped.is_set():
            raise


def _follow(
    spark: "SparkSession",
    folder: "Folder",
    watermark_us: int,
    remember_us: int,
    once: bool,
    shown: "View",
    stopped: Event,
) -> bool:
    """Whether all was taken that there was; False if a signal came before."""
    from rockdove.spark.watch.job import Job

    if stopped.is_set():
        return False
    news: SimpleQueue[Done] = SimpleQueue()
    job = Job(spark, folder, watermark_us=watermark_us, remember_us=remember_us, once=once, tell=news.put)
    with shown:
        try:
            ended = False
            while not (ended or stopped.is_set()):
                ended = job.has_ended()
                _show(news, shown, 0 if ended else _PAUSE_S)
        finally:
            job.stop()
        if ended and (done := job.close(SystemClock())):
            news.put(done)
        _show(news, shown, 0)
        shown.end()
    return ended


def _show(news: "SimpleQueue[Done]", shown: "View", wait_s: float) -> None:
    try:
        shown.show(news.get(timeout=wait_s) if wait_s else news.get_nowait())
        while True:
            shown.show(news.get_nowait())
    except Empty:
        return


def _stopped_by_signals(stopped: Event | None = None) -> Event:
    event = stopped or Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: event.set())
    return event
