"""Elastic queues: `rockdove simulate elastic4` and its like, and `rockdove bench elastic`, from end to end."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.unit.cli.outcome import Cli

RUN = {
    "policy",
    "slots",
    "pool",
    "ramp",
    "npp",
    "spikes",
    "spike_height",
    "spike_area",
    "machine_seconds",
    "machines_max",
    "seconds_above_max",
    "samples",
}


def test_figures_are_simulated_on_spark(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = cli("simulate", "elastic8", "elastic-policies", "--out", str(out), "--json")
    assert done.code == 0, done.err
    eight, compared = json.loads(done.out)
    assert (eight["figure"], compared["figure"]) == ("elastic8", "elastic-policies")
    own = eight["runs"][0]
    assert set(own) >= RUN
    assert (own["policy"], own["slots"], own["pool"], own["npp"], own["ramp"]) == ("paper", 2, 2, 2, 4.0)
    assert {"t", "production", "max_load", "workers", "machines"} == set(own["samples"][0])
    assert {run["policy"] for run in compared["runs"]} == {"paper", "model", "keda", "aws", "least-loaded"}
    assert {run["production"] for run in compared["runs"]} == {"slow ramp", "steep ramp", "bursts", "day"}
    for name in ("elastic8", "elastic-policies"):
        ET.parse(out / f"{name}.svg")
    assert (out / "elastic_rows").is_dir()
    assert (out / "elastic_runs").is_dir()
    # What is simulated on Spark is what is simulated here.
    from rockdove.capacity.scaling.experiment import ElasticFigure, points, run

    here = run(points(ElasticFigure.ELASTIC8)[0])
    assert own["spike_area"] == here.spike_area
    assert len(own["samples"]) == len(here.samples)


def test_a_real_queue_grows_and_shrinks_and_loses_nothing(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--policy", "paper", "--peak", "100", "--rise", "10", "--top", "6", "--startup", "1"]
    done = cli("bench", "elastic", *words, "--out", str(out), "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert {"bench", "machine", "command", "rows", "ratios", "holds"} == set(report)
    (row,) = report["rows"]
    assert row["sent"] > 1_000
    assert row["lost"] == 0
    assert row["handled"] == row["sent"]
    assert (row["workers_killed"], row["controllers_killed"]) == (2, 2)
    assert row["workers_max"] >= 2
    assert row["decisions"]["add"] >= 1
    # The trace tells the same as those who have sent and handled.
    assert sum(window["sent"] for window in row["windows"]) == row["sent"]
    assert sum(window["deleted"] for window in row["windows"]) >= row["handled"]
    assert row["delivery_ms"]["p99"] >= row["delivery_ms"]["p50"] > 0
    assert report["holds"]["paper: no acknowledged message is lost"]
    assert json.loads((out / "elastic.json").read_text()) == report
    ET.parse(out / "elastic.svg")
