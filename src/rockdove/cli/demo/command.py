"""``rockdove demo``: the whole circle, from messages to workers, in one command."""

import asyncio
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rockdove.cli import option
from rockdove.cli.bench.claims import write
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note

if TYPE_CHECKING:
    from rockdove.spark.circle import Spell, Work
    from rockdove.workload.ramp import Ramped, Ramping

QUEUE: Final = "demo"
# For a machine that has the base only.
MISSING: Final = "in a checkout, `make setup` installs all of it"
# Spark and the first files of the trace take some time; the demo does not begin without them.
_READY_S: Final = 120.0


def demo(
    seconds: Annotated[float, typer.Option("--seconds", min=10, metavar="S", help="How long it lasts.")] = 120.0,
    peak: Annotated[float, typer.Option("--peak", min=10, metavar="N", help="Messages a second at the top.")] = 120.0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep the report and its picture here.")
    ] = None,
    as_json: option.Json = False,
) -> None:
    """Watch a queue grow its own workers, and see whether the model was right.

    Starts a service that records a trace, `rockdove watch` on the trace, and a controller by the rule `model` that
    goes by what the watch tells; then sends messages at a rate that rises and falls. In the end Spark finds the times
    of delivery in the trace, and the model tells what they should have been. All that is started is ended, and what
    it has written is removed, but for DIR.

    Needs rockdove[spark] and Java 17.

    \b
    Examples:
      rockdove demo
      rockdove demo --seconds 60 --out demo
    """
    _require()
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    from rockdove.cli.demo.live import view
    from rockdove.cli.demo.report import picture, report, tell
    from rockdove.workload import Interrupt, WorkloadFailed
    from rockdove.workload.machine import this_machine

    output = Output(as_json)
    ramping = timeline(seconds, peak)
    with tempfile.TemporaryDirectory(prefix="rockdove-demo-") as folder:
        with Interrupt() as interrupt:
            ramped: Ramped | None = None
            try:
                with view(QUEUE, ramping.duration_s, output) as see:
                    ramped = _run(Path(folder), ramping, see, interrupt)
            except WorkloadFailed as error:
                # A terminal tells all parts to end, and some are quicker.
                if not interrupt.heard:
                    raise Failure(str(error)) from None
        if ramped is None:
            raise typer.Exit(Code.INTERRUPTED)
        note("Spark reads the trace")
        spells, work = _analysed(Path(folder) / "trace")
    command = shlex.join(["rockdove", *sys.argv[1:]])
    found = report(command, this_machine(), ramping, ramped, spells, work)
    if out is not None:
        write(found, picture(found).encode(), out, "demo")
    tell(found, out, output)


def _require() -> None:
    from rockdove.core.errors import MissingExtra

    try:
        from rockdove.spark.session import SparkFailed, require
    except ImportError as error:
        raise Failure(f"the demo needs {error.name}; {MISSING}") from None
    try:
        require("the demo needs")
    except (MissingExtra, SparkFailed) as error:
        raise Failure(f"{error}; {MISSING}") from None


def timeline(seconds: float, peak: float) -> "Ramping":
    """Some traffic, more and more, much for a while, little in the end."""
    from rockdove.workload.ramp import Ramping

    shares = ((0.0, 0.2), (0.15, 0.2), (0.4, 1.0), (0.6, 1.0), (0.75, 0.25), (1.0, 0.25))
    return Ramping(
        policy="model",
        peak=peak,
        points=tuple((at * seconds, share * peak) for at, share in shares),
        random=True,
        work_s=0.03,
        max_workers=8,
        startup_s=2.0,
        # A worker goes after four of these, and a start.
        safety_s=2.0,
        kills=False,
    )


def _run(
    folder: Path, ramping: "Ramping", see: "Callable[[Any, dict[str, Any]], None]", interrupt: Any
) -> "Ramped | None":
    """None: somebody has ended it."""
    from rockdove.workload.background import Background
    from rockdove.workload.local import LocalService
    from rockdove.workload.ramp import Ramp

    trace, figures = folder / "trace", folder / "figures"
    words = ["watch", str(trace), "--out", str(figures), "--window", "2s", "--watermark", "4s", "--json"]
    with ExitStack() as stack:
        note("the service starts, and Spark for the watch")
        service = stack.enter_context(LocalService("sqlite", folder / "service", 0, 0, trace))
        watch = stack.enter_context(Background("the watch", words, folder / "watch.log"))
        found: list[Ramped] = []

        def look(sampled: Any, published: dict[str, Any]) -> None:
            watch.check()
            see(sampled, published)

        async def run() -> None:
            ramp = Ramp(
                service.endpoint,
                QUEUE,
                folder / "run",
                ramping,
                watch=figures,
                is_ready=_is_ready(figures),
                see=look,
            )
            found.append(await ramp.run())

        asyncio.run(interrupt.during(run()))
        return found[0] if found else None


def _is_ready(figures: Path) -> Callable[[], bool]:
    """When the watch has its first figures, or it takes too long: the controller can do without."""
    import time

    end_s = time.monotonic() + _READY_S

    def is_ready() -> bool:
        if (figures / "open.parquet").exists():
            return True
        if time.monotonic() <= end_s:
            return False
        note(
            f"the watch has no figures after {_READY_S:.0f} s: it begins without them, and goes by what the workers "
            "tell until there are some; is this machine busy with something else?"
        )
        return True

    return is_ready


def _analysed(trace: Path) -> "tuple[list[Spell], Work | None]":
    from rockdove.cli.demo.report import SPELL_S
    from rockdove.spark.circle import circle
    from rockdove.spark.session import session

    with session(None, light=True) as spark:
        return circle(spark, str(trace), QUEUE, SPELL_S)
