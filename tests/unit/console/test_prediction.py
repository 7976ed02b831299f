"""What the planner's page answers is what `rockdove plan` does."""

import msgspec
import pytest

from rockdove.capacity.estimate import Estimate
from rockdove.capacity.plan.calibration import Calibration, Stage
from rockdove.capacity.plan.load import Load
from rockdove.capacity.plan.planner import Figure, Target, describe, plan
from rockdove.console.prediction import calibrated, fewest, predict
from rockdove.console.question import Goal, Question
from rockdove.console.wrong import Wrong

QUESTION = Question(arrival=30, service_ms=200, reliability=99, timeout_s=30, threads=8)
LOAD = Load(arrival=30, sender_rate=200, broker_rate=5, q=0.99, timeout_s=30)


def test_figures_are_those_of_the_planner() -> None:
    found = predict(msgspec.structs.replace(QUESTION, senders=10, whole=True))
    expected = describe(LOAD, 10, 8)
    for name in ("mean_s", "p50_s", "p95_s", "p99_s", "knee_arrival"):
        assert found[name] == getattr(expected, name)
    assert found["waiting"] + found["waiting_senders"] == pytest.approx(expected.waiting)
    assert found["utilisation"] == expected.utilisation_broker


def test_parts_add_up_to_the_mean() -> None:
    found = predict(msgspec.structs.replace(QUESTION, link_ms=7, service_scv=0.3))
    assert sum(part["seconds"] for part in found["parts"]) == pytest.approx(found["mean_s"])


def test_without_percentiles_unless_all_is_asked_for() -> None:
    assert "p99_s" not in predict(QUESTION)


def test_hardly_a_send_waits_where_nobody_says_how_many_senders() -> None:
    assert predict(QUESTION)["waiting_senders"] < 1e-4


def test_too_few_workers_are_told_with_how_many_would_do() -> None:
    found = predict(msgspec.structs.replace(QUESTION, threads=3))
    assert not found["stable"]
    assert (found["about"], found["least"]) == ("threads", 7)
    assert "3 workers do 15 messages a second" in found["text"]
    assert predict(msgspec.structs.replace(QUESTION, threads=found["fix"]))["stable"]


def test_too_few_senders_are_told_with_how_many_would_do() -> None:
    question = msgspec.structs.replace(QUESTION, senders=1, send_ms=100)
    found = predict(question)
    assert (found["stable"], found["about"], found["least"]) == (False, "senders", 4)
    assert predict(msgspec.structs.replace(question, senders=found["fix"]))["stable"]


def test_curves_go_through_the_plan_and_leave_out_what_grows_without_end() -> None:
    found = predict(QUESTION)
    workers, times = found["over_threads"]["x"], found["over_threads"]["y"]
    assert times[workers.index(8)] == found["mean_s"]
    assert min(workers) == 7
    assert found["over_arrivals"]["most"] == pytest.approx(8 * 5 * 0.99)
    assert found["over_arrivals"]["y"][-1] is None or found["over_arrivals"]["y"][-1] > found["mean_s"]
    assert all(time is None or time <= 4 * found["mean_s"] for time in times)


def test_curves_are_bounded_however_many_workers() -> None:
    found = predict(msgspec.structs.replace(QUESTION, arrival=100_000, threads=30_000))
    assert len(found["over_threads"]["x"]) <= 70


@pytest.mark.parametrize(
    ("change", "field", "text"),
    [
        ({"arrival": 0.0}, "arrival", "Messages arrive must be a number over 0, not 0."),
        ({"service_ms": 0.0}, "service_ms", "Work on a message: must be between 0.001 and 100,000,000 ms."),
        ({"reliability": 0.5}, "reliability", "Deliveries that succeed: must be between 1 and 100 %."),
        ({"reliability": 101.0}, "reliability", "Deliveries that succeed: must be between 1 and 100 %."),
        ({"threads": 0}, "threads", "Workers must be a whole number of 1 or more, not 0."),
        ({"senders": 0}, "senders", "Senders must be a whole number of 1 or more, not 0."),
        ({"timeout_s": -1.0}, "timeout_s", "Visibility timeout must be a number of 0 or more, not -1."),
        ({"service_scv": -1.0}, "service_scv", "How the work varies must be a number of 0 or more, not -1."),
    ],
)
def test_what_no_system_has_is_told_at_its_input(change: dict[str, float], field: str, text: str) -> None:
    with pytest.raises(Wrong) as caught:
        predict(msgspec.structs.replace(QUESTION, **change))
    assert (caught.value.field, caught.value.text) == (field, text)


