"""Paths of traces."""

from pathlib import Path

import pytest

from rockdove.spark import path as module
from rockdove.spark.path import are_small


def test_small_traces_are_told_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", 100)
    folder = tmp_path / "trace" / "date=2026-03-01"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.parquet").write_bytes(bytes(50))
    assert are_small([str(tmp_path / "trace")])
    assert are_small([str(folder / "*.parquet")])
    assert not are_small([str(tmp_path / "trace"), str(folder / "a.parquet")])
    (folder / "c.parquet").write_bytes(b"1")
    assert not are_small([str(tmp_path / "trace")])


def test_what_is_elsewhere_is_not_small() -> None:
    assert not are_small(["hdfs:///traces"])
    assert are_small(["no-such-trace"])
