"""Sessions of the console: how they begin, are renewed, and end."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from rockdove.client import AsyncClient, Unreachable
from rockdove.console import session as module
from rockdove.console.service import Service
from rockdove.console.session import IDLE_S, LONGEST_S, MOST_OF_ACCOUNT, Account, Sessions
from rockdove.core.errors import InvalidClientTokenId

ALICE, BOB = Account("1", "alice", False), Account("2", "bob", False)


class Client:
    """Renews as it is told to."""

    def __init__(self, service: "FakeService", token: str | None) -> None:
        self.service = service
        self.token = token
        self.closed = False

    async def renew_session(self) -> Any:
        self.service.renewed.append(self.token)
        if self.service.error is not None:
            raise self.service.error

        class Renewed:
            session_token = f"{self.token}+"

        return Renewed

    async def close(self) -> None:
        self.closed = True


class FakeService:
    def __init__(self) -> None:
        self.error: Exception | None = None
        self.renewed: list[str | None] = []
        self.forgotten = False
        self.nobody = cast(AsyncClient, Client(self, None))

    def client(self, token: str | None) -> AsyncClient:
        return cast(AsyncClient, Client(self, token))

    def forget(self) -> None:
        self.forgotten = True


class Stage:
    def __init__(self) -> None:
        self.now_s = 1000.0
        self.service = FakeService()
        self.sessions = Sessions(cast(Service, self.service), lambda: self.now_s)


def play(scenario: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        stage = Stage()
        await scenario(stage)
        await stage.sessions.close()

    asyncio.run(run())


def test_a_session_is_found_by_its_id_alone() -> None:
    async def scenario(stage: Stage) -> None:
        one, other = stage.sessions.begin(ALICE, "a"), stage.sessions.begin(ALICE, "b")
        assert one.id != other.id
        assert len(one.id) >= 40
        assert stage.sessions.find(one.id) is one
        for id in (None, "", "x", one.id[:-1]):
            assert stage.sessions.find(id) is None

    play(scenario)


def test_what_is_open_of_a_session_is_woken_when_it_ends() -> None:
    async def scenario(stage: Stage) -> None:
        session, other = stage.sessions.begin(ALICE, "a"), stage.sessions.begin(BOB, "b")
        stream = asyncio.Event()
        session.streams.add(stream)
        stage.sessions.end(session)
        assert stream.is_set()
        assert session.is_over
        assert not other.is_over
        assert stage.sessions.find(session.id) is None

    play(scenario)


def test_signing_out_everywhere_ends_the_sessions_of_the_account_alone() -> None:
    async def scenario(stage: Stage) -> None:
        alices = [stage.sessions.begin(ALICE, "a") for _ in range(3)]
        bobs = stage.sessions.begin(BOB, "b")
        assert stage.sessions.end_account(ALICE.id) == 3
        assert all(session.is_over for session in alices)
        assert stage.sessions.find(bobs.id) is bobs

    play(scenario)


def test_a_session_that_nobody_uses_ends_unless_a_page_is_open() -> None:
    async def scenario(stage: Stage) -> None:
        idle, open_ = stage.sessions.begin(ALICE, "a"), stage.sessions.begin(ALICE, "b")
        open_.streams.add(asyncio.Event())
        stage.now_s += IDLE_S + 1
        assert stage.sessions.find(idle.id) is None
        assert stage.sessions.find(open_.id) is open_
        stage.now_s += LONGEST_S
        assert stage.sessions.find(open_.id) is None
        assert open_.is_over

    play(scenario)


def test_one_account_has_so_many_sessions_and_the_oldest_goes() -> None:
    async def scenario(stage: Stage) -> None:
        sessions = [stage.sessions.begin(ALICE, "a") for _ in range(MOST_OF_ACCOUNT + 1)]
        assert [session.is_over for session in sessions] == [True] + [False] * MOST_OF_ACCOUNT

    play(scenario)


def test_tokens_are_renewed_while_the_session_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.001)

    async def scenario(stage: Stage) -> None:
        session = stage.sessions.begin(ALICE, "a")
        while len(stage.service.renewed) < 2:
            await asyncio.sleep(0.001)
        assert stage.service.renewed[:2] == ["a", "a+"]
        assert not session.is_over

    play(scenario)


def test_a_session_ends_with_what_the_service_says_of_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.001)

    async def scenario(stage: Stage) -> None:
        stage.service.error = InvalidClientTokenId("It is disabled.")
        session = stage.sessions.begin(ALICE, "a")
        async with asyncio.timeout(10):
            await session.ended.wait()

    play(scenario)


def test_a_service_that_is_away_ends_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.001)
    monkeypatch.setattr(module, "_AGAIN_S", 0.001)

    async def scenario(stage: Stage) -> None:
        stage.service.error = Unreachable("http://127.0.0.1:1", "refused", "start it")
        session = stage.sessions.begin(ALICE, "a")
        while len(stage.service.renewed) < 3:
            await asyncio.sleep(0.001)
        assert not session.is_over

    play(scenario)


def test_without_accounts_there_is_one_session_until_there_are_some() -> None:
    async def scenario(stage: Stage) -> None:
        session = stage.sessions.everybody()
        assert session.account.admin
        assert stage.sessions.everybody() is session
        stage.sessions.accounts_appeared()
        assert session.is_over
        assert stage.service.forgotten

    play(scenario)
