"""From traces to a calibration: Spark brings messages together and counts, and a few thousand numbers are fitted here.

What in a service is which part of the model is told in docs/explanation/capacity.md.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rockdove.capacity.estimate import Estimate
from rockdove.capacity.fit.arrival import poisson, rate
from rockdove.capacity.fit.histogram import Histogram
from rockdove.capacity.fit.share import share
from rockdove.capacity.plan.calibration import Basis, Calibration
from rockdove.core.errors import RockdoveError
from rockdove.spark.calibrate.arrival import Arrivals, arrivals
from rockdove.spark.calibrate.delivery import deliveries, fates
from rockdove.spark.calibrate.event import one_side, requests, succeeded
from rockdove.spark.calibrate.link import link
from rockdove.spark.calibrate.stage import stage
from rockdove.spark.calibrate.times import histogram, histogram_and
from rockdove.spark.event import read
from rockdove.spark.file import Files, NoTrace, Problem, look, scanned, unread

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

Say = Callable[[str], None]

# Of each kind: with fewer, intervals are as wide as what is estimated.
FEWEST: Final = 30
# Clocks of clients: by so much a message may seem to come again before its timeout is over.
_EARLY_US: Final = 20_000
_SECOND_US: Final = 1_000_000
# Problems with files that are said one by one.
_SHOWN: Final = 10


class TooShort(RockdoveError):
    """The traces do not have enough of something; the message says of what."""


class Found(NamedTuple):
    """A calibration, and files that do not count, or not fully."""

    calibration: Calibration
    problems: list[Problem]


class _Span(NamedTuple):
    """What a first look at messages tells; times are microseconds since 1970."""

    queues: int
    arrivals: int
    first_arrival: int
    last_arrival: int
    first: int
    last: int


class _Work(NamedTuple):
    """What became of deliveries."""

    services: Histogram
    reliability: Estimate
    deliveries: int
    failures: int
    timeout: Estimate | None


def calibrate(
    spark: "SparkSession", traces: Sequence[str], queues: Sequence[str] = (), say: Say = lambda text: None
) -> Found:
    """All queues together are one system, or those that are named. Raises `NoTrace`, `TooShort` and `Untold`."""
    files = look(spark, traces)
    say(f"{len(files.paths):,} files, {files.events:,} events")
    read_events = read(spark, files.paths)
    # Before anything else: what is missing may be why the rest is too short.
    problems = _problems(spark, files, read_events.schema, say)
    good = succeeded(read_events, queues)
    events = one_side(good)
    messages = _messages(events).persist()
    work = deliveries(events).persist()
    try:
        span = _look(messages, traces, queues)
        arrived = arrivals(messages.select("sent").where("sent is not null"), *span[1:4])
        say(f"{span.arrivals:,} arrivals in {(span.last_arrival - span.first_arrival) / 1e6:,.0f} s")
        done = _work(work, span)
        say(f"{done.deliveries:,} deliveries, {done.failures:,} of them failed")
        delivered = histogram(messages, messages["deleted"] - messages["sent"])
    finally:
        work.unpersist()
        messages.unpersist()
    wrong = len({problem.path for problem in problems})
    found = _assemble(span, arrived, done, delivered, *_sending(good), link(good), wrong)
    return Found(found, problems)


def _problems(spark: "SparkSession", files: Files, schema: "StructType", say: Say) -> list[Problem]:
    problems = [*files.problems, *unread(files, scanned(spark, files.paths, schema))]
    for problem in problems[:_SHOWN]:
        say(f"{problem.path}: {problem.what}")
    if len(problems) > _SHOWN:
        say(f"and {len(problems) - _SHOWN:,} more")
    return problems


def _messages(events: "DataFrame") -> "DataFrame":
    """A row for each message: when it was `sent`, once however often it was tried, and when it was `deleted`.

    Also when its `first` and its `last` event were.
    """
    from pyspark.sql import functions as f

    def first(op: str) -> "Column":
        return f.min(f.when(f.col("op") == op, f.col("time")))

    return events.groupBy("queue", "message_id").agg(
        first("send").alias("sent"),
        first("delete").alias("deleted"),
        f.min("time").alias("first"),
        f.max("time").alias("last"),
    )


def _look(messages: "DataFrame", traces: Sequence[str], queues: Sequence[str]) -> _Span:
    from pyspark.sql import functions as f

    arrivals = (f.count("sent"), f.min("sent"), f.max("sent"))
    found = _Span(*messages.agg(f.count_distinct("queue"), *arrivals, f.min("first"), f.max("last")).collect()[0])
    if not found.queues:
        what = f"of the queue {' or '.join(queues)} " if queues else ""
        raise NoTrace(f"no message {what}in {', '.join(traces)}; record some with: rockdove serve --trace DIR")
    _require(found.arrivals, "messages sent")
    return found


def _require(number: int, what: str) -> None:
    if number < FEWEST:
        raise TooShort(f"a calibration needs at least {FEWEST} {what}, and the traces have {number}; record for longer")


def _work(found: "DataFrame", span: _Span) -> _Work:
    from pyspark.sql import functions as f

    longest = f.max(found["deleted"] - found["received"])
    services, longest_us = histogram_and(found, longest, found["deleted"] - found["begun"])
    _require(0 if services is None else services.number, "messages received and deleted")
    assert services is not None
    # What was received later than this may still be at work when the trace ends, and whether it fails is not known.
    # One long service, however, must not leave nothing over.
    until = max(span.last - max(longest_us), (span.first + span.last) // 2)
    fate = fates(found, until)
    _require(fate.deliveries, "deliveries whose end is known")
    timeout = None
    if fate.again_us is not None:
        # Timeouts are whole seconds, and a message is never received before its is over.
        whole = float((fate.again_us + _EARLY_US) // _SECOND_US)
        timeout = Estimate(whole, None, whole)
    reliability = share(fate.deliveries - fate.failures, fate.deliveries)
    return _Work(services, reliability, fate.deliveries, fate.failures, timeout)


def _sending(good: "DataFrame") -> tuple[Histogram, bool]:
    """How long a sender is busy with a message, and whether a client said so everywhere."""
    from pyspark.sql import functions as f

    took = f.col("latency_us") / f.col("messages")
    found, asked = histogram_and(requests(good), f.min("asked"), took, f.col("messages"))
    _require(0 if found is None else found.number, "sends whose duration is known")
    assert found is not None
    return found, all(asked)


def _assemble(
    span: _Span,
    arrived: Arrivals,
    work: _Work,
    delivered: Histogram | None,
    sending: Histogram,
    asked: bool,
    crossing: Histogram | None,
    problems: int,
) -> Calibration:
    tests = poisson(arrived.gaps, arrived.windows)
    # Both measured times have crossings in them, and the model counts one after each stage.
    link_s = 0.0 if crossing is None else crossing.mean
    return Calibration(
        arrival=rate(arrived.gaps, tests),
        arrival_scv=arrived.gaps.scv_estimate,
        poisson=tests.fits,
        poisson_tests=tests,
        sender=stage(sending, link_s, "sends"),
        broker=stage(work.services, link_s, "services, from receive to delete"),
        reliability=work.reliability,
        link_s=None if crossing is None else crossing.mean_estimate,
        timeout_s=work.timeout,
        delivery_s=None if delivered is None else delivered.mean_estimate,
        basis=Basis(
            first=_iso(span.first),
            last=_iso(span.last),
            queues=span.queues,
            arrivals=span.arrivals,
            deliveries=work.deliveries,
            failures=work.failures,
        ),
        notes=_notes(span, work, asked, crossing, problems),
    )


def _notes(span: _Span, work: _Work, asked: bool, crossing: Histogram | None, problems: int) -> list[str]:
    notes = []
    if problems:
        many = "1 file does" if problems == 1 else f"{problems:,} files do"
        notes.append(f"traces: {many} not count, or not fully")
    if span.queues > 1:
        notes.append(f"{span.queues} queues are taken for one system; --queue chooses")
    if not asked:
        notes.append("sender: as long as the service took; only clients' traces have the time that a sender waits")
    if crossing is None:
        notes.append("link_s: not known, it takes the traces of the service and of its clients; 0 in plans")
    if work.timeout is None:
        why = "no delivery failed" if not work.failures else "no message came again after its timeout"
        notes.append(f"timeout_s: not known, {why}; 0 in plans unless --timeout-s says it")
    return notes


def _iso(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
