"""Figures from traces made by hand, on a real Spark."""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rockdove.spark import direct
from rockdove.spark.analysis import Analysis, BadWindow, analyse
from rockdove.spark.direct import Direct
from rockdove.spark.file import NoTrace
from tests.support import plain_analysis
from tests.support.made_trace import Event, event, odd, received, sent, write
from tests.support.random_trace import events as random_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Analysed = Callable[..., Analysis]

FIGURES = {
    *("sent", "received", "deleted", "expired", "dead_lettered", "duplicates", "lost", "duplication_rate", "loss_rate"),
    *("out_of_order_rate", "displacement", "send_rate", "receive_delete_rate", "response_ms", "delivery_ms"),
    *("miss_ratio", "messages_per_hit", "utilisation"),
}


def order(places: str, **more: Any) -> list[Event]:
    """Messages 1 to n sent in this order, and received in the order given."""
    sends = [sent(f"m{name}", int(name), **more) for name in sorted(places)]
    return sends + [received(f"m{name}", 10 + n, int(name), **more) for n, name in enumerate(places)]


def test_the_worked_examples_of_the_paper(analysed: Analysed) -> None:
    expected = {"21345": (0.2, 0.4), "23451": (0.2, 1.6), "12345": (0, 0)}
    queues = analysed([one for places in expected for one in order(places, queue=places)]).summary["queues"]
    found = {name: (figures["out_of_order_rate"], figures["displacement"]) for name, figures in queues.items()}
    assert found == {name: pytest.approx(figures) for name, figures in expected.items()}


def test_the_summary_has_the_keys_that_were_promised(analysed: Analysed) -> None:
    summary = analysed(order("123")).summary
    assert set(summary) == {"format", "from", "to", "overall", "queues", "problems"}
    assert summary["problems"] == []
    assert (summary["from"], summary["to"]) == ("2026-03-01T12:00:01.000000Z", "2026-03-01T12:00:12.000000Z")
    assert set(summary["overall"]) == set(summary["queues"]["jobs"]) == FIGURES
    assert set(summary["overall"]["response_ms"]) == {"p50", "p95", "p99"}


def test_what_nothing_is_known_of_is_null(analysed: Analysed) -> None:
    overall = analysed([event("purge", 0)]).summary["overall"]
    assert {name for name, value in overall.items() if value is None} == {
        *("duplication_rate", "loss_rate", "out_of_order_rate", "displacement", "send_rate", "receive_delete_rate"),
        *("miss_ratio", "messages_per_hit", "utilisation"),
    }
    assert overall["response_ms"] == {"p50": None, "p95": None, "p99": None}


def test_duplicates_losses_and_what_is_neither(analysed: Analysed) -> None:
    found = analysed(
        [
            *(sent(name, n) for n, name in enumerate(("twice", "lost", "old", "dead", "fine"))),
            sent("refused", 5, status=500),
            received("twice", 10, 0),
            received("twice", 20, 0),
            received("fine", 11, 4),
            event("delete", 12, "fine", latency_us=300),
            event("expire", 30, "old"),
            event("dead_letter", 31, "dead"),
        ]
    ).summary["overall"]
    counts = {name: found[name] for name in ("sent", "received", "deleted", "expired", "dead_lettered")}
    assert counts == {"sent": 5, "received": 2, "deleted": 1, "expired": 1, "dead_lettered": 1}
    assert (found["duplicates"], found["duplication_rate"]) == (1, 0.2)
    assert (found["lost"], found["loss_rate"]) == (1, 0.2)


def test_what_was_purged_is_not_lost_and_what_came_later_is(analysed: Analysed) -> None:
    found = analysed([sent("before", 1), event("purge", 2), sent("after", 3)])
    assert found.summary["overall"]["lost"] == 1
    assert [row["purged"] for row in found.queues] == [1]


def test_a_message_that_a_move_task_took_away_is_not_lost(analysed: Analysed) -> None:
    events = [event("redrive", 5, "m", queue="dead"), received("n", 6, 5, queue="jobs"), sent("m", 1, queue="dead")]
    found = analysed(events).summary["queues"]
    assert (found["dead"]["lost"], found["dead"]["sent"]) == (0, 1)
    assert (found["jobs"]["sent"], found["jobs"]["received"], found["jobs"]["duplication_rate"]) == (0, 1, None)


