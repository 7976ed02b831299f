"""`rockdove bench elastic3`: what it compares, what it says of it, and what it refuses."""

import xml.etree.ElementTree as ET
from itertools import product

import pytest

from rockdove.cli.bench.elastic3 import PerfRow, holds, picture, ratios
from rockdove.workload.mqperf import Passing, parts
from tests.unit.cli.outcome import Cli


def rows(second: float) -> list[PerfRow]:
    """With a second queue, all have so many times the throughput."""
    rates = {("sqlite", "local"): 400.0, ("sqlite", "tcp"): 200.0, ("memory", "local"): 900.0, ("memory", "tcp"): 300.0}
    return [
        PerfRow(
            store=store,  # type: ignore[arg-type]
            way=way,  # type: ignore[arg-type]
            queues=queues,
            throughput=rate * (second if queues == 2 else 1),
            cpu_us_per_message=10.0,
            rounds=[rate],
        )
        for ((store, way), rate), queues in product(rates.items(), (1, 2))
    ]


def test_several_queues_are_compared_with_one_and_local_with_tcp() -> None:
    found = ratios(rows(0.95))
    assert found.pop("local / tcp, sqlite") == 2
    assert found.pop("local / tcp, memory") == 3
    assert set(found) == {f"2 / 1 queues, {store}, {way}" for store in ("sqlite", "memory") for way in ("local", "tcp")}
    assert list(found.values()) == pytest.approx([0.95] * 4)


def test_the_claim_is_of_two_queues_that_are_kept() -> None:
    assert len(holds(rows(0.95))) == 2
    assert set(holds(rows(0.95)).values()) == {True}
    assert set(holds(rows(0.8)).values()) == {False}
    assert holds([row for row in rows(1) if row.queues == 1]) == {}


def test_a_picture_has_a_panel_for_each_store() -> None:
    drawn = picture(rows(1))
    assert len(ET.fromstring(drawn).findall("{http://www.w3.org/2000/svg}svg")) == 2
    assert "durable" in drawn


@pytest.mark.parametrize(("queues", "processes"), [(1, 2), (2, 2), (4, 2), (4, 3), (3, 2)])
def test_processes_have_all_clients_together(queues: int, processes: int) -> None:
    names = [f"q{number}" for number in range(queues)]
    found = parts(Passing(queues=names, clients=12), processes)
    assert sum(part.clients for part in found) == 12
    clients = [part.queues[at % len(part.queues)] for part in found for at in range(part.clients)]
    assert {name: clients.count(name) for name in names} == dict.fromkeys(names, 12 // queues)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--queues", "two"], "--queues is whole numbers from 1 to 1000 with commas between them, not 'two'"),
        (["--queues", "0,1"], "--queues is whole numbers from 1 to 1000"),
        (["--queues", "1,8", "--clients", "4"], "--clients must be at least 8: each queue needs one"),
    ],
)
def test_words_that_mean_nothing(cli: Cli, words: list[str], why: str) -> None:
    done = cli("bench", "elastic3", *words)
    assert done.code == 2
    assert why in done.err
