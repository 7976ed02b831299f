"""`rockdove demo`: what it predicts from what was measured, what it says of it, and what it refuses."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rockdove.cli.demo import command
from rockdove.cli.demo.command import timeline
from rockdove.cli.demo.live import line
from rockdove.cli.demo.report import SPELL_S, DemoReport, compared, picture, report, steady_s, summed
from rockdove.spark.circle import Spell, Work
from rockdove.workload.machine import this_machine
from rockdove.workload.ramp import Decision, Ramped, Ramping, Sampled
from tests.unit.cli.outcome import Cli

EXPONENTIAL = Work(0.02, 1.0)
BEGAN = 1_790_000_000.0


def spell(at: int, arrival: float, delivery_s: float = 0.01) -> Spell:
    sent = round(arrival * SPELL_S)
    return Spell(
        start_s=BEGAN + at * SPELL_S,
        sent=sent,
        deleted=sent,
        receives=sent,
        again=0,
        delivered=sent,
        delivery_s=delivery_s,
        delivery_p99_s=delivery_s,
    )


def ramped(workers: list[int], *acts: str, lost: int = 0, watched: int = 5) -> Ramped:
    """A sample for each second."""
    return Ramped(
        began=BEGAN,
        sent=100,
        handled=100 - lost,
        lost=lost,
        duplicates=0,
        workers_killed=0,
        controllers_killed=0,
        workers_max=max(workers),
        machines_max=1,
        above_s=0.0,
        max_load=3,
        decisions=[Decision(BEGAN, act, "because") for act in acts],
        samples=[Sampled(float(at), 10.0, 3, number, 1) for at, number in enumerate(workers)],
        watched=watched,
    )


def reported(delivery_s: float, *acts: str, lost: int = 0, watched: int = 5) -> DemoReport:
    spells = [spell(at, 25.0, delivery_s) for at in range(4)]
    found = ramped([1] * 10, *acts, lost=lost, watched=watched)
    return report("rockdove demo", this_machine(), Ramping(policy="model"), found, spells, EXPONENTIAL)


def test_one_worker_is_m_m_1() -> None:
    # rho / (mu - lambda)
    assert steady_s(25.0, 50.0, 1.0, 1) == pytest.approx(0.5 / 25)
    # Work that always takes as long makes for half the wait.
    assert steady_s(25.0, 50.0, 0.0, 1) == pytest.approx(0.25 / 25)


def test_workers_in_turn_wait_less_than_with_random_shares() -> None:
    assert 0 < steady_s(50.0, 50.0, 1.0, 2) < 0.5 / 25


def test_too_much_has_no_steady_state() -> None:
    assert steady_s(49.0, 50.0, 1.0, 1) == steady_s(90.0, 50.0, 1.0, 1) == pytest.approx(0.9 / 5)
    assert steady_s(0.0, 50.0, 1.0, 1) == 0.0


def test_what_workers_cannot_do_waits() -> None:
    # 50 a second for each worker; the second one is there from second 4 on.
    spells = [spell(at, arrival) for at, arrival in enumerate([25, 75, 60, 25])]
    rows = compared(spells, EXPONENTIAL, 0.0, ramped([1] * 4 + [2] * 10))
    assert [row.t for row in rows] == [0, 2, 4, 6]
    assert rows[0].predicted_ms == pytest.approx(20)
    # None wait at first, and 40 in the end, with 1.33 workers in the mean of the spell.
    left = 150 - 4 / 3 * 100
    assert rows[1].workers == pytest.approx(4 / 3)
    assert rows[1].predicted_ms == pytest.approx((left / 2 / (50 * 4 / 3) + steady_s(75, 50, 1, 1)) * 1000)
    assert rows[2].predicted_ms == pytest.approx((left / 2 / 100 + steady_s(60, 50, 1, 2)) * 1000)
    assert rows[3].predicted_ms == pytest.approx(steady_s(25, 50, 1, 2) * 1000)


def test_what_fails_is_done_again() -> None:
    (row,) = compared([spell(0, 20.0)], EXPONENTIAL, 0.2, ramped([1] * 4))
    assert row.predicted_ms == pytest.approx(0.5 / 20 * 1000)


def test_means_are_by_messages() -> None:
    spells = [spell(0, 25, 0.01), spell(1, 12.5, 0.04)]
    rows = compared(spells, EXPONENTIAL, 0.0, ramped([1] * 8))
    measured, predicted = summed(rows, spells)
    assert measured == pytest.approx((50 * 10 + 25 * 40) / 75)
    assert predicted == pytest.approx((50 * 20 + 25 * (0.25 / 37.5 * 1000)) / 75)
    assert summed(compared(spells, None, 0.0, ramped([1] * 8)), spells) == (None, None)


def test_claims_can_be_wrong() -> None:
    good = reported(0.015, "add", "elect", "remove")
    assert good.ratios == {"measured / predicted delivery": pytest.approx(0.75)}
    assert list(good.holds.values()) == [True] * 4
    assert list(reported(0.5, "add", lost=1, watched=0).holds.values()) == [False] * 4


def test_the_picture_has_four_panels() -> None:
    drawn = ET.fromstring(picture(reported(0.015, "add", "remove")))
    assert len(drawn.findall("{http://www.w3.org/2000/svg}svg")) == 4


def test_production_rises_and_falls() -> None:
    ramping = timeline(100, 200)
    assert ramping.duration_s == 100
    assert [ramping.rate(at) for at in (0, 10, 50, 100, 500)] == [40, 40, 200, 50, 50]
    assert 40 < ramping.rate(30) < 200
    # That of `bench elastic`, without points.
    plain = Ramping(policy="paper", peak=100, rise_s=10, top_s=5)
    assert [plain.rate(at) for at in (0, 5, 10, 15, 20, 25)] == [0, 50, 100, 100, 50, 0]
    assert plain.duration_s == 25


def test_a_line_says_who_tells() -> None:
    sampled = Sampled(12.0, 40.4, 7, 2, 1)
    assert line(sampled, {"watched": True}, 120) == (
        " 12 of 120 s: 40 messages/s, at most 7 wait in a queue, 2 workers on 1 machines, by what the watch tells"
    )
    assert "by what the workers tell" in line(sampled, {}, 120)
    assert line(Sampled(121.0, 0.0, 7, 2, 1), {}, 120).startswith("all is sent: 0 messages/s")
    assert line(Sampled(0.0, 1.0, 0, 0, 0), {}, 120).startswith("waiting for the first figures of the watch:")


def test_what_is_missing_is_said_in_one_line(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")
    done = cli("demo")
    assert done.code == 1
    assert done.err.startswith("rockdove: Spark needs Java 17 or newer")
    assert done.err.endswith("in a checkout, `make setup` installs all of it\n")
    assert done.err.count("\n") == 1


def test_where_nothing_can_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cli("demo", "--out", str(tmp_path / "file" / "out"))
    assert done.code == 1
    assert "cannot write to" in done.err
    assert cli("demo", "--seconds", "1").code == 2


def test_it_says_so_when_it_begins_without_the_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not command._is_ready(tmp_path)()
    (tmp_path / "open.parquet").touch()
    assert command._is_ready(tmp_path)()
    assert not capsys.readouterr().err
    monkeypatch.setattr(command, "_READY_S", -1.0)
    assert command._is_ready(tmp_path / "nothing")()
    assert "the watch has no figures" in capsys.readouterr().err
