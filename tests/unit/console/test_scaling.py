"""Elastic queues are found and looked after while somebody is interested."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import msgspec
import pytest

from rockdove.capacity.scaling.step import State
from rockdove.client import AsyncClient, GetFiguresResult, QueueFigures, Unreachable
from rockdove.console import scaling
from rockdove.console.elastic import command
from rockdove.console.scaling import Recorder, Recorders
from rockdove.console.session import Account, Session
from rockdove.core.errors import QueueDoesNotExist
from rockdove.elastic.state import Published, ShownWorker
from rockdove.wire.extension import DescribedPhysicalQueue, GetElasticStateResult
from tests.support.looped import looped

URL = "http://127.0.0.1:9324/000000000000/"


def published(*loads: int) -> str:
    workers = [
        ShownWorker(number=number, state="up", load=load, in_flight=0, share=1.0) for number, load in enumerate(loads)
    ]
    return msgspec.json.encode(
        Published(
            at=time.time(),
            policy="paper",
            target=4,
            machines=1,
            arrival=None,
            growth=0.0,
            service_s=None,
            failure=0.0,
            workers=workers,
            decisions=[],
            rule=State(),
        )
    ).decode()


class Client:
    """A service with queues, some of them elastic."""

    def __init__(self, **queues: str) -> None:
        self.queues = queues
        self.states: dict[str, GetElasticStateResult] = {}
        self.sent = 0
        self.asked: list[str] = []
        self.trouble: Exception | None = None

    async def queue_url(self, name: str) -> str:
        return f"{URL}{name}"

    async def attributes(self, url: str, names: list[str]) -> dict[str, str]:
        name = url.removeprefix(URL)
        self.asked.append(name)
        if name not in self.queues:
            raise QueueDoesNotExist
        return {"RockdoveElastic": self.queues[name]} if self.queues[name] else {}

    async def figures(self, since: str | None) -> GetFiguresResult:
        """It does not remember what it has told."""
        if self.trouble is not None:
            raise self.trouble
        self.sent += 10
        told = [
            QueueFigures(queue_name=name, created_timestamp=0, sent=self.sent, elastic=bool(value))
            for name, value in self.queues.items()
        ]
        return GetFiguresResult(version="1", time=time.time(), whole=True, queues=told)

    async def elastic_state(self, url: str) -> GetElasticStateResult:
        if url.removeprefix(URL) not in self.queues:
            raise QueueDoesNotExist
        return self.states.get(url.removeprefix(URL), GetElasticStateResult(paused=False))

    async def physical_queues(self, url: str) -> list[DescribedPhysicalQueue]:
        return [
            DescribedPhysicalQueue(index=0, state="up", weight=1, approximate_number_of_messages=7),
            DescribedPhysicalQueue(index=1, state="up", weight=1, reachable=False),
        ]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "TICK_S", 0.01)
    monkeypatch.setattr(scaling, "_PAUSE_S", 0.001)


def session(client: Client) -> Session:
    return Session("id", Account("1", "ann", False), cast(AsyncClient, client), 0.0)


@asynccontextmanager
async def recording(client: Client) -> AsyncIterator[tuple[Recorder, Session]]:
    recorders, whose = Recorders(), session(client)
    try:
        yield recorders.of(whose), whose
    finally:
        await recorders.close()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


@looped
async def test_elastic_queues_are_found_among_others() -> None:
    client = Client(jobs='{"maxLoad": 20}', plain="", broken="{")
    async with recording(client) as (recorder, _):
        await until(lambda: recorder.queues and "broken" in client.asked)
        assert recorder.is_ready
        assert list(recorder.queues) == ["jobs"]
        assert recorder.queues["jobs"].elastic.max_load == 20
        assert "plain" not in client.asked


@looped
async def test_a_controller_tells_loads_and_workers() -> None:
    client = Client(jobs="{}")
    state = GetElasticStateResult(paused=True, holder="me", held_until=time.time() + 60, state=published(3, 9))
    client.states["jobs"] = state
    async with recording(client) as (recorder, _):
        await until(lambda: "jobs" in recorder.queues and recorder.queues["jobs"].samples.last)
        jobs = recorder.queues["jobs"]
        last = jobs.samples.last
        assert last is not None
        assert (last.max_load, last.average_load, last.workers, last.target) == (9, 6, 2, 4)
        assert (jobs.paused, jobs.holder) == (True, "me")
        await until(lambda: not math.isnan(jobs.samples.last.production) if jobs.samples.last else False)


@looped
async def test_without_a_controller_the_service_tells_loads() -> None:
    client = Client(jobs="{}")
    client.states["jobs"] = GetElasticStateResult(
        paused=False, holder="me", held_until=time.time() - 1, state=published(3, 9)
    )
    async with recording(client) as (recorder, _):
        await until(lambda: "jobs" in recorder.queues and recorder.queues["jobs"].samples.last)
        assert [(each.state, each.load) for each in recorder.queues["jobs"].loads] == [("up", 7), ("away", 0)]
        last = recorder.queues["jobs"].samples.last
        assert last is not None
        assert (last.max_load, math.isnan(last.workers)) == (7, True)


@looped
async def test_queues_come_and_go() -> None:
    client = Client(jobs="{}")
    async with recording(client) as (recorder, _):
        await until(lambda: "jobs" in recorder.queues)
        client.queues["more"] = "{}"
        await until(lambda: "more" in recorder.queues)
        client.queues["jobs"] = ""
        await until(lambda: "jobs" not in recorder.queues)
        del client.queues["more"]
        await until(lambda: not recorder.queues)


@looped
async def test_trouble_is_kept_until_it_is_over() -> None:
    client = Client(jobs="{}")
    client.trouble = Unreachable("http://127.0.0.1:9324", "it is gone", "start it")
    async with recording(client) as (recorder, _):
        await until(lambda: recorder.trouble is not None)
        client.trouble = None
        await until(lambda: recorder.trouble is None and recorder.queues)


@looped
async def test_it_ends_with_the_session() -> None:
    async with recording(Client(jobs="{}")) as (recorder, whose):
        await until(lambda: recorder.queues)
        whose.end()
        await until(lambda: recorder.is_idle)


@looped
async def test_it_ends_when_nobody_has_looked_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "KEPT_S", 0.05)
    async with recording(Client(jobs="{}")) as (recorder, _):
        await until(lambda: recorder.is_idle)


@looped
async def test_each_account_has_its_own() -> None:
    recorders = Recorders()
    ann = session(Client(jobs="{}"))
    bob = Session("other", Account("2", "bob", False), cast(AsyncClient, Client()), 0.0)
    try:
        assert recorders.of(ann) is recorders.of(ann)
        assert recorders.of(ann) is not recorders.of(bob)
    finally:
        await recorders.close()


def test_the_command_can_be_pasted() -> None:
    assert command("jobs", "http://127.0.0.1:9324").startswith(
        "rockdove autoscale jobs --endpoint http://127.0.0.1:9324 "
    )
