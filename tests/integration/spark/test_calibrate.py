"""Parameters from traces that were made with known ones, and from a real service with known workers."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from rockdove.capacity.error import Untold
from rockdove.capacity.plan.calibration import Calibration
from rockdove.spark.calibrate.calibrate import TooShort, calibrate
from rockdove.spark.file import NoTrace
from tests.support import known_worker
from tests.support.made_trace import Event, event, received, sent, write
from tests.support.server import ServerFactory
from tests.unit.cli.outcome import Cli

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

NUMBER = 1_500
TIMEOUT_S = 2.0
LINK_US = 2_000
# Far from busy, so that a slow machine leaves it stable; slow work, so that what a machine adds is little of it.
KNOWN = known_worker.Known(arrival=10, duration_s=30, workers=24, service_s=0.2, failing=0.1, timeout_s=2)

Calibrated = Callable[..., Calibration]


@pytest.fixture
def calibrated(spark: "SparkSession", tmp_path: Path) -> Calibrated:
    """`calibrated(events)` writes a trace and calibrates by it."""

    def run(events: list[Event], *queues: str) -> Calibration:
        return calibrate(spark, [str(write(tmp_path / "trace", events))], queues).calibration

    return run


def lives(
    gaps: "NDArray[np.float64]", services: "NDArray[np.float64]", failing: float = 0.0, **more: Any
) -> list[Event]:
    """Messages that workers without number receive at once; a delivery that fails is repeated after the timeout."""
    rng = np.random.default_rng(11)
    events = []
    for number, (at, service) in enumerate(zip(np.cumsum(gaps), services, strict=True)):
        name = f"m{number}"
        events.append(sent(name, at, latency_us=int(rng.exponential(5_000)), **more))
        while True:
            events.append(received(name, at, at, latency_us=100, **more))
            if rng.random() >= failing:
                break
            at += TIMEOUT_S + rng.exponential(0.01)
        events.append(event("delete", at + service, name, latency_us=100, **more))
    return events


def exponential(seed: int, mean: float, number: int = NUMBER) -> "NDArray[np.float64]":
    return np.random.default_rng(seed).exponential(mean, number)


def test_known_parameters_are_within_the_intervals(calibrated: Calibrated) -> None:
    found = calibrated(lives(exponential(1, 0.025), exponential(2, 0.1), 0.05))
    assert 40 in found.arrival
    assert found.poisson
    assert 1.0 in found.arrival_scv
    assert 200 in found.sender.rate
    assert (found.sender.family, found.broker.family) == ("exponential", "exponential")
    assert 10 in found.broker.rate
    assert 1.0 in found.broker.scv
    assert found.broker.services == NUMBER
    assert 0.95 in found.reliability
    assert found.timeout_s is not None
    assert found.timeout_s.value == TIMEOUT_S
    assert found.link_s is None
    assert [note.split(":")[0] for note in found.notes] == ["sender", "link_s"]
    assert found.basis is not None
    assert (found.basis.queues, found.basis.arrivals) == (1, NUMBER)
    assert found.delivery_s is not None
    assert 0.1 + 0.05 / 0.95 * (TIMEOUT_S + 0.01) in found.delivery_s


def test_erlang_services_and_regular_arrivals_are_told_apart(calibrated: Calibrated) -> None:
    services = np.random.default_rng(3).gamma(4, 0.025, NUMBER)
    found = calibrated(lives(np.full(NUMBER, 0.025), services))
    assert (found.broker.family, found.broker.phases) == ("erlang", 4)
    assert 0.25 in found.broker.scv
    assert not found.poisson
    assert found.load().arrival_scv == pytest.approx(0, abs=1e-6)
    assert found.arrival.value == pytest.approx(40)
    assert (found.reliability.value, found.timeout_s) == (1.0, None)


def test_gaps_across_slots_of_spark_count(calibrated: Calibrated) -> None:
    """One arrival a second for 2,400 s is cut into two slots."""
    found = calibrated(lives(np.full(2_400, 1.0), exponential(2, 0.1, 2_400)))
    assert found.arrival.value == pytest.approx(1, rel=1e-9)
    assert found.arrival_scv.value == pytest.approx(0, abs=1e-9)


def test_both_sides_give_the_link_and_count_once(calibrated: Calibrated) -> None:
    one = lives(exponential(1, 0.025, 400), exponential(2, 0.1, 400), 0.1)
    alone = calibrated(one)
    other = [{**each, "side": "client", "node": "two", "latency_us": each["latency_us"] + 2 * LINK_US} for each in one]
    both = calibrated([*one, *other])
    assert both.link_s is not None
    assert both.link_s.value == pytest.approx(LINK_US / 1e6)
    assert (both.arrival, both.reliability, both.timeout_s) == (alone.arrival, alone.reliability, alone.timeout_s)
    # A sender waits for the way there and back, and the model counts one crossing after each stage.
    assert alone.sender.mean_s is not None
    assert both.sender.mean_s is not None
    assert both.sender.mean_s.value == pytest.approx(alone.sender.mean_s.value + LINK_US / 1e6)
    assert alone.broker.mean_s is not None
    assert both.broker.mean_s is not None
    assert both.broker.mean_s.value == pytest.approx(alone.broker.mean_s.value - LINK_US / 1e6, rel=1e-3)
    assert both.notes == []


def test_a_send_that_was_taken_for_a_copy_is_no_arrival(calibrated: Calibrated) -> None:
    one = lives(exponential(1, 0.025, 100), exponential(2, 0.1, 100))
    other = [{**each, "side": "client", "node": "two", "latency_us": each["latency_us"] + 2 * LINK_US} for each in one]
    alone = calibrated([*one, *other])
    later = timedelta(milliseconds=5)
    again = [
        {**each, "event_time": each["event_time"] + later, "enqueued_at": each["enqueued_at"] + later, "latency_us": 1}
        for each in one
        if each["op"] == "send"
    ]
    found = calibrated([*one, *other, *again[::2]])
    assert (found.arrival, found.poisson_tests, found.basis) == (alone.arrival, alone.poisson_tests, alone.basis)
    # Nothing tells which of the two answers the client has measured.
    assert found.link_s is not None
    assert found.link_s.value == pytest.approx(LINK_US / 1e6)


def test_batches_are_done_one_after_the_other(calibrated: Calibrated) -> None:
    events = []
    for batch in range(20):
        names = [f"{batch}-{n}" for n in range(5)]
        events += [sent(name, batch, latency_us=10_000) for name in names]
        events += [received(name, batch + 0.1, batch, latency_us=batch) for name in names]
        events += [event("delete", batch + 0.1 + (n + 1) * 0.1, name) for n, name in enumerate(names)]
    found = calibrated(events)
    assert found.broker.mean_s is not None
    assert found.broker.mean_s.value == pytest.approx(0.1)
    assert found.broker.scv.value == pytest.approx(0, abs=1e-6)
    assert found.sender.rate.value == pytest.approx(500)
    assert not found.poisson


def test_what_is_a_failure_and_what_is_not_known_yet(calibrated: Calibrated) -> None:
    """40 succeed in a second; one never does, one is deleted too late, and one is at work when the trace ends.

    One is received once more after it was deleted, as it may be elsewhere.
    """
    events = [one for n in range(40) for one in (sent(f"m{n}", n), received(f"m{n}", n, n))]
    events += [event("delete", n + 1, f"m{n}") for n in range(40)]
    events += [{**one, "latency_us": 5} for one in (sent("never", 3), sent("late", 4), sent("last", 49.5))]
    events += [received("never", 3.5), received("late", 5), received("late", 15), event("delete", 15.5, "late")]
    events += [received("m1", 20), received("last", 49.6), event("change_visibility", 50, "last")]
    found = calibrated([{**one, "latency_us": one["latency_us"] or 5} for one in events])
    assert found.basis is not None
    assert (found.basis.deliveries, found.basis.failures) == (43, 2)
    assert found.timeout_s is not None
    assert found.timeout_s.value == 10


def test_a_queue_that_is_named(calibrated: Calibrated) -> None:
    events = lives(exponential(1, 0.025, 200), exponential(2, 0.1, 200))
    events += lives(exponential(3, 0.1, 100), exponential(4, 0.1, 100), queue="mail")
    assert calibrated(events).notes[0] == "2 queues are taken for one system; --queue chooses"
    found = calibrated(events, "mail")
    assert 10 in found.arrival
    with pytest.raises(NoTrace, match="no message of the queue post in "):
        calibrated(events, "post")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([sent("m", 0), sent("n", 1)], "at least 30 messages sent, and the traces have 2; record for longer"),
        (
            [sent(f"m{n}", n) for n in range(40)],
            "at least 30 messages received and deleted, and the traces have 0; record for longer",
        ),
    ],
    ids=["few", "no receives"],
)
def test_too_little_is_said(calibrated: Calibrated, events: list[Event], said: str) -> None:
    with pytest.raises(TooShort, match=said):
        calibrated(events)


def damage(path: Path) -> None:
    """The message ids of a file can no longer be read; its footer can."""
    columns = pq.read_metadata(path).row_group(0)
    place = next(n for n in range(columns.num_columns) if columns.column(n).path_in_schema == "message_id")
    start = columns.column(place).dictionary_page_offset
    text = bytearray(path.read_bytes())
    text[start : start + 200] = b"\xff" * 200
    path.write_bytes(text)


def test_events_that_cannot_be_read_are_said(spark: "SparkSession", tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", lives(exponential(1, 0.025, 200), exponential(2, 0.1, 200)))
    write(trace, lives(exponential(3, 0.025, 200), exponential(4, 0.1, 200)), "damaged")
    damage(trace / "damaged.parquet")
    said: list[str] = []
    found = calibrate(spark, [str(trace)], say=said.append)
    assert f"{trace}/damaged.parquet: 600 events could not be read: it is damaged inside, or was changed" in said
    assert [problem.path for problem in found.problems] == [f"{trace}/damaged.parquet"]
    assert found.calibration.notes[0] == "traces: 1 file does not count, or not fully"
    assert found.calibration.basis is not None
    assert found.calibration.basis.arrivals == 200


def of_a_moment() -> list[Event]:
    """All sent at once."""
    parts = [(sent(f"m{n}", 0), received(f"m{n}", 1, 0), event("delete", 1.1 + n / 100, f"m{n}")) for n in range(40)]
    return [{**one, "latency_us": 2_000} for part in parts for one in part]


def without_work() -> list[Event]:
    """Deleted in the microsecond of its receive."""
    parts = [(sent(f"m{n}", n), received(f"m{n}", n, n), event("delete", n, f"m{n}")) for n in range(40)]
    return [{**one, "latency_us": 2_000} for part in parts for one in part]


def with_a_long_link() -> list[Event]:
    one = lives(exponential(1, 0.025, 60), exponential(2, 0.001, 60))
    return [*one, *({**each, "side": "client", "node": "two", "latency_us": 600_000} for each in one)]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (of_a_moment(), "arrivals: all 40 messages were sent at one moment"),
        (without_work(), "services, from receive to delete: all of them took 0 s"),
        (
            [{**one, "latency_us": 0} for one in lives(exponential(1, 0.025, 60), exponential(2, 0.1, 60))],
            "sends: all of them took 0 s",
        ),
        (with_a_long_link(), "services, from receive to delete: the link, 0.2.* s on average, is longer than each"),
    ],
    ids=["one moment", "no work", "no time to send", "long link"],
)
def test_what_a_trace_cannot_tell_is_said(calibrated: Calibrated, events: list[Event], said: str) -> None:
    with pytest.raises(Untold, match=said):
        calibrated(events)


def test_the_traces_of_clients_alone(calibrated: Calibrated) -> None:
    one = lives(exponential(1, 0.025, 200), exponential(2, 0.1, 200))
    found = calibrated([{**each, "side": "client", "enqueued_at": None} for each in one])
    assert 40 in found.arrival
    assert 10 in found.broker.rate
    assert 200 in found.sender.rate
    assert found.link_s is None
    assert [note.split(":")[0] for note in found.notes] == ["link_s", "timeout_s"]


def test_the_command_writes_what_a_plan_reads(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "trace", lives(exponential(1, 0.025, 300), exponential(2, 0.1, 300), 0.05))
    out = tmp_path / "new" / "folder"
    command = [sys.executable, "-c", "from rockdove.cli import main; main()", "calibrate", str(tmp_path / "trace")]
    command += ["--master", "local[1]", "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((out / "calibration.json").read_text())
    planned = cli("plan", "--from", str(out / "calibration.json"), "--json")
    assert planned.code == 0, planned.err
    assert planned.document["feasible"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{trace}", "--queue", "nope"], "rockdove: no message of the queue nope in "),
        (["{trace}/nope"], "rockdove: there is no "),
    ],
    ids=["queue", "folder"],
)
def test_what_is_not_there_is_one_line(cli: Cli, words: list[str], said: str, tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", [sent("m", 0)])
    done = cli("calibrate", *(word.format(trace=trace) for word in words), "--out", str(tmp_path))
    assert done.code == 3
    assert done.err.splitlines()[-1].startswith(said)
    assert "\tat " not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "{trace}/part.parquet"], "rockdove: cannot write to "),
        (["--out", "/dev/null/x"], "rockdove: cannot write to /dev/null/x: Not a directory"),
        (["--master", "nonsense"], "rockdove: no master 'nonsense': it is local[*], "),
    ],
    ids=["out a file", "out nowhere", "master"],
)
def test_what_cannot_be_done_is_one_line(early: Cli, words: list[str], said: str, tmp_path: Path) -> None:
    trace = write(tmp_path / "trace", [sent("m", 0)])
    done = early("calibrate", str(trace), *(word.format(trace=trace) for word in words))
    assert done.code == 1
    assert done.err.startswith(said)
    assert done.err.count("\n") == 1


def test_a_real_service_delivers_as_fast_as_the_model_predicts(
    server: ServerFactory, spark: "SparkSession", tmp_path: Path
) -> None:
    """Compared with what was measured, and no closer than this machine is with its own work."""
    service = server("--trace", str(tmp_path / "trace"))
    seen = asyncio.run(known_worker.run(service.endpoint, "jobs", KNOWN, seed=4))
    assert service.stop() == 0
    found = calibrate(spark, [str(tmp_path / "trace")]).calibration
    over_s = seen.overhead_s
    assert found.basis is not None
    assert found.basis.arrivals == len(seen.sent_s)
    assert found.arrival.value == pytest.approx(seen.arrival, rel=0.05 + 2 * max(seen.late_s) / KNOWN.duration_s)
    # A delete after the timeout comes too late.
    late = fmean(service_s > KNOWN.timeout_s for service_s in seen.services_s)
    assert found.reliability.value == pytest.approx(seen.reliability, abs=0.02 + late)
    assert found.timeout_s is not None
    assert found.timeout_s.value == KNOWN.timeout_s
    service_s = fmean(seen.services_s)
    assert 1 / found.broker.rate.value == pytest.approx(service_s, abs=0.05 * service_s + over_s)
    # Senders are as many as are needed.
    predicted_s = found.load().network(n1=1_000, n2=KNOWN.workers).delivery_s
    delivery_s = fmean(seen.deliveries_s)
    assert predicted_s == pytest.approx(delivery_s, abs=0.15 * delivery_s + over_s)
