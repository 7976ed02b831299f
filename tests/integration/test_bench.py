"""`rockdove bench` against real servers: what it reports is what happened."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import bench
from tests.support.port import free_port
from tests.support.server import Server, ServerFactory
from tests.support.tampering import Tamper, Tampering, damage, double, swallow

SMALL = (
    "--queues",
    "2",
    "--senders",
    "2",
    "--receivers",
    "2",
    "--messages",
    "10",
    "--size",
    "200",
    "--visibility",
    "2",
)
TOTAL = 2 * 2 * 10
# One sender, so that sends have an order.
SINGLE = ("--senders", "1", "--receivers", "1", "--messages", "10", "--size", "50", "--visibility", "1")


@pytest.fixture
def shared(server: ServerFactory) -> Server:
    return server.shared()


def names(server: Server) -> list[str]:
    """The queues of benches that are there."""
    client = server.client()
    try:
        return [url.rpartition("/")[2] for url in client.list_queues(QueueNamePrefix="bench").get("QueueUrls", [])]
    finally:
        client.close()


@pytest.mark.parametrize("mode", ["--phased", "--at-once"])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_every_message_comes_once(shared: Server, mode: str, processes: str) -> None:
    done = bench("bdqs", "--endpoint", shared.endpoint, *SMALL, mode, "--processes", processes)
    assert done.code == 0, done.err
    row, document = done.row, done.document
    assert (row["sent"], row["received"], row["deleted"], row["duplicates"], row["lost"]) == (TOTAL, TOTAL, TOTAL, 0, 0)
    assert row["send_rate"] > 0
    assert row["receive_delete_rate"] > 0
    for what in ("send_ms", "receive_ms", "delete_ms"):
        assert 0 < row[what]["p50"] <= row[what]["p95"] <= row[what]["p99"]
    assert document["bench"] == "bdqs"
    assert document["command"].startswith("rockdove bench bdqs --endpoint")
    assert document["machine"]["cores"] > 0
    assert list(document["ratios"]) == ["receive+delete / send"]
    assert document["holds"] == {"no message is lost": True, "every checksum is right": True}
    assert names(shared) == []


def test_senders_and_receivers_are_spread_over_front_ends(shared: Server) -> None:
    other = shared.endpoint.replace("127.0.0.1", "localhost")
    done = bench("bdqs", "--endpoint", f"{shared.endpoint},{other}", *SMALL, "--at-once")
    assert done.code == 0, done.err
    row = done.row
    assert (row["sent"], row["received"], row["lost"]) == (TOTAL, TOTAL, 0)
    assert row["endpoint"] == f"{shared.endpoint},{other}"


def test_one_receiver_gets_them_in_order_and_a_large_k_in_none(shared: Server) -> None:
    one = ("--endpoint", shared.endpoint, "--senders", "3", "--receivers", "1", "--messages", "40", "--size", "50")
    ordered = bench("bdqs", *one).row
    assert (ordered["out_of_order"], ordered["displacement"]) == (0, 0)
    mixed = bench("bdqs", *one, "--order-hint", "none").row
    assert mixed["out_of_order_rate"] > 0.3
    assert mixed["displacement"] > 5


def test_faults_lose_nothing(shared: Server) -> None:
    faults = ("--drop-requests", "0.1", "--drop-responses", "0.1", "--crash", "0.1", "--seed", "3")
    done = bench("bdqs", "--endpoint", shared.endpoint, *SMALL, "--at-once", *faults)
    assert done.code == 0, done.err
    row = done.row
    assert (row["sent"], row["lost"], row["corrupt"]) == (TOTAL, 0, 0)
    assert min(row["dropped_requests"], row["dropped_responses"], row["crashes"], row["duplicates"]) > 0
    assert row["received"] == row["ordered"] + row["duplicates"]


def test_a_crash_gives_the_message_to_the_next(shared: Server) -> None:
    row = bench("bdqs", "--endpoint", shared.endpoint, *SINGLE, "--crash", "0.3", "--seed", "1").row
    # Each crash leaves a message that comes again.
    assert row["duplicates"] == row["crashes"] > 0
    assert row["lost"] == 0


@pytest.mark.parametrize(
    ("act", "found"),
    [
        (swallow, {"lost": 1, "duplicates": 0, "corrupt": 0}),
        (double, {"lost": 0, "duplicates": 1, "corrupt": 0}),
        (damage, {"lost": 1, "duplicates": 0, "corrupt": 1}),
    ],
)
def test_a_service_that_cheats_is_found_out(shared: Server, act: Tamper, found: dict[str, int]) -> None:
    with Tampering(shared.endpoint, {4: act}) as cheat:
        done = bench("bdqs", "--endpoint", cheat.endpoint, *SINGLE)
    row = done.row
    assert row["sent"] == 10
    assert {name: row[name] for name in found} == found
    if found["lost"]:
        assert done.code == 1
        assert done.err == f"rockdove: lost: 1 message at {cheat.endpoint}\n"
        assert row["loss_rate"] == 0.1
        assert done.document["holds"]["no message is lost"] is False
    else:
        assert done.code == 0


def test_several_endpoints_are_compared_with_the_first(server: ServerFactory, shared: Server) -> None:
    other = server(store="memory")
    done = bench("peers", shared.endpoint, other.endpoint, *SMALL, "--rounds", "2")
    assert done.code == 0, done.err
    document = done.document
    assert [row["endpoint"] for row in document["rows"]] == [shared.endpoint, other.endpoint]
    assert [(row["rounds"], row["sent"], row["lost"]) for row in document["rows"]] == [(2, 2 * TOTAL, 0)] * 2
    first, second = document["rows"]
    assert document["ratios"][f"send: {other.endpoint} / {shared.endpoint}"] == pytest.approx(
        second["send_rate"] / first["send_rate"]
    )
    assert len(document["ratios"]) == 2
    assert names(shared) == names(other) == []


def test_the_table_is_for_people(shared: Server) -> None:
    done = bench("bdqs", "--endpoint", shared.endpoint, *SINGLE, json=False)
    head, *lines = done.out.splitlines()
    assert head.strip() == shared.endpoint
    figures = dict(re.split(" {3,}", line) for line in lines)
    assert (figures["messages sent"], figures["duplicates"], figures["lost"]) == ("10", "0", "0")
    assert (figures["out of order"], figures["displacement"]) == ("0.00%", "0.00")
    assert "crashes" not in figures
    assert done.err == ""


def test_queues_stay_if_wanted(shared: Server) -> None:
    done = bench("bdqs", "--endpoint", shared.endpoint, *SMALL, "--keep", "--prefix", "bench_kept")
    assert done.code == 0
    client = shared.client()
    urls = client.list_queues(QueueNamePrefix="bench_kept-")["QueueUrls"]
    attributes = client.get_queue_attributes(QueueUrl=urls[0], AttributeNames=["All"])["Attributes"]
    for url in urls:
        client.delete_queue(QueueUrl=url)
    client.close()
    assert len(urls) == 2
    assert attributes["VisibilityTimeout"] == "2"
    assert attributes["ApproximateNumberOfMessages"] == attributes["ApproximateNumberOfMessagesNotVisible"] == "0"


def test_nobody_there_is_exit_code_4() -> None:
    done = bench("bdqs", "--endpoint", f"http://127.0.0.1:{free_port()}")
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("rockdove: cannot reach http://127.0.0.1:")
    assert done.err.count("\n") == 1


def test_who_may_not_is_exit_code_5(server: ServerFactory, tmp_path: Path) -> None:
    guarded = server()
    account(guarded)
    done = bench("bdqs", "--endpoint", guarded.endpoint, *SMALL)
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith(f"rockdove: {guarded.endpoint} refuses: ")
    assert done.err.count("\n") == 1


def account(server: Server) -> Any:
    """From the first account on, unknown keys are refused."""
    from rockdove.client import Client

    with Client(server.endpoint) as client:
        return client.add_account("ann", admin=True)


@pytest.mark.parametrize(
    "words",
    [
        ("bdqs", "--endpoint", "ftp://x"),
        ("bdqs", "--prefix", "a.b"),
        ("bdqs", "--crash", "1"),
        ("bdqs", "--queues", "0"),
        ("peers",),
        ("peers", "localhost"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2(words: tuple[str, ...]) -> None:
    done = bench(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_a_bad_hint_is_refused(shared: Server) -> None:
    done = bench("bdqs", "--endpoint", shared.endpoint, *SMALL, "--order-hint", "5000")
    assert done.code == 1
    assert "RockdoveOrderHint" in done.err
    assert names(shared) == []


def test_a_trace_has_every_request(shared: Server, tmp_path: Path) -> None:
    from pyarrow import dataset

    done = bench(
        "bdqs", "--endpoint", shared.endpoint, *SMALL, "--processes", "2", "--crash", "0.2", "--trace", str(tmp_path)
    )
    assert done.code == 0, done.err
    row = done.row
    events = dataset.dataset(tmp_path, partitioning="hive").to_table().to_pylist()
    ops = Counter(event["op"] for event in events if event["status"] == 200)
    assert (ops["send"], ops["receive"], ops["delete"]) == (row["sent"], row["received"], row["deleted"])
    assert {event["side"] for event in events} == {"client"}
    received = [event for event in events if event["op"] == "receive"]
    assert all(event["checksum_ok"] and event["attempt"] >= 1 and event["enqueued_at"] for event in received)
    sent = {(event["queue"], event["sender"], event["seq"]) for event in events if event["op"] == "send"}
    assert len(sent) == TOTAL
    assert {(event["queue"], event["sender"], event["seq"]) for event in received} == sent


def test_queues_of_one_machine(tmp_path: Path) -> None:
    words = ["--seconds", "0.3", "--rounds", "1", "--queues", "1,2", "--clients", "4"]
    done = bench("elastic3", *words, "--out", str(tmp_path))
    assert done.code == 0, done.err
    report = done.document
    assert {"bench", "machine", "command", "rows", "ratios", "holds", "paper"} == set(report)
    assert [(row["store"], row["way"], row["queues"]) for row in report["rows"]] == [
        (store, way, queues) for store in ("sqlite", "memory") for way in ("local", "tcp") for queues in (1, 2)
    ]
    for row in report["rows"]:
        assert row["throughput"] == row["rounds"][0] > 0, row
        # It is counted in hundredths of a second.
        assert row["cpu_us_per_message"] >= 0
    first, second = (row["throughput"] for row in report["rows"][:2])
    assert report["ratios"]["2 / 1 queues, sqlite, local"] == pytest.approx(second / first)
    assert len(report["holds"]) == 2
    assert json.loads((tmp_path / "elastic3.json").read_text()) == report
    ET.parse(tmp_path / "elastic3.svg")


def test_a_bench_of_queues_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = bench("elastic3", "--out", str(tmp_path / "file" / "out"), json=False)
    assert done.code == 1
    assert "cannot write to" in done.err
