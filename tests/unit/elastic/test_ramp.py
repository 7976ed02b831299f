"""Production against a real service with a controller and workers of its own; nothing of it is left."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rockdove.workload.background import Background
from rockdove.workload.error import WorkloadFailed
from rockdove.workload.ramp import Ramp, Ramping, Sampled

QUICK = Ramping(
    policy="model",
    points=((0.0, 20.0), (2.0, 60.0), (3.0, 10.0)),
    random=True,
    kills=False,
    period_s=0.5,
    safety_s=0.5,
    startup_s=0,
)


def processes(folder: Path) -> list[str]:
    """Command lines that name the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if str(folder).encode() in text:
            found.append(text.decode())
    return found


def test_it_begins_when_all_is_ready(endpoint: str, new_name: Callable[..., str], tmp_path: Path) -> None:
    seen: list[Sampled] = []
    published: list[dict[str, Any]] = []

    def see(sampled: Sampled, last: dict[str, Any]) -> None:
        seen.append(sampled)
        published.append(last)

    watch = tmp_path / "no-watch"
    ramp = Ramp(
        endpoint,
        new_name(),
        tmp_path / "run",
        QUICK,
        watch=watch,
        is_ready=lambda: sum(each.production > 0 for each in seen) > 1,
        see=see,
    )
    found = asyncio.run(ramp.run())
    before = [each for each in seen if each.t == 0]
    assert len(before) >= 2
    assert found.samples == [each for each in seen if each.t > 0]
    assert [each.t for each in found.samples[:3]] == [1, 2, 3]
    # It has sent before, too.
    assert found.sent > 60
    assert (found.lost, found.handled) == (0, found.sent)
    # There is no watch: the controller has said so, and gone by what it was told.
    assert found.watched == 0
    assert published[-1]["arrival"] > 0
    assert f"{watch} tells nothing of now" in (tmp_path / "run" / "controller.log").read_text()
    assert processes(tmp_path) == []


def test_who_looks_on_can_end_it(endpoint: str, new_name: Callable[..., str], tmp_path: Path) -> None:
    def see(sampled: Sampled, last: dict[str, Any]) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        asyncio.run(Ramp(endpoint, new_name(), tmp_path / "run", QUICK, see=see).run())
    assert processes(tmp_path) == []


def test_a_part_that_ends_is_told_with_its_log(tmp_path: Path) -> None:
    with Background("the watch", ["watch", str(tmp_path / "none"), "--out", "x"], tmp_path / "log") as part:
        assert part._process is not None
        part._process.wait()
        with pytest.raises(WorkloadFailed, match=r"the watch ended \(exit code 3\):\n.*there is no folder"):
            part.check()
