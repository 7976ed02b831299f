"""``rockdove plan``."""

import sys
from pathlib import Path

import msgspec
import pytest

from tests.unit.cli.outcome import Cli

PAPER = ("plan", "--arrival", "30.3", "--service-rate", "10", "--reliability", "0.99")
KEYS = [
    "n1",
    "n2",
    "cost",
    "mean_s",
    "p50_s",
    "p95_s",
    "p99_s",
    "waiting",
    "utilisation_sender",
    "utilisation_broker",
    "knee_arrival",
    "feasible",
    "check",
]


def test_the_papers_system(cli: Cli) -> None:
    outcome = cli(*PAPER, "--timeout-s", "0", "--link-s", "0.02", "--target-mean-s", "0.27", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.document
    assert list(found) == KEYS
    assert (found["n1"], found["n2"], round(found["mean_s"], 4)) == (5, 5, 0.2667)
    assert found["feasible"] is True
    assert found["check"] is None


def test_the_link_is_20_ms_unless_said(cli: Cli) -> None:
    assert cli(*PAPER, "--json").document == cli(*PAPER, "--link-s", "0.02", "--json").document


def test_a_simulation_confirms_it(cli: Cli) -> None:
    found = cli(*PAPER, "--target-mean-s", "0.27", "--check", "--json").document
    assert found["check"]["mean_s"] == pytest.approx(found["mean_s"], abs=2 * found["check"]["ci95"])


def test_the_table_has_the_plan_among_its_neighbours(cli: Cli) -> None:
    outcome = cli(*PAPER, "--target-mean-s", "0.27")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split()[:4] == ["threads", "5", "senders,", "5"]
    (chosen,) = (line.split() for line in lines if line.endswith("plan"))
    assert chosen[:4] == ["5", "5", "10", "0.2667"]
    assert [line.split()[7] for line in lines if line.strip()[:1].isdigit()] == [
        "no",
        "no",
        "no",
        "yes",
        "yes",
        "yes",
        "yes",
    ]


def test_what_cannot_be_is_exit_1_with_what_can(cli: Cli) -> None:
    outcome = cli(*PAPER, "--target-mean-s", "0.2", "--json")
    assert outcome.code == 1
    assert outcome.document["feasible"] is False
    assert outcome.err == (
        "rockdove: no number of threads delivers within 0.2 s on average: services, links and losses alone take "
        "0.2412 s; possible is 0.2484 s, with 6 sender and 6 broker threads\n"
    )


def test_files_and_a_picture(cli: Cli, tmp_path: Path) -> None:
    outcome = cli(*PAPER, "--target-mean-s", "0.27", "--out", "found", "--json")
    assert msgspec.json.decode((tmp_path / "found" / "plan.json").read_bytes()) == outcome.document
    assert (tmp_path / "found" / "plan.svg").read_text().startswith("<svg ")
    assert outcome.err == "written: found/plan.json and found/plan.svg\n"


def calibration(folder: Path) -> str:
    stage = {"rate": {"value": 10}, "scv": {"value": 1}}
    known = {"arrival": {"value": 30.3}, "sender": stage, "broker": stage, "reliability": {"value": 0.99}}
    path = folder / "calibration.json"
    path.write_bytes(msgspec.json.encode({"format": 1, **known, "link_s": {"value": 0.02}}))
    return str(path)


def test_from_a_calibration(cli: Cli, tmp_path: Path) -> None:
    path = calibration(tmp_path)
    same = cli("plan", "--from", path, "--target-mean-s", "0.27", "--json")
    assert same.document == cli(*PAPER, "--target-mean-s", "0.27", "--json").document
    twice = cli("plan", "--from", path, "--arrival", "60.6", "--target-mean-s", "0.27", "--json")
    assert twice.document["n1"] > same.document["n1"]


def test_what_is_wrong_in_a_calibration_is_told_with_its_field(cli: Cli, tmp_path: Path) -> None:
    path = Path(calibration(tmp_path))
    path.write_text(path.read_text().replace("0.99", "1.5"))
    outcome = cli("plan", "--from", "calibration.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "rockdove: calibration.json: reliability must be over 0 and at most 1, not 1.5\n"
    assert cli("plan", "--from", "calibration.json", "--reliability", "0.9", "--json").code == 0
    assert "rockdove: --reliability must" in cli("plan", "--from", "calibration.json", "--reliability", "2").err


def test_a_check_that_would_take_too_long_is_not_made(cli: Cli) -> None:
    outcome = cli(*PAPER, "--timeout-s", "43200", "--check", "--json")
    assert (outcome.code, outcome.document["check"]) == (1, None)
    assert outcome.err.startswith("rockdove: the plan is not checked: 5 runs that are long beside the timeout")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("plan", "--service-rate", "10"),
            2,
            "--arrival and --reliability must be given, or a calibration with --from",
        ),
        ((*PAPER, "--reliability", "1.2"), 2, "--reliability must be over 0 and at most 1, not 1.2"),
        ((*PAPER, "--arrival", "0"), 2, "--arrival must be a number over 0, not 0"),
        ((*PAPER, "--target-mean-s", "nan"), 2, "the target must be a number over 0, not nan"),
        (
            (*PAPER, "--arrival", "1e10", "--service-rate", "1e-10"),
            2,
            "1e+10 messages/s, of which a thread does 1e-10, would take more than 1,000,000 threads",
        ),
        ((*PAPER, "--service-rate", "1e308"), 2, "--service-rate must be between 1e-12 and 1e+12, not 1e+308"),
        ((*PAPER, "--arrival", "1e-300"), 2, "--arrival must be between 1e-12 and 1e+12, not 1e-300"),
        ((*PAPER, "--timeout-s", "1e308"), 2, "--timeout-s must be at most 1e+12, not 1e+308"),
        ((*PAPER, "--cost-broker", "0"), 2, "--cost-broker must be a number over 0, not 0"),
        (
            (*PAPER, "--target-mean-s", "1", "--target-p99-s", "1"),
            2,
            "--target-mean-s and --target-p99-s exclude each other; give one of them",
        ),
        (("plan", "--from", "nothing.json"), 3, "cannot read nothing.json: No such file or directory"),
    ],
)
def test_what_is_wrong_is_one_line(cli: Cli, arguments: tuple[str, ...], code: int, said: str) -> None:
    outcome = cli(*arguments)
    assert (outcome.code, outcome.out, outcome.err) == (code, "", f"rockdove: {said}\n")


def test_without_the_extra_it_says_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    outcome = cli(*PAPER)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "rockdove: planning needs scipy; install it with: pip install 'rockdove[capacity]'\n"
