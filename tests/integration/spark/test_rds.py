"""`rockdove bench rds` from end to end: two services, all policies, the traces analysed by Spark."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.unit.cli.outcome import Cli

ROW = {"store", "policy", "rate", "sleep_s", "throughput", "hit_rate", "messages_per_hit", "messages_per_cpu_s"}


def test_all_policies_on_both_stores(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--rates", "50", "--sleeps", "0.1", "--seconds", "1", "--servers", "2", "--physical", "4"]
    done = cli("bench", "rds", *words, "--out", str(out), "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["bench"] == "rds"
    assert {"machine", "command", "rows", "ratios", "holds"} <= set(report)
    assert len(report["rows"]) == 8
    assert {(row["store"], row["policy"]) for row in report["rows"]} == {
        (store, policy) for store in ("redis", "sqlite") for policy in ("conventional", "pms", "rds", "wake")
    }
    for row in report["rows"]:
        assert set(row) >= ROW
        assert row["received"] > 0, row
        assert row["hit_rate"] > 0
        assert row["delivery_ms"]["p99"] >= row["delivery_ms"]["p50"] > 0
        assert (row["sleep_s"] == 0.1) == (row["policy"] == "rds")
        assert (row["store_cpu_s"] > 0) == (row["store"] == "redis")
    assert json.loads((out / "rds14.json").read_text()) == report
    ET.parse(out / "rds14.svg")
