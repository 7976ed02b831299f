"""``rockdove bench rds``."""

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from msgspec import Struct

from rockdove.cli import option
from rockdove.cli.bench.claims import some, tell_claims, write
from rockdove.cli.failure import Code, Failure
from rockdove.cli.output import Output, note
from rockdove.cli.pair import pairs

if TYPE_CHECKING:
    from rockdove.workload.machine import Machine
    from rockdove.workload.trial import TrialResult

_STORES = ("redis", "sqlite")
# What the paper has of rds and conventional at its highest rate, there in messages per second.
_AIM = 1.8


class RdsRow(Struct, frozen=True, kw_only=True):
    """One run. Times and hits are from the trace; a hit is a request that was answered with messages."""

    store: str
    policy: str
    rate: float
    sleep_s: float | None
    seconds: float
    sent: int
    received: int
    throughput: float
    requests: int
    hit_rate: float | None
    messages_per_hit: float | None
    cpu_s: float
    store_cpu_s: float
    cpu_us_per_message: float | None
    messages_per_cpu_s: float | None
    delivery_ms: dict[str, float | None]


class RdsReport(Struct, frozen=True):
    """What the bench hands over."""

    bench: str
    machine: "Machine"
    command: str
    rows: list[RdsRow]
    ratios: dict[str, float]
    holds: dict[str, bool]


def rds(
    stores: Annotated[
        list[str] | None,
        typer.Option("--store", metavar="redis|sqlite", help="Where; may be repeated.", show_default="both"),
    ] = None,
    rates: Annotated[
        str, typer.Option("--rates", metavar="N,...", help="Requests per second of a consumer.")
    ] = "10,50,100,200",
    sleeps: Annotated[
        str, typer.Option("--sleeps", metavar="S,...", help="Sleeps of rds, all of them at the highest rate.")
    ] = "0.05,0.1,0.5,1",
    seconds: Annotated[float, typer.Option("--seconds", min=1, metavar="S", help="Of each run.")] = 8.0,
    consumers: Annotated[int, typer.Option("--consumers", min=1, metavar="N", help="Each with one request.")] = 10,
    producers: Annotated[int, typer.Option("--producers", min=1, metavar="N", help="Each sends periodically.")] = 10,
    send_rate: Annotated[
        float, typer.Option("--send-rate", min=0.1, metavar="N", help="Messages per second of a producer.")
    ] = 20.0,
    physical: Annotated[
        int, typer.Option("--physical", min=1, max=1000, metavar="N", help="Physical queues of the queue.")
    ] = 10,
    servers: Annotated[int, typer.Option("--servers", min=1, metavar="N", help="Redis servers.")] = 3,
    workers: Annotated[int, typer.Option("--workers", min=0, metavar="N", help="Front-ends; 0: one process.")] = 0,
    master: option.Master = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="The folder for table and picture.")] = None,
    conf: option.Conf = None,
    as_json: option.Json = False,
) -> None:
    """Compare the dequeue policies on services that this command starts: the paper's experiment.

    Ten consumers, each with one request outstanding and an exponential wait after its answer, receive
    up to 100 messages at a time from ten physical queues, while producers send messages of 1 KB at
    regular intervals. All policies take turns on a service with several Redis servers and on one with
    SQLite. CPU is that of the service and of its Redis servers, not of the clients. The services
    record traces, and Spark finds hits and delivery times in them.

    Needs rockdove[spark,redis], Java 17 and redis-server, and takes some minutes. With --out, DIR gets
    rds14.json and rds14.svg.

    \b
    Examples:
      rockdove bench rds
      rockdove bench rds --store redis --rates 200 --sleeps 0.1 --seconds 5 --json
    """
    chosen, rate_list, sleep_list = _stores(stores), _numbers("--rates", rates), _numbers("--sleeps", sleeps)
    from rockdove.spark.path import require_writable, whole_path
    from rockdove.spark.session import require

    require("the traces are analysed by Spark, which needs", master)
    target = None if out is None else whole_path(out)
    if target is not None:
        try:
            require_writable(target)
        except OSError as error:
            raise Failure(f"cannot write to {out}: {error.strerror}") from None
    from rockdove.workload import WorkloadFailed
    from rockdove.workload.machine import this_machine
    from rockdove.workload.polling import Polling
    from rockdove.workload.trial import PolicyTrials

    polling = Polling(rate=1, consumers=consumers, producers=producers, send_rate=send_rate, seconds=seconds)
    with tempfile.TemporaryDirectory(prefix="rockdove-rds-") as folder:
        trials = PolicyTrials(
            folder=Path(folder),
            stores=cast(Any, chosen),
            rates=rate_list,
            sleeps=sleep_list,
            physical=physical,
            servers=servers,
            workers=workers,
            polling=polling,
        )
        try:
            results = trials.run(note)
        except WorkloadFailed as error:
            raise Failure(str(error)) from None
        note("the traces are analysed")
        traces: dict[str, str] = {store: str(trials.trace_of(store)) for store in trials.stores}
        figures = _analysed(traces, folder, master, pairs(conf))
        rows = [_row(each, figures[each.trial.store][each.queue]) for each in results]
    command = shlex.join(["rockdove", *sys.argv[1:]])
    report = RdsReport("rds", this_machine(), command, rows, _ratios(rows), _holds(rows))
    if target is not None and out is not None:
        from rockdove.spark.sweep.rds_picture import picture

        write(report, picture(report.rows), Path(target), "rds14")
    _tell(report, out, Output(as_json))