def test_the_fewest_workers_are_those_of_the_planner() -> None:
    question = msgspec.structs.replace(QUESTION, senders=10)
    made = plan(LOAD, Target(Figure.MEAN, 0.6))
    assert fewest(Goal(question=question, figure="mean", target_s=0.6)) == {"threads": made.n2, "senders": made.n1}


def test_with_senders_as_needed_the_target_is_met_too() -> None:
    found = fewest(Goal(question=QUESTION, figure="mean", target_s=0.6))
    assert found["senders"] is None
    assert predict(msgspec.structs.replace(QUESTION, threads=found["threads"]))["mean_s"] <= 0.6
    assert not _meets(found["threads"] - 1, 0.6)


def _meets(threads: int, target_s: float) -> bool:
    found = predict(msgspec.structs.replace(QUESTION, threads=threads))
    return bool(found["stable"]) and found["mean_s"] <= target_s


def test_a_target_that_nobody_can_meet_says_what_takes_the_time() -> None:
    with pytest.raises(Wrong, match=r"No number of workers is so fast: .* take 0\.5\d* s on average\.") as caught:
        fewest(Goal(question=QUESTION, figure="mean", target_s=0.1))
    assert caught.value.field == "target_s"


@pytest.mark.parametrize(("figure", "target_s", "field"), [("median", 1.0, "figure"), ("mean", 0.0, "target_s")])
def test_a_target_that_is_none(figure: str, target_s: float, field: str) -> None:
    with pytest.raises(Wrong) as caught:
        fewest(Goal(question=QUESTION, figure=figure, target_s=target_s))
    assert caught.value.field == field


def test_the_limit_of_an_elastic_queue_leads_its_rule_to_as_many_workers() -> None:
    """The rule takes the fewest with which 99 of 100 messages wait no longer than the last of so many."""
    found = predict(msgspec.structs.replace(QUESTION, reliability=100, timeout_s=0, whole=True))
    load = Load(arrival=30, sender_rate=200, broker_rate=5)
    longest_s = found["max_load"] / 5
    assert load.network(20, 8).broker.wait_percentile_s(0.99) <= longest_s
    assert load.network(20, 7).broker.wait_percentile_s(0.99) > longest_s


def test_a_calibration_sets_all_sliders() -> None:
    stage = Stage(rate=Estimate(4.0), scv=Estimate(0.5))
    made = Calibration(
        arrival=Estimate(20.0),
        sender=Stage(rate=Estimate(100.0), scv=Estimate(2.0)),
        broker=stage,
        reliability=Estimate(0.95),
        timeout_s=Estimate(2.0),
        notes=["the link is not known"],
    )
    found = calibrated(msgspec.json.encode(made).decode(), "calibration.json")
    assert found["notes"] == ["the link is not known"]
    assert found["words"].startswith("Written by hand")
    sliders = {
        name: found[name] for name in ("arrival", "service_ms", "timeout_s", "send_ms", "link_ms", "service_scv")
    }
    assert sliders == {
        "arrival": 20,
        "service_ms": 250,
        "timeout_s": 2,
        "send_ms": 10,
        "link_ms": 0,
        "service_scv": 0.5,
    }
    assert found["reliability"] == pytest.approx(95)
    assert predict(
        msgspec.structs.replace(QUESTION, arrival=20, service_ms=250, reliability=95, threads=found["threads"])
    )["stable"]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 2}', '{"format": 1}', "\u0000"])
def test_a_file_that_is_no_calibration(content: str) -> None:
    with pytest.raises(Wrong, match="rockdove calibrate") as caught:
        calibrated(content, "notes.json")
    assert caught.value.field == "file"
    assert caught.value.text.startswith("notes.json ")