def test_a_message_whose_checksum_is_wrong_counts_in_the_loss_rate(analysed: Analysed) -> None:
    events = [sent("a", 0), sent("b", 1), received("a", 2, 0, checksum_ok=False), received("b", 3, 1, checksum_ok=True)]
    found = analysed(events)
    assert (found.summary["overall"]["lost"], found.summary["overall"]["loss_rate"]) == (0, 0.5)
    assert found.queues[0]["damaged"] == 1


def test_whether_there_was_a_drain(analysed: Analysed) -> None:
    drained = [sent("m", 0, queue="dry"), event("miss", 5, queue="dry")]
    assert analysed(drained).drained
    found = analysed([*drained, sent("m", 6, queue="wet"), event("miss", 5, queue="wet")])
    assert not found.drained
    assert {row["name"]: row["drained"] for row in found.queues} == {"dry": True, "wet": False}


def both_sides(op: str, seconds: float, message: str, **more: Any) -> list[Event]:
    return [
        event(op, seconds, message, latency_us=1_000, **more),
        event(op, seconds + 0.5, message, side="client", node="two", latency_us=9_000, **more),
    ]


def test_what_both_sides_saw_counts_once_by_the_clients_event(analysed: Analysed) -> None:
    found = analysed(
        [
            *both_sides("send", 0, "m", enqueued_at=0, sent_at=0),
            *both_sides("receive", 10, "m", enqueued_at=0),
            *both_sides("delete", 11, "m"),
            # This one only the server saw.
            sent("n", 1, latency_us=1_000),
            event("miss", 20),
            event("miss", 20.5, side="client", node="two"),
        ]
    ).summary["overall"]
    assert [found[name] for name in ("sent", "received", "deleted", "duplicates", "lost")] == [2, 1, 1, 0, 1]
    assert (found["miss_ratio"], found["messages_per_hit"]) == (0.5, 1)
    assert found["response_ms"] == {"p50": 9, "p95": 9, "p99": 9}
    assert found["delivery_ms"]["p50"] == pytest.approx(10_500, rel=4e-5)


def test_messages_of_one_answer_are_one_hit(analysed: Analysed) -> None:
    events = [sent(f"m{n}", n) for n in range(4)]
    # The service records them one after the other, but they were received at one moment.
    events += [received(f"m{n}", 10 + n / 1e6, n, dequeued_at=10, latency_us=77) for n in range(3)]
    events += [received("m3", 11, 3, latency_us=77)]
    found = analysed([*events, event("miss", 12), event("miss", 13)]).summary["overall"]
    assert (found["messages_per_hit"], found["miss_ratio"]) == (2, 0.5)


def test_utilisation_is_the_share_of_time_with_a_message_in_hand(analysed: Analysed) -> None:
    events = [sent("a", 0), sent("b", 0), received("a", 10, 0), received("b", 15, 0)]
    events += [event("delete", 20, "a"), event("delete", 30, "b"), event("miss", 100)]
    assert analysed(events).summary["overall"]["utilisation"] == pytest.approx(0.2)


def test_each_sender_has_an_order_of_its_own(analysed: Analysed) -> None:
    client = {"side": "client", "sender": "s"}
    events = [received(f"m{n}", 10 + n, since, seq=seq, **client) for n, (since, seq) in enumerate([(0, 1), (1, 0)])]
    found = analysed(events)
    assert found.summary["overall"]["out_of_order_rate"] == 0
    assert found.queues[0]["sender_out_of_order_rate"] == 0.5


def test_queues_of_the_same_name_are_told_apart_by_their_accounts(analysed: Analysed) -> None:
    events = [sent("a", 0, account="111111111111"), sent("b", 1, account="222222222222"), sent("c", 2, queue="mail")]
    assert set(analysed(events).summary["queues"]) == {"111111111111/jobs", "222222222222/jobs", "mail"}


def test_windows(analysed: Analysed, tmp_path: Path) -> None:
    events = [sent("a", 1), sent("b", 2), received("a", 11, 1), event("delete", 21, "a"), event("miss", 31)]
    analysed(events, window_s=10)
    table = pq.read_table(tmp_path / "out" / "windows").to_pylist()
    every = [row for row in table if row["name"] is None]
    assert [row["window_start"].strftime("%H:%M:%S") for row in every] == [
        "12:00:00",
        "12:00:10",
        "12:00:20",
        "12:00:30",
    ]
    shown = ("sent", "received", "deleted", "misses", "waiting", "in_flight", "send_rate", "utilisation")
    assert [tuple(row[name] for name in shown) for row in every] == [
        (2, 0, 0, 0, 2, 0, 0.2, 0),
        (0, 1, 0, 0, 1, 1, 0, 0.9),
        (0, 0, 1, 0, 1, 0, 0, 0.1),
        (0, 0, 0, 1, 1, 0, 0, 0),
    ]
    jobs = [row for row in table if row["name"] == "jobs"]
    assert [[row[name] for name in shown] for row in jobs] == [[row[name] for name in shown] for row in every]
    assert [row["delivery_p50_ms"] for row in jobs] == [None, 10_000, None, None]


