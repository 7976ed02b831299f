"""``rockdove bench peers``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.bench import run
from rockdove.cli.bench.option import with_workload
from rockdove.workload import Plan, Workload


@with_workload
def peers(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="The services, the first to compare with.")],
    workload: Workload,
    rounds: run.Rounds = 3,
    trace: run.Trace = None,
    prefix: run.Prefix = "bench",
    keep: run.Keep = False,
    region: option.Region = None,
    as_json: option.Json = False,
) -> None:
    """Put several services under the same workload, in turn, and compare them with the first.

    Each round goes through all of them, so that what disturbs the machine disturbs all. Rates and
    times are medians of the rounds. The options are those of "rockdove bench bdqs".

    \b
    Example:
      rockdove bench peers http://127.0.0.1:9324 http://127.0.0.1:5000 --messages 20
    """
    plan = Plan(
        workload=workload,
        endpoints=urls,
        region=region,
        rounds=rounds,
        prefix=prefix,
        keep=keep,
        trace=run.folder(trace),
    )
    run.run("peers", plan, as_json)
