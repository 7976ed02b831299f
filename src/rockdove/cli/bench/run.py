"""How a bench runs as a command: its own flags, its end, and what it says when it fails."""

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from rockdove.cli.bench.bar import Bars
from rockdove.cli.bench.show import show
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output
from rockdove.client.endpoint import parse_endpoint
from rockdove.workload import Interrupt, Plan, WorkloadFailed, contest, report

Rounds: TypeAlias = Annotated[
    int, typer.Option("--rounds", metavar="N", min=1, help="How often all is done; medians count.")
]
Trace: TypeAlias = Annotated[
    Path | None, typer.Option("--trace", metavar="DIR", help="Record every request in a trace in this folder.")
]
Prefix: TypeAlias = Annotated[
    str, typer.Option("--prefix", metavar="TEXT", help="What the names of the queues begin with.")
]
Keep: TypeAlias = Annotated[bool, typer.Option("--keep", help="Leave the queues in the end.")]

_CODES = {"unreachable": Code.UNREACHABLE, "refused": Code.REFUSED, "failed": Code.FAILED}
# With a run's name and a number behind it, SQS's 80 characters.
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,50}")


def folder(path: Path | None) -> str | None:
    return None if path is None else str(path)


def run(bench: str, plan: Plan, as_json: bool) -> None:
    """Raises `Failure`."""
    _check(plan)
    try:
        with Interrupt() as interrupt:
            result = contest(plan, Bars(), interrupt)
    except WorkloadFailed as error:
        raise Failure(str(error), _CODES[error.kind]) from error
    command = shlex.join(["rockdove", *sys.argv[1:]])
    show(report(bench, command, plan.workload, result.rows, result.interrupted), Output(as_json))


def _check(plan: Plan) -> None:
    if not _PREFIX.fullmatch(plan.prefix):
        raise Failure("--prefix takes up to 50 letters, digits, hyphens and underscores", Code.USAGE)
    for endpoint in ",".join(plan.endpoints).split(","):
        try:
            parse_endpoint(endpoint)
        except ValueError as error:
            raise Failure(str(error), Code.USAGE) from None
