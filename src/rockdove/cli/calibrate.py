"""``rockdove calibrate``: from traces to the parameters of the performance model, on Spark."""

from typing import TYPE_CHECKING, Annotated

import typer

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note
from rockdove.cli.pair import pairs

if TYPE_CHECKING:
    from rockdove.capacity.estimate import Estimate
    from rockdove.capacity.plan.calibration import Calibration, Stage
    from rockdove.spark.calibrate.calibrate import Found

_FILE = "calibration.json"


def calibrate(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="Folders, files or patterns of traces.", show_default=False)
    ],
    queues: Annotated[
        list[str] | None,
        typer.Option(
            "--queue", metavar="NAME", help="Only this queue; repeatable.", show_default="all, taken for one system"
        ),
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help=f"The folder for {_FILE}.")] = ".",
    master: option.Master = None,
    conf: option.Conf = None,
    as_json: option.Json = False,
) -> None:
    """Tell from traces what a plan needs to know: arrivals, service times, failures, the link.

    Needs rockdove[spark] and Java 17. DIR gets calibration.json, which "rockdove plan --from" reads.

    \b
    Examples:
      rockdove calibrate trace
      rockdove calibrate server-trace client-trace --queue jobs --out jobs
      rockdove calibrate hdfs:///traces --master spark://queues.example.org:7077
    """
    found = _run(traces, queues or [], out, master, pairs(conf))
    output = Output(as_json)
    if output.as_json:
        output.document(found.calibration)
        return
    output.facts(_facts(found.calibration))
    for line in found.calibration.notes:
        note(line)


def _run(traces: list[str], queues: list[str], out: str, master: str | None, conf: dict[str, str]) -> "Found":
    from rockdove.spark.path import are_small, require_writable, whole_path, write
    from rockdove.spark.session import require, session

    require("calibration needs", master)
    try:
        require_writable(out)
    except OSError as error:
        raise Failure(f"cannot write to {out}: {error.strerror}") from None
    # Only now, because these take seconds.
    import msgspec

    from rockdove.spark.calibrate.calibrate import calibrate as run
    from rockdove.spark.file import NoTrace

    with session(master, conf, light=are_small(traces)) as spark:
        try:
            found = run(spark, traces, queues, note)
        except NoTrace as error:
            raise Failure(str(error), Code.NOT_FOUND) from None
        text = msgspec.json.format(msgspec.json.encode(found.calibration), indent=2) + b"\n"
        try:
            write(spark, f"{whole_path(out)}/{_FILE}", text)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    note(f"written: {out}/{_FILE}")
    return found


def _facts(found: "Calibration") -> list[tuple[str, str]]:
    fits = "" if found.poisson else "not "
    return [
        ("arrivals", f"{_number(found.arrival)}/s, {fits}a Poisson process (scv {_number(found.arrival_scv)})"),
        ("senders", _stage(found.sender)),
        ("broker", _stage(found.broker)),
        ("reliability", _number(found.reliability)),
        ("link", _seconds(found.link_s)),
        ("timeout", "not known" if found.timeout_s is None else f"{found.timeout_s.value:g} s"),
        ("delivery", f"{_seconds(found.delivery_s)}, as measured"),
    ]


def _stage(stage: "Stage") -> str:
    phases = "" if stage.phases is None else f" with {stage.phases} phases"
    off = min(stage.distances.values())
    return f"{_seconds(stage.mean_s)}, {stage.family}{phases} (scv {_number(stage.scv)}, off by {off:.3f})"


def _seconds(found: "Estimate | None") -> str:
    return "not known" if found is None else f"{_number(found)} s"


def _number(found: "Estimate") -> str:
    value = f"{found.value:.4g}"
    if found.low is None or found.high is None:
        return value
    return f"{value} ({found.low:.4g} to {found.high:.4g})"
