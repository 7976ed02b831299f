"""The compiled loop on Arrow batches, without Spark: the figures of a plain computation, however batches are cut."""

import subprocess
import sys
from importlib.metadata import requires
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rockdove.spark import line as line_module
from rockdove.spark import measure as measure_module
from rockdove.spark import queue as queue_module
from rockdove.spark import row as row_module
from rockdove.spark.fold import fold
from rockdove.spark.measure import joiner, measurer
from rockdove.spark.queue import WHOLE
from rockdove.spark.row import (
    BROKEN,
    BY_CLIENT,
    HASH_BITS,
    LATENCY_SHIFT,
    MISSING,
    NUMBERED,
    NUMBERS,
    REST_BITS,
    REST_SHIFT,
    SUCCESS,
)
from rockdove.spark.window import cut
from rockdove.trace.schema import OPS
from tests.support import plain_analysis
from tests.support.made_trace import Event, event, received, sent
from tests.support.random_trace import events, same

SCHEMA = pa.schema([*((name, pa.int64()) for name in (*NUMBERS, *NUMBERED)), ("id", pa.string())])


def micros(moment: Any) -> int:
    return MISSING if moment is None else round(moment.timestamp() * 1e6)


def row(event: Event, numbers: dict[str, int], hash_bits: int) -> dict[str, Any]:
    """What the SQL of `rockdove.spark.event` makes of an event; few bits let different ids meet."""
    name = event["message_id"]
    hashed = 0 if name is None else hash(name) % (1 << hash_bits) | 1
    rest = (hash(name) >> HASH_BITS) % (1 << REST_BITS)
    latency = -1 if event["latency_us"] is None else event["latency_us"]
    ask = (event["node"], event["receiver"], event["latency_us"], plain_analysis.time(event))
    kind = OPS.index(event["op"])
    kind += BY_CLIENT * (event["side"] == "client") + BROKEN * (event["checksum_ok"] is False)
    kind += SUCCESS * (200 <= (event["status"] or 0) < 300)
    return {
        "key": numbers[event["queue"]] << HASH_BITS | hashed,
        "kind": latency << LATENCY_SHIFT | rest << REST_SHIFT | kind,
        "time": micros(plain_analysis.time(event)),
        "enqueued": micros(event["enqueued_at"]),
        "sent": micros(event["sent_at"] or event["enqueued_at"]),
        "request": hash(ask) if event["op"] == "receive" else 0,
        "sender": 0 if event["sender"] is None else hash(event["sender"]) | 1,
        "seq": event["seq"] or 0,
        "id": name or "" if event["op"] == "receive" else "",
    }


def measured(found: list[Event], size: int, hash_bits: int = 40) -> tuple[dict[str, dict[str, Any]], list[Any]]:
    names = sorted({event["queue"] for event in found})
    numbers = {name: number for number, name in enumerate(names)}
    times = [micros(event["event_time"]) for event in found]
    rows = sorted((row(event, numbers, hash_bits) for event in found), key=lambda row: row["key"])
    batches = [pa.RecordBatch.from_pylist(rows[at : at + size], SCHEMA) for at in range(0, len(rows), size)]
    out = [line for batch in measurer(cut(min(times), max(times)))(batches) for line in batch.to_pylist()]
    whole = {names[line["number"]]: line for line in out if line["window"] == WHOLE and line["number"] >= 0}
    return whole, out


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events(), st.integers(1, 9), st.sampled_from([2, 40]))
def test_figures_are_those_of_a_plain_computation(found: list[Event], size: int, hash_bits: int) -> None:
    plain = plain_analysis.analyse(found)
    whole, lines = measured(found, size, hash_bits)
    assert set(whole) == set(plain["queues"])
    for name, line in whole.items():
        expected = plain["queues"][name]
        for count in ("sent", "received", "deleted", "expired", "dead_lettered", "purged", "lost"):
            assert line[count] == expected[count], count
        assert line["receives"] - line["received"] == expected["duplicates"]
        assert same(line["out_of_order"], expected["out_of_order_rate"], line["ordered"])
        assert same(line["displaced"], expected["displacement"], line["ordered"])
        assert same(line["misses"], expected["miss_ratio"], line["misses"] + line["hits"])
        assert line["response_p95_us"] == in_us(expected["response_ms"]["p95"])
        assert line["delivery_p50_us"] == in_us(expected["delivery_ms"]["p50"])
        assert bool(line["drained"]) == plain["drained"][name]
        windows = [row for row in lines if row["number"] == line["number"] and row["window"] != WHOLE]
        for count in ("sent", "received", "receives", "deleted", "lost", "misses", "hits", "busy_us", "displaced"):
            assert sum(row[count] for row in windows) == line[count], count


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events(), st.integers(1, 9), st.sets(st.integers(0, 3)), st.integers(2, 4))
def test_several_tasks_may_share_the_messages_of_a_queue(
    found: list[Event], size: int, divided: set[int], tasks: int
) -> None:
    found = [event for event in found if event["op"] != "purge"]
    if not found:
        return
    names = sorted({event["queue"] for event in found})
    numbers = {name: number for number, name in enumerate(names)}
    times = [micros(event["event_time"]) for event in found]
    windows = cut(min(times), max(times))
    out: list[dict[str, Any]] = []
    for task in range(tasks):
        # A message that is not divided is with the first; events of no message are, too.
        own = [
            event
            for event in found
            if (hash(event["message_id"]) % tasks if numbers[event["queue"]] in divided and event["message_id"] else 0)
            == task
        ]
        rows = sorted((row(event, numbers, 40) for event in own), key=lambda row: row["key"])
        batches = [pa.RecordBatch.from_pylist(rows[at : at + size], SCHEMA) for at in range(0, len(rows), size)]
        out += [line for batch in measurer(windows, frozenset(divided))(batches) for line in batch.to_pylist()]
    books = [line for line in out if line["book"] is not None]
    assert {line["number"] for line in books} == divided & set(numbers.values())
    joined = joiner(windows)([pa.RecordBatch.from_pylist(books, measure_module.SCHEMA)])
    lines = [line for line in out if line["book"] is None] + [line for batch in joined for line in batch.to_pylist()]
    _, expected = measured(found, size)
    assert by_place(lines) == by_place(expected)


