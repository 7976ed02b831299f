"""A calibration as a file."""

from pathlib import Path

import msgspec
import pytest

from rockdove.capacity.estimate import Estimate
from rockdove.capacity.plan.calibration import Calibration, Stage, UnreadableCalibration, read

GOOD = Calibration(
    arrival=Estimate(30.3, 29.9, 30.7),
    arrival_scv=Estimate(1.1),
    sender=Stage(rate=Estimate(10), scv=Estimate(0.25), family="erlang"),
    broker=Stage(rate=Estimate(12), scv=Estimate(1), family="exponential"),
    reliability=Estimate(0.99),
    link_s=Estimate(0.02),
    timeout_s=Estimate(30),
)


def write(folder: Path, value: object) -> Path:
    path = folder / "calibration.json"
    path.write_bytes(msgspec.json.encode(value))
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read(write(tmp_path, GOOD)) == GOOD


def test_it_is_a_load() -> None:
    load = GOOD.load()
    assert (load.arrival, load.sender_rate, load.broker_rate, load.q) == (30.3, 10, 12, 0.99)
    assert (load.sender_scv, load.broker_scv, load.link_s, load.timeout_s) == (0.25, 1, 0.02, 30)


def test_arrivals_that_poisson_fits_are_poisson() -> None:
    assert GOOD.load().arrival_scv == 1
    assert msgspec.structs.replace(GOOD, poisson=False).load().arrival_scv == 1.1


def test_fields_that_came_later_are_passed_over(tmp_path: Path) -> None:
    assert read(write(tmp_path, {**msgspec.to_builtins(GOOD), "traces": 3})) == GOOD


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCalibration, match="has format 2, and this Rockdove reads format 1"):
        read(write(tmp_path, msgspec.structs.replace(GOOD, format=2)))


def test_another_format_is_told_before_its_fields_are_looked_at(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCalibration, match="has format 2"):
        read(write(tmp_path, {"format": 2, "arrival": 3}))


def test_a_file_without_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCalibration, match="required field `format`"):
        read(write(tmp_path, {name: value for name, value in msgspec.to_builtins(GOOD).items() if name != "format"}))


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableCalibration, match="is no calibration"):
        read(write(tmp_path, {"arrival": 3}))
