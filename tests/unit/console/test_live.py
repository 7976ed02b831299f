"""Live figures: what open pages are sent, and by whom."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from rockdove.client import AsyncClient, GetFiguresResult, QueueFigures, Unreachable
from rockdove.console import live, watcher
from rockdove.console.live import Feed, Hub
from rockdove.console.service import Service
from rockdove.console.session import Account, Session, Sessions
from rockdove.console.watcher import Watcher
from rockdove.core.errors import InvalidClientTokenId, RockdoveError

Event = tuple[str, Any]


def queue(name: str, **values: Any) -> QueueFigures:
    return QueueFigures(queue_name=name, created_timestamp=0, **{"visible": 0, **values})


class Client:
    """Answers what it is told to, and waits when that is over."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[GetFiguresResult | RockdoveError] = asyncio.Queue()
        self.asked: list[str | None] = []
        self.time = 1000.0

    def answer(self, *queues: QueueFigures, gone: tuple[str, ...] = (), **values: Any) -> None:
        self.time += 1
        told = GetFiguresResult(version=str(self.time), time=self.time, queues=list(queues), gone=list(gone), **values)
        self.answers.put_nowait(told)

    async def figures(self, since: str | None, *, wait_s: int) -> GetFiguresResult:
        self.asked.append(since)
        told = await self.answers.get()
        if isinstance(told, RockdoveError):
            raise told
        return told

    async def close(self) -> None:
        pass


class Stage:
    def __init__(self) -> None:
        self.service = Service("http://127.0.0.1:1", None)
        self.sessions = Sessions(self.service)
        self.hub = Hub(self.service, self.sessions)
        self.clients: dict[str, Client] = {}

    def sign_in(self, id: str) -> Session:
        session = self.sessions.begin(Account(id, id, False), "token")
        self.clients.setdefault(id, Client())
        session.client = cast(AsyncClient, self.clients[id])
        return session

    def open(self, session: Session, queue: str | None = None) -> Watcher:
        return self.hub.feed(session).join(session, queue)


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    await stage.hub.close()
    await stage.sessions.close()
    await stage.service.close()


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(20), staged() as stage:
            await scenario(stage)

    asyncio.run(run())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "TICK_S", 0.0)
    monkeypatch.setattr(live, "_AGAIN_S", 0.0)


async def events(watcher: Watcher) -> list[Event]:
    """What comes next, all at once."""
    data = await watcher.take(10)
    lines = [line for line in data.decode().split("\n\n") if line.startswith("event: ")]
    pairs = [line.removeprefix("event: ").split("\ndata: ") for line in lines]
    return [(name, json.loads(text)) for name, text in pairs]


UP = ("service", {"up": True, "text": None})


async def rows(watcher: Watcher) -> Any:
    (name, value), *others = await events(watcher)
    assert name == "rows"
    assert others in ([], [UP])
    return value


def test_a_page_is_told_everything_and_then_what_changes() -> None:
    async def scenario(stage: Stage) -> None:
        session = stage.sign_in("1")
        page, client = stage.open(session), stage.clients["1"]
        client.answer(queue("a", visible=2), queue("b"), whole=True)
        told = await rows(page)
        assert told["whole"]
        assert {row["name"]: row.get("visible", 0) for row in told["rows"]} == {"a": 2, "b": 0}
        client.answer(queue("a", visible=3, sent=5))
        told = await rows(page)
        assert [(row["name"], row["visible"], row["rate_in"]) for row in told["rows"]] == [("a", 3, 1.0)]
        client.answer(gone=("b",))
        told = await rows(page)
        assert told["gone"] == ["b"]
        assert client.asked[:3] == [None, "1001.0", "1002.0"]

    play(scenario)


def test_a_rate_goes_back_to_nothing_though_nothing_changes_any_more() -> None:
    async def scenario(stage: Stage) -> None:
        page, client = stage.open(stage.sign_in("1")), stage.clients["1"]
        client.answer(queue("a"), whole=True)
        await rows(page)
        client.answer(queue("a", sent=10))
        assert (await rows(page))["rows"][0]["rate_in"] == 2.0
        for _ in range(6):
            client.answer()
        assert (await rows(page))["rows"][-1]["rate_in"] == 0.0

    play(scenario)