def by_place(lines: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    return {(line["number"], line["window"]): line for line in lines if line["number"] >= 0}


@pytest.mark.parametrize("full", [1, 30])
def test_figures_are_the_same_however_queues_are_put_together(full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Event] = []
    for n in range(40):
        queue = f"q{n:02}"
        number = {"queue": queue, "side": "client", "sender": "s"}
        for m in range(n % 7):
            found += [
                sent(f"{queue}-{m}", n + m, **number, seq=m),
                received(f"{queue}-{m}", 300 - m, n, **number, seq=m),
            ]
            found += [event("delete", 301, f"{queue}-{m}", queue=queue), event("miss", 350 - n, queue=queue)]
        found += [sent(f"{queue}-again", n + 5, **number, seq=0), event("send", n, queue=queue, status=500)]
        found += [event("purge", 400 - n, queue=queue)] * (n % 3)
    _, together = measured(found, size=100)
    monkeypatch.setattr(queue_module, "FULL_EVENTS", full)
    monkeypatch.setattr(line_module, "AT_ONCE", 3)
    _, apart = measured(found, size=11)
    assert sorted(together, key=place) == sorted(apart, key=place)


def place(line: dict[str, Any]) -> tuple[int, int, str]:
    return line["number"], line["window"], line["kind"] or ""


def test_windows_without_anything_have_no_row() -> None:
    """But those have one in which a message waits or is in flight, though nothing happens."""
    found = [sent("a", 0), received("a", 3, 0), event("delete", 6, "a"), event("send", 20, status=500)]
    _, lines = measured(found, size=100)
    shown = {line["window"]: (line["waiting"], line["in_flight"]) for line in lines if line["number"] == 0}
    assert shown == {
        WHOLE: (0, 0),
        **dict.fromkeys(range(3), (1, 0)),
        **dict.fromkeys(range(3, 6), (0, 1)),
        6: (0, 0),
        20: (0, 0),
    }


def in_us(value: float | None) -> int | None:
    return None if value is None else round(value * 1000)


def test_messages_whose_hashes_meet_are_told_apart() -> None:
    found = [sent(f"m{n}", n) for n in range(6)] + [received(f"m{n}", 10 + n, n) for n in range(5)]
    whole, _ = measured(found, size=4, hash_bits=1)
    assert [whole["jobs"][name] for name in ("sent", "received", "lost")] == [6, 5, 1]


def test_a_message_that_was_sent_again_is_one_message() -> None:
    """The answer to the first request was dropped: the client knows of one send, and receives two messages."""
    number = {"side": "client", "sender": "s", "seq": 0, "enqueued_at": None}
    client = [
        sent("second", 1, **number),
        *(received(name, at, None, **number) for name, at in (("first", 5), ("second", 6))),
    ]
    server = [
        *(sent(name, at) for name, at in (("first", 0), ("second", 1))),
        *(received(name, at, at - 5) for name, at in (("first", 5), ("second", 6))),
    ]
    for found in (client, client + server):
        whole, _ = measured(found, size=100)
        counts = {name: whole["jobs"][name] for name in ("sent", "received", "receives", "lost", "ordered")}
        ordered = 1 if found is not client else 0
        assert counts == {"sent": 1, "received": 1, "receives": 2, "lost": 0, "ordered": ordered}
    whole, _ = measured(server, size=100)
    assert (whole["jobs"]["sent"], whole["jobs"]["received"]) == (2, 2)


def test_a_message_is_lost_only_if_all_its_copies_are() -> None:
    number = {"side": "client", "sender": "s", "seq": 0}
    copies = [sent("first", 0, **number), sent("second", 1, **number)]
    whole, _ = measured(copies, size=100)
    assert (whole["jobs"]["sent"], whole["jobs"]["lost"]) == (1, 1)
    whole, _ = measured([*copies, received("first", 5, 0, **number)], size=100)
    assert (whole["jobs"]["sent"], whole["jobs"]["lost"]) == (1, 0)


def test_a_send_that_was_taken_for_a_copy_leaves_the_order_as_it_was() -> None:
    found = [sent(f"m{n}", n) for n in range(10)] + [received(f"m{n}", 30 + n, n) for n in range(10)]
    again = [sent(f"m{n}", 20 + n, enqueued_at=20 + n) for n in range(5)]
    whole, _ = measured([*found, *again], size=100)
    counts = {name: whole["jobs"][name] for name in ("sent", "received", "ordered", "out_of_order", "displaced")}
    assert counts == {"sent": 10, "received": 10, "ordered": 10, "out_of_order": 0, "displaced": 0}


def test_a_send_that_was_taken_for_a_copy_undoes_no_drain() -> None:
    found = [sent("a", 0), received("a", 1, 0), event("miss", 2)]
    for more, drained in (([sent("a", 3)], 1), ([sent("b", 3)], 0), ([received("a", 3, 0)], 0)):
        whole, _ = measured([*found, *more], size=100)
        assert whole["jobs"]["drained"] == drained


@pytest.mark.parametrize("size", [1, 100])
def test_every_purge_takes_what_it_finds(size: int) -> None:
    found = [sent("a", 0), sent("b", 50), event("purge", 99), event("purge", 1)]
    whole, lines = measured(found, size)
    assert (whole["jobs"]["purged"], whole["jobs"]["lost"], whole["jobs"]["waiting"]) == (2, 0, 0)
    windows = {line["window"]: line for line in lines if line["number"] == 0 and line["window"] != WHOLE}
    assert [second for second, line in windows.items() if line["waiting"]] == [0, *range(50, 99)]
    assert {second: line["purged"] for second, line in windows.items() if line["purged"]} == {1: 1, 99: 1}


def test_what_is_received_after_a_purge_was_not_taken_by_it() -> None:
    whole, lines = measured([sent("a", 0), received("a", 1, 0), event("purge", 2), received("a", 3, 0)], size=100)
    assert whole["jobs"]["purged"] == 0
    whole, lines = measured([sent("a", 0), event("purge", 2), received("a", 3, 0), event("purge", 4)], size=100)
    assert {line["window"] for line in lines if line["number"] == 0 and line["purged"]} == {WHOLE, 4}


def test_a_message_that_is_received_ten_thousand_times() -> None:
    found = [sent("poison", 0), *(received("poison", n, 0) for n in range(10_000, 0, -1))]
    whole, _ = measured(found, size=1000)
    assert (whole["jobs"]["receives"], whole["jobs"]["received"], whole["jobs"]["ordered"]) == (10_000, 1, 1)


@pytest.mark.parametrize("name", ["0b6c1e22-1234-4567-89ab-cd000000000", "m", "message-number-"])
def test_ids_of_any_form_order_what_was_sent_at_the_same_time(name: str) -> None:
    found = [sent(f"{name}{n}", 0) for n in range(3)] + [received(f"{name}{n}", 9 - n, 0) for n in range(3)]
    whole, _ = measured(found, size=100)
    assert whole["jobs"]["out_of_order"] == 2


def test_the_loop_is_compiled_once_whatever_a_trace_does_not_have() -> None:
    """It takes seconds: without ids, without numbers of senders, and with all."""
    measured([event("purge", 0)], size=1)
    measured([sent("a", 0), received("a", 1, 0)], size=2)
    rows = [row(event, {"jobs": 0}, 40) for event in [sent("a", 0), received("a", 1, 0)]]
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA).drop_columns(list(NUMBERED))
    assert list(measurer(cut(0, 1))([batch]))
    assert len(fold.signatures) == 1  # type: ignore[attr-defined]