def test_between_queues_that_follow_each_other_nothing_is_made_up(analysed: Analysed) -> None:
    def short_life(name: str, at: float) -> list[Event]:
        return [
            sent(name, at, queue=name),
            received(name, at + 1, at, queue=name),
            event("delete", at + 2, name, queue=name),
        ]

    found = analysed([*short_life("early", 0), *short_life("late", 50)], window_s=10)
    shown = [(row["window_start"].second, row["sent"], row["waiting"], row["send_rate"]) for row in found.windows]
    assert shown == [(0, 1, 0, 0.1), (10, 0, 0, 0), (20, 0, 0, 0), (30, 0, 0, 0), (40, 0, 0, 0), (50, 1, 0, 0.1)]
    assert [row["response_p50_ms"] for row in found.windows] == [None] * 6
    assert [row["window_start"].second for row in found.windows_by_queue["late"]] == [50]


def test_an_hour_that_comes_twice_on_the_clock_stays_in_order(
    analysed: Analysed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        autumn = datetime(2026, 10, 25, tzinfo=UTC)
        # At one o'clock UTC three o'clock in Berlin becomes two o'clock.
        moments = [autumn + timedelta(minutes=15 * number) for number in range(9)]
        found = analysed([sent(f"m{n}", 0) | {"event_time": moment} for n, moment in enumerate(moments)], window_s=900)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [row["window_start"].timestamp() for row in found.windows] == [moment.timestamp() for moment in moments]
    assert [row["waiting"] for row in found.windows] == list(range(1, 10))
    assert len({row["window_start"] for row in found.windows_by_queue["jobs"]}) == 9


def test_too_many_windows(analysed: Analysed) -> None:
    with pytest.raises(BadWindow, match="--window"):
        analysed([sent("a", 0), sent("b", 1000)], window_s=0.001)


def test_a_queue_with_half_of_all_events_breaks_nothing(analysed: Analysed) -> None:
    events = []
    for n in range(4_000):
        queue = "large" if n % 2 else f"small-{n % 100}"
        events += [sent(f"m{n:05}", n / 100, queue=queue), received(f"m{n:05}", 500 - n / 100, n / 100, queue=queue)]
    summary = analysed(events).summary
    assert summary["queues"]["large"]["received"] == 2_000
    assert summary["queues"]["large"]["out_of_order_rate"] == pytest.approx(1_999 / 2_000)
    assert summary["overall"]["received"] == 4_000


def test_files_that_cannot_be_read_are_named_and_the_others_count(spark: "SparkSession", tmp_path: Path) -> None:
    import pyarrow as pa

    folder = write(tmp_path / "trace" / "date=2026-03-01" / "hour=12", [sent("a", 0), sent("b", 1)])
    write(folder, [], "empty")
    write(folder, [sent("c", 2)], ".unfinished")
    (folder / "torn.parquet").write_bytes((folder / "part.parquet").read_bytes()[:-20])
    (folder / "words.parquet").write_text("these are no columns")
    pq.write_table(pa.table({"event_time": ["noon"]}), folder / "other.parquet")
    whole = pq.read_table(folder / "part.parquet", partitioning=None)
    # What is stored alike may mean something else.
    odd_types = {
        "attempt": pa.string(),
        "sent_at": pa.int64(),
        "status": pa.date32(),
        "latency_us": pa.uint64(),
        "message_id": pa.binary(),
    }
    for name, kind in odd_types.items():
        place = whole.schema.get_field_index(name)
        typed = whole.set_column(place, name, whole[name].cast(kind, safe=False))
        pq.write_table(typed, folder / f"typed-{name}.parquet")
    # Spark's file systems take what stands before the colon for a scheme.
    shutil.copy(folder / "part.parquet", folder / "at-12:30.parquet")
    found = analyse(spark, [str(tmp_path / "trace")], str(tmp_path / "out"))
    assert found.summary["overall"]["sent"] == 2
    named = {Path(problem.path).name: problem.what for problem in found.problems}
    assert {Path(each["file"]).name: each["problem"] for each in found.summary["problems"]} == named
    bad = {"empty.parquet", "torn.parquet", "words.parquet", "other.parquet", "at-12:30.parquet"}
    assert set(named) == bad | {f"typed-{name}.parquet" for name in odd_types}
    for name in odd_types:
        assert named[f"typed-{name}.parquet"] == f"not as traces are: {name} of another type"
    assert named["empty.parquet"] == "no event in it"
    assert "not a trace" in named["other.parquet"]


@pytest.mark.parametrize("reader", ["workers", "spark"])
@pytest.mark.parametrize("column", ["queue", "latency_us"])
def test_a_file_that_is_damaged_inside_is_named(
    column: str, reader: str, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events of which a column cannot be read count nowhere, whether the column is needed or not."""
    if reader == "spark":
        monkeypatch.setattr(Direct, "fits", staticmethod(lambda files: False))
    folder = write(tmp_path / "trace", [sent("a", 0, latency_us=100), sent("b", 10, latency_us=100)])
    write(folder, [sent(f"m{n}", n, latency_us=n) for n in range(1000)], "damaged")
    path = folder / "damaged.parquet"
    chunks = pq.read_metadata(path).row_group(0)
    chunk = next(chunks.column(at) for at in range(chunks.num_columns) if chunks.column(at).path_in_schema == column)
    place = chunk.dictionary_page_offset or chunk.data_page_offset
    text = bytearray(path.read_bytes())
    text[place : place + 200] = b"\xff" * 200
    path.write_bytes(text)
    found = analyse(spark, [str(folder)], str(tmp_path / "out"))
    assert [(Path(problem.path).name, problem.what) for problem in found.problems] == [
        ("damaged.parquet", "1,000 events could not be read: it is damaged inside, or was changed")
    ]
    assert (found.events, found.summary["overall"]["sent"]) == (2, 2)
    assert found.summary["overall"]["send_rate"] == pytest.approx(0.2)


def test_rows_that_are_no_events_are_counted_and_named(spark: "SparkSession", tmp_path: Path) -> None:
    folder = write(tmp_path / "trace", [sent("a", 0), sent("b", 1), *odd()])
    found = analyse(spark, [str(folder)], str(tmp_path / "out"))
    [problem] = found.problems
    assert problem.what.startswith(f"{len(odd())} rows are no events: ")
    assert (found.summary["overall"]["sent"], list(found.summary["queues"])) == (2, ["jobs"])


def test_who_has_no_event_at_all_is_told_why(spark: "SparkSession", tmp_path: Path) -> None:
    import pyarrow as pa

    folder = write(tmp_path / "trace", odd())
    events = pq.read_table(write(tmp_path / "other", [sent("a", 0)]) / "part.parquet")
    place = events.schema.get_field_index("event_time")
    fine = events["event_time"].cast(pa.timestamp("ns", "UTC"))
    pq.write_table(events.set_column(place, "event_time", fine), folder / "fine.parquet")
    with pytest.raises(NoTrace) as failure:
        analyse(spark, [str(folder)], str(tmp_path / "out"))
    assert "fine.parquet: nanoseconds in event_time" in str(failure.value)
    assert f"part.parquet: {len(odd())} rows are no events" in str(failure.value)


def test_a_client_that_does_not_know_the_account_sees_the_same_queue(analysed: Analysed) -> None:
    unknown = {"side": "client", "account": None}
    events = [sent("a", 0), sent("a", 0, **unknown), event("delete", 2, "a"), received("a", 1, 0, **unknown)]
    found = analysed([*events, sent("b", 1, queue="mail", **unknown)])
    assert {name: row["sent"] for name, row in found.summary["queues"].items()} == {"jobs": 1, "mail": 1}
    jobs = found.summary["queues"]["jobs"]
    assert (jobs["received"], jobs["deleted"], jobs["duplicates"], found.events) == (1, 1, 0, 5)


def test_a_client_whose_queue_could_be_that_of_several_accounts_stays_alone(analysed: Analysed) -> None:
    found = analysed([sent(name, 0, account=account) for name, account in (("a", "1"), ("b", "2"), ("c", None))])
    assert set(found.summary["queues"]) == {"1/jobs", "2/jobs", "unknown/jobs"}


def test_a_folder_is_found_by_its_name_before_it_is_a_pattern(spark: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path / "trace[1]", [sent("a", 0)])
    write(tmp_path / "trace1", [sent("b", 0), sent("c", 1)])
    for given_name, number in (("trace[1]", 1), ("trace1", 2), ("trace{1,*1*}", 3)):
        found = analyse(spark, [str(tmp_path / given_name)], str(tmp_path / "out"))
        assert (found.summary["overall"]["sent"], found.problems) == (number, [])
    (tmp_path / "02:30").mkdir()
    for given_name in (str(tmp_path / "trace*"), "nowhere://host/trace"):
        with pytest.raises(NoTrace, match="cannot look for"):
            analyse(spark, [given_name], str(tmp_path / "out"))


@pytest.mark.parametrize("made", [False, True], ids=["no folder", "no file"])
def test_nothing_to_analyse(spark: "SparkSession", tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "trace").mkdir()
    with pytest.raises(NoTrace, match="trace"):
        analyse(spark, [str(tmp_path / "trace")], str(tmp_path / "out"))


def test_both_readers_and_divided_queues_give_the_same_tables(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = []
    for n in range(60):
        queue = "large" if n % 3 else f"small-{n % 2}"
        told = {"queue": queue, "side": "client", "sender": f"s{n % 4}", "seq": n, "account": None if n % 5 else "1"}
        events += [sent(f"m{n}", n, **told), received(f"m{n}", n + n % 7 + 1, n, queue=queue, receiver=f"r{n % 3}")]
        events += [event("delete", n + 9, f"m{n}", queue=queue)] if n % 4 else [event("miss", n, queue=queue)]
    trace = str(write(tmp_path / "trace", events))

    def tables(name: str) -> tuple[Any, ...]:
        found = analyse(spark, [trace], str(tmp_path / name), 10)
        read = [pq.read_table(tmp_path / name / table).to_pylist() for table in ("queues", "windows")]
        return found.summary, found.overall, found.windows_by_queue, *read

    expected = tables("direct")
    # Few events are many for these.
    for bound in ("WHOLE_EVENTS", "PART_EVENTS"):
        monkeypatch.setattr(direct, bound, 20)
    assert tables("divided") == expected
    monkeypatch.setattr(Direct, "fits", lambda files: False)
    assert tables("scan") == expected


def test_the_plan_has_one_shuffle_and_reads_only_what_it_needs(spark: "SparkSession", tmp_path: Path) -> None:
    from rockdove.spark.event import Scan
    from rockdove.spark.window import cut

    reader = Scan(spark, [str(write(tmp_path / "trace", order("123")))])
    found = reader.survey()
    assert found is not None
    with reader.measured(found, cut(found.first, found.last)) as table:
        plan = table._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") - plan.count("BroadcastExchange") == 1
    assert plan.count("MapInArrow") == 1
    assert "physical" not in plan.split("ReadSchema")[1]
    assert "bytes" not in plan.split("ReadSchema")[1]


@settings(
    max_examples=3,
    deadline=None,
    # To shrink what was found takes Spark minutes; tests/unit/spark/test_measure.py finds small examples.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(found=st.lists(random_events(), min_size=2, max_size=4))
def test_figures_are_those_of_a_plain_computation(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory, found: list[list[Event]]
) -> None:
    """Several random traces at once, each with queues of its own: a run of Spark costs more than its events."""
    events = [
        {**one, "queue": f"{n}-{one['queue']}", "message_id": one["message_id"] and f"{n}-{one['message_id']}"}
        for n, trace in enumerate(found)
        for one in trace
    ]
    folder = tmp_path_factory.mktemp("random")
    summary = analyse(spark, [str(write(folder / "trace", events))], str(folder / "out")).summary
    plain = plain_analysis.analyse(events)
    assert_close(summary["overall"], plain["overall"])
    assert set(summary["queues"]) == set(plain["queues"])
    for name, figures in plain["queues"].items():
        assert_close(summary["queues"][name], figures)


def assert_close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Percentiles of all queues together are those of buckets, 0.003 % wide."""
    # A count that the summary leaves out; tests/unit/spark/test_measure.py compares it.
    expected = {name: value for name, value in expected.items() if name != "purged"}
    assert set(found) == set(expected)
    for name, value in expected.items():
        if isinstance(value, dict):
            assert_close(found[name], value)
        elif value is None:
            assert found[name] is None, name
        else:
            assert found[name] == pytest.approx(value, rel=4e-5, abs=1e-9), name
