"""``rockdove check``: tell what is wrong with a data folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount, size
from rockdove.cli.output import Output, Progress
from rockdove.core.errors import DataFolderError
from rockdove.store.registry import locate
from rockdove.store.sqlite.backup import NothingThere
from rockdove.store.sqlite.check import Report
from rockdove.store.sqlite.folder import FolderInUse

ADVICE = (
    'Leave this folder as it is, and restore a backup into another one. "rockdove serve" may not start on this one, or '
    "not find all that is in it. Without a backup, the page when-things-break of the documentation tells how to get "
    "out what can be read."
)

EMPTY_IT = (
    "Some commit between two releases wrote it. Empty its queues with that Rockdove, or leave it and serve another "
    "folder."
)


def check(
    data: Annotated[
        Path, typer.Option("--data", metavar="DIR", envvar="ROCKDOVE_DATA", help="The data folder to look at.")
    ] = Path("data"),
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Look a data folder over, and tell what is wrong with it.

    No service may be using the folder; look at a backup instead ("rockdove backup"). Every page and every message is
    read, and nothing is changed. Exit code 0: all is well; 1: something is damaged.

    \b
    Examples:
      rockdove check
      rockdove check --data /var/lib/rockdove --json
    """
    progress = Progress()
    try:
        report = _look_over(data, lambda number: progress.show(f"{number:,} messages read"))
    except NothingThere as error:
        raise Failure(str(error), Code.NOT_FOUND) from None
    except FolderInUse as error:
        raise Failure(
            f'{data} is in use by process {error.holder}; stop that, or check a copy made with "rockdove backup"',
            Code.REFUSED,
        ) from None
    except DataFolderError as error:
        raise Failure(str(error)) from None
    finally:
        progress.clear()
    _tell(report, data, Output(as_json))
    if not report.sound:
        raise typer.Exit(Code.FAILED)


def _tell(report: Report, data: Path, output: Output) -> None:
    if output.as_json:
        output.document(
            {
                "data": str(data.absolute()),
                "sound": report.sound,
                "format": report.format,
                "bytes": report.bytes,
                "queues": report.queues,
                "messages": report.messages,
                "readable": report.readable,
                "problems": [{"where": problem.where, "what": problem.what} for problem in report.problems],
                "advice": None if report.sound else _advice(report),
            }
        )
        return
    held = f"{size(report.bytes)}, {amount(report.queues, 'queue')}, {amount(report.messages, 'message')}"
    if report.sound:
        output.line(f"sound: {held}")
        return
    if report.unreleased:
        output.line(f"not readable: {size(report.bytes)}")
    else:
        output.line(f"damaged: {held}, of which {report.readable:,} can be read")
    for problem in report.problems:
        output.line(f"  {problem.where}: {problem.what}")
    output.line(_advice(report))


def _advice(report: Report) -> str:
    return EMPTY_IT if report.unreleased else ADVICE


def _look_over(data: Path, progress: Callable[[int], None]) -> Report:
    location = locate("sqlite", data)
    if location.kind.check is None:
        raise Failure(f"a store {location.name!r} cannot be checked", Code.USAGE)
    return location.kind.check(data, progress)
