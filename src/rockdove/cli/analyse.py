"""``rockdove analyse``: from traces to figures and a report, on Spark."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rockdove.cli import option, span
from rockdove.cli.failure import Code, Failure
from rockdove.cli.figure import amount
from rockdove.cli.output import Output, note
from rockdove.cli.pair import pairs

if TYPE_CHECKING:
    from rockdove.spark.analysis import Analysis

# Problems with files that are shown one by one; the report has all of them.
_SHOWN = 10


def analyse(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="Folders, files or patterns of traces.", show_default=False)
    ],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder for the results.")],
    master: option.Master = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="TIME",
            help="The length of a window, such as 10s.",
            show_default="by the trace's length",
        ),
    ] = None,
    conf: option.Conf = None,
    as_json: option.Json = False,
) -> None:
    """Tell from traces how a service did: rates, response times, order, duplicates, loss.

    Needs rockdove[spark] and Java 17. DIR gets two Parquet tables, queues/ and windows/, summary.json, and report.html,
    which needs no other file. What was there of them is replaced.

    \b
    Examples:
      rockdove analyse trace --out result
      rockdove analyse server-trace client-trace --out result --window 10s
      rockdove analyse hdfs:///traces --out hdfs:///result --master spark://queues.example.org:7077
    """
    window_s = span.seconds(window, "--window") if window else None
    found = _run(traces, out, master, window_s, pairs(conf))
    _tell(found, out, Output(as_json))


def _run(traces: list[str], out: str, master: str | None, window_s: float | None, conf: dict[str, str]) -> "Analysis":
    from rockdove.spark.path import are_small, require_writable, whole_path
    from rockdove.spark.session import require, session

    require(master=master)
    target = whole_path(out)
    try:
        require_writable(target)
    except OSError as error:
        raise Failure(f"cannot write to {out}: {error.strerror}") from None
    # Only now, because these take seconds.
    from rockdove.spark.analysis import analyse as run
    from rockdove.spark.file import NoTrace
    from rockdove.spark.result import hand_over

    with session(master, conf, light=are_small(traces)) as spark:
        try:
            found = run(spark, traces, target, window_s, note)
        except NoTrace as error:
            raise Failure(str(error), Code.NOT_FOUND) from None
        hand_over(spark, found, target)
        return found


def _tell(found: "Analysis", out: str, output: Output) -> None:
    for problem in found.problems[:_SHOWN]:
        note(f"{problem.path}: {problem.what}")
    if len(found.problems) > _SHOWN:
        note(f"and {amount(len(found.problems) - _SHOWN, 'more file')}; the report names them")
    if output.as_json:
        output.document(found.summary)
        return
    output.facts(_facts(found))
    output.line(f"\n{out}/report.html")


def _facts(found: "Analysis") -> list[tuple[str, str]]:
    overall = found.summary["overall"]
    final = "final: the queues were drained" if found.drained else "not final: the queues were not seen to be drained"
    return [
        (
            "traces",
            f"{amount(found.events, 'event')} in {amount(found.files, 'file')}, {amount(len(found.queues), 'queue')}",
        ),
        ("time", f"{found.summary['from']} to {found.summary['to']}"),
        ("sent", f"{overall['sent']:,}, {_number(overall['send_rate'])}/s"),
        ("received", f"{overall['received']:,}, and deleted {_number(overall['receive_delete_rate'])}/s"),
        ("duplicates", f"{overall['duplicates']:,}, {_share(overall['duplication_rate'])}"),
        ("lost", f"{overall['lost']:,}, {_share(overall['loss_rate'])}; {final}"),
        ("out of order", f"{_share(overall['out_of_order_rate'])}, displacement {_number(overall['displacement'])}"),
        ("response", _percentiles(overall["response_ms"])),
        ("delivery", _percentiles(overall["delivery_ms"])),
        ("misses", f"{_share(overall['miss_ratio'])}, messages per hit {_number(overall['messages_per_hit'])}"),
        ("utilisation", _share(overall["utilisation"])),
    ]


def _number(value: Any) -> str:
    return "none" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _share(value: Any) -> str:
    return "none" if value is None else f"{value:.2%}"


def _percentiles(values: dict[str, Any]) -> str:
    if values["p50"] is None:
        return "none"
    return ", ".join(f"{name} {_number(value)} ms" for name, value in values.items())
