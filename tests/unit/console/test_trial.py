"""Simulations: a process each, that ends with who has asked."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rockdove.console.question import Question
from rockdove.console.trial import MOST, Trials
from rockdove.console.wrong import Wrong
from tests.support.looped import looped

QUESTION = Question(arrival=30, service_ms=100, reliability=100, timeout_s=0, threads=6)


async def events(stream: AsyncIterator[bytes]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    async for part in stream:
        if part.startswith(b":"):
            continue
        name, data = part.decode().rstrip().removeprefix("event: ").split("\ndata: ")
        found.append((name, json.loads(data)))
    return found


@looped
async def test_a_plan_is_confirmed_with_progress() -> None:
    trials = Trials()
    trials.reserve()
    found = await events(trials.stream(QUESTION, lambda: False))
    names = [name for name, _ in found]
    assert names[:2] == ["begun", "ready"]
    assert set(names[2:-1]) == {"progress"}
    progress = [data for name, data in found if name == "progress"]
    assert [data["done"] for data in progress] == list(range(1, progress[0]["of"] + 1))
    last, done = found[-1]
    assert (last, done["verdict"], done["poisson"]) == ("done", "confirmed", True)
    assert done["delivery"]["mean"] == pytest.approx(done["predicted"]["mean_s"], rel=0.05)
    assert done["utilisation"]["mean"] == pytest.approx(0.5, rel=0.05)


@looped
async def test_what_is_too_long_to_simulate_is_told() -> None:
    trials = Trials()
    trials.reserve()
    long = Question(arrival=1000, service_ms=1, reliability=99, timeout_s=43_200, threads=6)
    name, data = (await events(trials.stream(long, lambda: False)))[-1]
    assert name == "failed"
    assert "shorter timeout" in data["error"]


@looped
async def test_who_leaves_ends_the_process() -> None:
    trials = Trials()
    trials.reserve()
    stream = trials.stream(QUESTION, lambda: False)
    assert (await anext(stream)).startswith((b"event: begun", b": still"))
    async with asyncio.timeout(5):
        await stream.aclose()
    # There is room again.
    for _ in range(MOST):
        trials.reserve()


@looped
async def test_an_ended_session_ends_it() -> None:
    trials = Trials()
    trials.reserve()
    assert await events(trials.stream(QUESTION, lambda: True)) == []


def test_there_are_only_so_many_at_a_time() -> None:
    trials = Trials()
    for _ in range(MOST):
        trials.reserve()
    with pytest.raises(Wrong, match="Try again when one has ended"):
        trials.reserve()
