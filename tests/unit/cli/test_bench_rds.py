"""`rockdove bench rds`: what it compares, what it says of it, and what it refuses."""

import pytest

from rockdove.cli.bench.rds import RdsRow, _holds, _ratios
from rockdove.core.dequeue import PolicyName
from rockdove.workload.trial import trials
from tests.unit.cli.outcome import Cli


def row(policy: str, per_cpu_s: float, p99: float, sleep_s: float | None = None, rate: float = 200) -> RdsRow:
    return RdsRow(
        store="redis",
        policy=policy,
        rate=rate,
        sleep_s=sleep_s,
        seconds=8.0,
        sent=800,
        received=800,
        throughput=100.0,
        requests=900,
        hit_rate=0.5,
        messages_per_hit=2.0,
        cpu_s=1.0,
        store_cpu_s=0.5,
        cpu_us_per_message=1e6 / per_cpu_s,
        messages_per_cpu_s=per_cpu_s,
        delivery_ms={"p50": 1.0, "p95": 2.0, "p99": p99},
    )


def test_all_policies_at_all_rates_and_all_sleeps_at_the_highest() -> None:
    found = list(trials(["redis", "sqlite"], [10, 200], [0.05, 0.1, 1]))
    at_most = [trial for trial in found if trial.rate == 200 and trial.store == "redis"]
    assert [(trial.policy, trial.sleep_s) for trial in at_most if trial.policy is PolicyName.RDS] == [
        (PolicyName.RDS, 0.05),
        (PolicyName.RDS, 0.1),
        (PolicyName.RDS, 1),
    ]
    low = [trial for trial in found if trial.rate == 10 and trial.store == "sqlite"]
    assert {trial.policy for trial in low} == set(PolicyName)
    assert [trial.sleep_s for trial in low if trial.policy is PolicyName.RDS] == [0.1]
    # Stores take turns, so that what disturbs the machine disturbs both.
    assert [trial.store for trial in found[:4]] == ["redis", "sqlite", "redis", "sqlite"]


def test_the_highest_rate_is_compared_with_the_best_sleep() -> None:
    rows = [
        row("conventional", 5_000, 1, rate=10),
        row("conventional", 1_000, 50),
        row("pms", 1_100, 40),
        row("rds", 1_500, 30, sleep_s=0.05),
        row("rds", 2_000, 60, sleep_s=0.5),
        row("wake", 1_700, 31),
    ]
    assert _ratios(rows) == {
        "pms / conventional on redis": 1.1,
        "rds / conventional on redis": 2.0,
        "wake / conventional on redis": 1.7,
    }
    assert list(_holds(rows).values()) == [True, False, False]
    rows[-1] = row("wake", 1_900, 29)
    assert list(_holds(rows).values()) == [True, True, True]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--store", "memory"], "--store is redis or sqlite, not 'memory'"),
        (["--rates", "ten"], "--rates is numbers above 0 with commas between them, not 'ten'"),
        (["--sleeps", "0.1,-1"], "--sleeps is numbers above 0 with commas between them"),
        (["--rates", ""], "--rates is numbers above 0"),
    ],
)
def test_words_that_mean_nothing(cli: Cli, words: list[str], why: str) -> None:
    done = cli("bench", "rds", *words)
    assert done.code == 2
    assert why in done.err
