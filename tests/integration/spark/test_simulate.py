"""Simulations on Spark: the same whatever the number of parts, by either engine, and as the command prints them."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from rockdove.capacity.polling.experiment import SLEEPS_S, PollingFigure, PollingRow
from rockdove.capacity.vma.experiment import Figure, Run
from rockdove.core.dequeue import PolicyName
from rockdove.spark.sweep import polling, polling_picture
from rockdove.spark.sweep.picture import picture
from rockdove.spark.sweep.sweep import sweep
from rockdove.spark.sweep.task import Engine
from tests.unit.cli.outcome import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SHORT = Run(duration_s=5.0)
ROW = ["figure", "panel", "metric", "x_name", "x", "n1", "n2", "arrival", "service_rate", "q", "option"]
ROW += ["engine", "replications", "mean", "ci95", "analytic"]
POLLING_ROW = ["figure", "policy", "rate", "sleep_s", "throughput", "hit_rate", "messages_per_hit", "ci95"]


def test_the_number_of_parts_does_not_matter(spark: "SparkSession") -> None:
    once = sweep(spark, [Figure.FIG11], SHORT, 3, Engine.COMPILED, 1, parts=1)
    assert sweep(spark, [Figure.FIG11], SHORT, 3, Engine.COMPILED, 1, parts=5) == once
    assert sweep(spark, [Figure.FIG11], SHORT, 3, Engine.COMPILED, 2, parts=5) != once
    assert len(once[0].rows) == 28


def test_figures_do_not_depend_on_what_else_is_asked_for(spark: "SparkSession", tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    # A name that could be a pattern.
    out = tmp_path / "out[1]"
    both = sweep(
        spark,
        [Figure.FIG12, Figure.FIG14],
        SHORT,
        2,
        Engine.COMPILED,
        1,
        str(out),
        lambda done, total: told.append((done, total)),
    )
    assert sweep(spark, [Figure.FIG14], SHORT, 2, Engine.COMPILED, 1) == both[1:]
    assert told[-1] == (272, 272)
    assert pq.read_table(out / "runs").num_rows == 272
    rows = pq.read_table(out / "rows")
    assert rows.column_names == ROW
    assert rows.num_rows == sum(len(figure.rows) for figure in both)
    for figure in both:
        assert ET.fromstring(picture(figure)).tag.endswith("svg")


def test_dequeue_policies_on_spark(spark: "SparkSession", tmp_path: Path) -> None:
    figures = [PollingFigure.RDS9, PollingFigure.RDS10, PollingFigure.RDS12]
    drawn = polling.sweep(spark, figures, 2.0, 2, 1, str(tmp_path), parts=3)
    assert [figure.figure for figure in drawn] == figures
    throughput, hits, sleeps = (figure.rows for figure in drawn)
    # One run serves two figures; what a figure shows has the interval.
    assert [(row.policy, row.rate, row.throughput) for row in throughput] == [
        (row.policy, row.rate, row.throughput) for row in hits
    ]
    assert {row.policy for row in throughput} == set(PolicyName)
    assert {(row.policy, row.sleep_s) for row in throughput if row.sleep_s} == {("rds", 5.0)}
    assert sorted(row.sleep_s for row in sleeps if row.policy == "rds") == sorted(SLEEPS_S)
    assert polling.sweep(spark, figures[2:], 2.0, 2, 1, parts=1) == drawn[2:]
    for figure in drawn:
        assert ET.fromstring(polling_picture.picture(figure)).tag.endswith("svg")
    runs = pq.read_table(tmp_path / "rds_runs").num_rows
    assert runs == 2 * (len(throughput) + len(sleeps) - len({*_systems(throughput)} & {*_systems(sleeps)}))
    assert pq.read_table(tmp_path / "rds_rows").column_names == POLLING_ROW


def _systems(rows: list[PollingRow]) -> list[tuple[str, float, float]]:
    return [(row.policy, row.rate, row.sleep_s) for row in rows]


def test_both_engines_say_the_same(spark: "SparkSession") -> None:
    # Long enough for means to settle, few enough systems for the net: figure 11's, four runs each.
    run = Run(duration_s=20.0)
    by = {engine: sweep(spark, [Figure.FIG11], run, 4, engine, 1)[0].rows for engine in Engine}
    off = 0
    for petri, compiled in zip(by[Engine.PETRI], by[Engine.COMPILED], strict=True):
        assert (petri.x, petri.q, petri.option) == (compiled.x, compiled.q, compiled.option)
        means, spans = [row.mean or nan for row in (petri, compiled)], [row.ci95 or nan for row in (petri, compiled)]
        off += not abs(means[0] - means[1]) <= sum(spans)
    # The intervals of one system in some hundreds do not touch, if the means are the same.
    assert off <= 1


def test_the_command(environment: None, tmp_path: Path) -> None:
    flags = ["--replications", "1", "--duration-s", "2", "--out", str(tmp_path), "--json", "--master", "local[1]"]
    command = [sys.executable, "-c", "from rockdove.cli import main; main()", "simulate"]
    command += ["rds12", "fig13", "fig11", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second, third = json.loads(done.stdout)
    assert (first["figure"], second["figure"], third["figure"]) == ("fig11", "fig13", "rds12")
    assert list(third) == ["figure", "rows"]
    assert all(list(row) == POLLING_ROW for row in third["rows"])
    assert list(first["rows"][0]) == ROW
    assert first["rows"][0]["ci95"] is None
    pictures = {"fig11.svg", "fig13.svg", "rds12.svg"}
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "rows", "rds_runs", "rds_rows", *pictures}
    # A table has the same columns also when all of one is null.
    assert str(pq.read_table(tmp_path / "rows").schema.field("ci95").type) == "double"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fig10"], "no figure 'fig10'"),
        (["fig11", "--engine", "snakes"], "--engine is petri or compiled"),
        (["fig11", "--duration-s", "0"], "--duration-s must be a number over 0"),
        (["fig11", "--link-s", "-1"], "--link-s must be a number of 0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_starts(early: Cli, words: list[str], said: str) -> None:
    done = early("simulate", *words)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize("out", ["{here}/file", "/dev/null/x", "/proc/x"])
def test_a_folder_that_cannot_be_written_is_found_before_spark_starts(early: Cli, out: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    place = out.format(here=tmp_path)
    done = early("simulate", "fig11", "--out", place)
    assert done.code == 1
    assert done.err.startswith(f"rockdove: cannot write to {place}: ")
    assert done.err.count("\n") == 1


def test_a_master_that_is_none_is_one_line(early: Cli) -> None:
    done = early("simulate", "fig11", "--master", "nonsense")
    assert done.code == 1
    assert done.err.startswith("rockdove: no master 'nonsense': it is local[*], ")
    assert done.err.count("\n") == 1