def test_events_that_are_not_sorted_are_refused() -> None:
    """Rather than that messages are counted in pieces."""
    rows = [row(event, {"jobs": 1 - n}, 40) for n, event in enumerate([sent("a", 0), sent("b", 1)])]
    for size in (1, 2):
        batches = [pa.RecordBatch.from_pylist(rows[at : at + size], SCHEMA) for at in range(0, 2, size)]
        with pytest.raises(ValueError, match="sorted"):
            list(measurer(cut(0, 1))(batches))


def test_ops_are_numbered_as_in_the_schema() -> None:
    named = {"CHANGE": "change_visibility"}
    names = ("SEND", "RECEIVE", "MISS", "DELETE", "CHANGE", "EXPIRE", "DEAD_LETTER", "REDRIVE", "PURGE")
    assert {named.get(name, name.lower()): getattr(row_module, name) for name in names} == {
        op: place for place, op in enumerate(OPS)
    }


def test_executors_need_no_packages_but_three() -> None:
    """They import the loop from the zip file, and may have nothing else of what Rockdove depends on."""
    program = "import sys; import rockdove.spark.measure; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours = {canonicalize_name(Requirement(line).name) for line in requires("rockdove") or []}
    # Numba itself imports scipy where there is one.
    assert set(done.stdout.split()) & (ours - {"numba", "numpy", "pyarrow", "pandas", "scipy"}) == set()