def _stores(stores: list[str] | None) -> list[str]:
    chosen = list(dict.fromkeys(stores or _STORES))
    unknown = [store for store in chosen if store not in _STORES]
    if unknown:
        raise Failure(f"--store is redis or sqlite, not {unknown[0]!r}", Code.USAGE)
    return chosen


def _numbers(flag: str, text: str) -> list[float]:
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) <= 0:
        raise Failure(f"{flag} is numbers above 0 with commas between them, not {text!r}", Code.USAGE)
    return found


def _analysed(
    traces: Mapping[str, str], folder: str, master: str | None, conf: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """The figures of each queue, by store."""
    from rockdove.spark.analysis import analyse
    from rockdove.spark.session import session

    found: dict[str, dict[str, Any]] = {}
    with session(master, conf, light=True) as spark:
        for store, trace in traces.items():
            found_in = analyse(spark, [trace], f"{folder}/{store}/result", None, lambda text: None)
            queues = found_in.summary["queues"]
            found[store] = {name.rpartition("/")[2]: figures for name, figures in queues.items()}
    return found


def _row(result: "TrialResult", figures: Mapping[str, Any]) -> RdsRow:
    trial, polled = result.trial, result.polled
    used_s = polled.cpu_s + polled.store_cpu_s
    misses = figures["miss_ratio"]
    return RdsRow(
        store=trial.store,
        policy=trial.policy.value,
        rate=trial.rate,
        sleep_s=trial.sleep_s,
        seconds=polled.seconds,
        sent=polled.sent,
        received=polled.received,
        throughput=polled.received / polled.seconds,
        requests=polled.requests,
        hit_rate=None if misses is None else 1 - misses,
        messages_per_hit=figures["messages_per_hit"],
        cpu_s=polled.cpu_s,
        store_cpu_s=polled.store_cpu_s,
        cpu_us_per_message=used_s / polled.received * 1e6 if polled.received else None,
        messages_per_cpu_s=polled.received / used_s if used_s else None,
        delivery_ms=figures["delivery_ms"],
    )


def _at_most(rows: Sequence[RdsRow], store: str, policy: str) -> list[RdsRow]:
    """Those at the highest rate."""
    most = max(row.rate for row in rows)
    return [row for row in rows if (row.store, row.policy, row.rate) == (store, policy, most)]


def _best(rows: Sequence[RdsRow]) -> float:
    return max((row.messages_per_cpu_s or 0.0 for row in rows), default=0.0)


def _ratios(rows: Sequence[RdsRow]) -> dict[str, float]:
    """Messages per second of CPU at the highest rate, of each policy to conventional; of rds, with its best sleep."""
    found: dict[str, float] = {}
    for store in dict.fromkeys(row.store for row in rows):
        base = _best(_at_most(rows, store, "conventional"))
        for policy in ("pms", "rds", "wake"):
            if base:
                found[f"{policy} / conventional on {store}"] = _best(_at_most(rows, store, policy)) / base
    return found


def _holds(rows: Sequence[RdsRow]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    most = max(row.rate for row in rows)
    for name, ratio in _ratios(rows).items():
        if not name.startswith("pms"):
            found[f"{name} is at least {_AIM} in messages per second of CPU at {most:g}/s"] = ratio >= _AIM
    for store in dict.fromkeys(row.store for row in rows):
        wake = [row.delivery_ms["p99"] for row in _at_most(rows, store, "wake")]
        others = [row.delivery_ms["p99"] for row in _at_most(rows, store, "rds")]
        if wake and others and None not in (*wake, *others):
            claim = f"p99 of delivery with wake is below that with rds at every sleep, on {store} at {most:g}/s"
            found[claim] = cast(float, wake[0]) < min(cast(list[float], others))
    return found


def _tell(report: RdsReport, out: str | None, output: Output) -> None:
    if output.as_json:
        output.document(report)
        return
    head = ["store", "policy", "rate", "sleep s", "messages/s", "per CPU s", "hits", "per hit", "p50 ms", "p99 ms"]
    lines = [
        [
            row.store,
            row.policy,
            f"{row.rate:g}",
            "" if row.sleep_s is None else f"{row.sleep_s:g}",
            f"{row.throughput:.0f}",
            some(row.messages_per_cpu_s, "{:,.0f}"),
            some(row.hit_rate, "{:.1%}"),
            some(row.messages_per_hit, "{:.1f}"),
            some(row.delivery_ms["p50"], "{:.1f}"),
            some(row.delivery_ms["p99"], "{:.1f}"),
        ]
        for row in report.rows
    ]
    output.table(head, lines, range(2, len(head)))
    output.line("")
    for name, ratio in report.ratios.items():
        output.line(f"{name}: {ratio:.2f}")
    tell_claims(report.holds, output)
    if out:
        output.line(f"\n{out}/rds14.svg")