def test_what_comes_in_parts_is_shown_as_a_whole() -> None:
    async def scenario(stage: Stage) -> None:
        page, client = stage.open(stage.sign_in("1")), stage.clients["1"]
        client.answer(queue("a"), whole=True, more=True)
        client.answer(queue("b"))
        assert [row["name"] for row in (await rows(page))["rows"]] == ["a", "b"]

    play(scenario)


def test_all_pages_of_an_account_share_one_loop_and_others_see_nothing_of_it() -> None:
    async def scenario(stage: Stage) -> None:
        alice, again, bob = stage.sign_in("1"), stage.sign_in("1"), stage.sign_in("2")
        pages = [stage.open(alice), stage.open(again)]
        other = stage.open(bob)
        stage.clients["1"].answer(queue("alices"), whole=True)
        stage.clients["2"].answer(queue("bobs"), whole=True)
        assert [[row["name"] for row in (await rows(page))["rows"]] for page in pages] == [["alices"], ["alices"]]
        assert [row["name"] for row in (await rows(other))["rows"]] == ["bobs"]
        assert stage.clients["1"].asked[0] is None
        assert None not in stage.clients["1"].asked[1:]

    play(scenario)


def test_a_page_about_one_queue_gets_points_whether_it_changes_or_not() -> None:
    async def scenario(stage: Stage) -> None:
        page, client = stage.open(stage.sign_in("1"), "a"), stage.clients["1"]
        client.answer(queue("a", visible=1), queue("b"), whole=True)
        history, row, service = await events(page)
        assert service == UP
        assert (history[0], history[1]["visible"]) == ("history", [1.0])
        assert (row[0], row[1]["name"]) == ("queue", "a")
        client.answer(queue("b", sent=1))
        ((name, point),) = await events(page)
        assert (name, point["visible"], point["sent"]) == ("point", 1.0, 0.0)
        client.answer(queue("a", visible=4, sent=3, delivery=[0, 2]))
        point, row = await events(page)
        assert (point[1]["sent"], point[1]["p50"]) == (3.0, 0.0015)
        assert row[1]["visible"] == 4
        client.answer(gone=("a",))
        assert await events(page) == [("gone", {})]

    play(scenario)


def test_a_queue_that_there_is_not_is_told_at_once() -> None:
    async def scenario(stage: Stage) -> None:
        page = stage.open(stage.sign_in("1"), "none")
        stage.clients["1"].answer(whole=True)
        assert await events(page) == [("gone", {}), UP]

    play(scenario)


def test_a_lost_service_is_told_once_and_so_is_its_return() -> None:
    async def scenario(stage: Stage) -> None:
        page, client = stage.open(stage.sign_in("1")), stage.clients["1"]
        for _ in range(3):
            client.answers.put_nowait(Unreachable("http://127.0.0.1:1", "Connection refused", "start it"))
        ((name, told),) = await events(page)
        assert (name, told["up"]) == ("service", False)
        assert "cannot be reached: Connection refused" in told["text"]
        client.answer(queue("a"), whole=True)
        told, service = await events(page)
        assert told[1]["whole"]
        assert service == UP

    play(scenario)


def test_an_account_that_the_service_does_not_know_any_more_is_signed_out() -> None:
    async def scenario(stage: Stage) -> None:
        session = stage.sign_in("1")
        page = stage.open(session)
        stage.clients["1"].answers.put_nowait(InvalidClientTokenId("It is disabled."))
        await page.take(10)
        assert session.is_over

    play(scenario)


def test_the_loop_ends_some_time_after_the_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LINGER_S", 0.0)

    async def scenario(stage: Stage) -> None:
        session = stage.sign_in("1")
        page, client = stage.open(session), stage.clients["1"]
        client.answer(queue("a"), whole=True)
        await rows(page)
        feed: Feed = stage.hub.feed(session)
        feed.leave(page)
        client.answer()
        assert feed._task is not None
        await feed._task
        # Whoever comes later begins anew.
        asked = len(client.asked)
        stage.open(session)
        while len(client.asked) == asked:
            await asyncio.sleep(0.001)
        assert client.asked[asked] is None

    play(scenario)


def test_a_page_that_does_not_read_is_told_everything_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "_MOST", 3)

    async def scenario(stage: Stage) -> None:
        page, client = stage.open(stage.sign_in("1")), stage.clients["1"]
        client.answer(queue("a"), whole=True)
        for number in range(1, 9):
            client.answer(queue("a", sent=number))
        while client.answers.qsize():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        told = await events(page)
        assert len(told) <= 5
        assert told[0][1]["whole"]

    play(scenario)
