"""``rockdove backup``: copy a service's data while it runs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import size
from rockdove.cli.output import Output, Progress, note
from rockdove.core.errors import DataFolderError
from rockdove.store.common.keyfile import KEY_FILE
from rockdove.store.registry import locate
from rockdove.store.sqlite.backup import NotEmpty, NothingThere


def backup(
    destination: Annotated[Path, typer.Argument(metavar="DEST", help="The new folder for the copy.")],
    data: Annotated[
        Path, typer.Option("--data", metavar="DIR", envvar="ROCKDOVE_DATA", help="The data folder to copy.")
    ] = Path("data"),
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Copy a service's data, while it runs, into a new folder.

    It need not run. The copy is what the service had acknowledged at one moment. It is complete as soon as DEST
    exists, and "rockdove serve --data DEST" starts from it.

    \b
    Examples:
      rockdove backup backup-monday
      rockdove backup /mnt/backup/rockdove --data /var/lib/rockdove
    """
    progress = Progress()
    start = time.monotonic()

    def show(done: int, total: int) -> None:
        progress.show(f"{size(done)} of {size(total)} copied")

    try:
        copied = _copy(data, destination, show)
    except NothingThere as error:
        raise Failure(str(error), Code.NOT_FOUND) from None
    except NotEmpty as error:
        raise Failure(str(error), Code.REFUSED) from None
    except DataFolderError as error:
        raise Failure(str(error)) from None
    finally:
        progress.clear()
    seconds = round(time.monotonic() - start, 3)
    output = Output(as_json)
    if as_json:
        output.document(
            {"data": str(data.absolute()), "backup": str(destination.absolute()), "bytes": copied, "seconds": seconds}
        )
    else:
        if (destination / KEY_FILE).exists():
            note(f"the copy holds {KEY_FILE}, which opens the accounts' secrets: guard it like the original")
        output.line(
            f"copied {size(copied)} in {seconds:.1f} s; try it with: rockdove serve --data {destination} --port 0"
        )


def _copy(data: Path, destination: Path, show: Callable[[int, int], None]) -> int:
    location = locate("sqlite", data)
    if location.kind.backup is None:
        raise Failure(f"there is no backup of a store {location.name!r}", Code.USAGE)
    return location.kind.backup(data, destination, show)
