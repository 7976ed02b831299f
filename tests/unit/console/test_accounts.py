"""The page of accounts: what it shows, and what it keeps to itself."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from rockdove.client import ListedAccount
from rockdove.console.accounts import NewAccount, NewKey, Password, Sure, add, listed, remove, set_password
from rockdove.console.session import Account
from rockdove.console.visit import Visit
from rockdove.console.wrong import Wrong
from rockdove.core.errors import AccountExists, Fault, InvalidParameterValue


class Service:
    def __init__(self, fault: Fault | None = None) -> None:
        self.fault = fault
        self.calls: list[tuple[Any, ...]] = []

    async def _do(self, *call: Any) -> None:
        self.calls.append(call)
        if self.fault is not None:
            raise self.fault

    async def add_account(self, name: str, *, admin: bool, password: str | None) -> SimpleNamespace:
        await self._do("add", name, admin, password)
        return SimpleNamespace(account_id="000000000000", access_key="RDAK", secret_key="hush")

    async def list_accounts(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(account_name="bob", account_id="222222222222")]

    async def set_account_password(self, name: str, password: str) -> None:
        await self._do("password", name, password)

    async def remove_account(self, name: str) -> None:
        await self._do("remove", name)


class Sessions:
    def __init__(self) -> None:
        self.ended: list[str] = []

    def end_account(self, account_id: str) -> None:
        self.ended.append(account_id)


def visit(service: Service, *, session_id: str = "s", name: str = "bob", sessions: Sessions | None = None) -> Visit:
    session: Any = SimpleNamespace(id=session_id, client=service, account=Account("000000000000", "ann"))
    request: Any = SimpleNamespace(path_params={"name": name})
    console: Any = SimpleNamespace(sessions=sessions or Sessions())
    return Visit(request, console, session)


def test_the_first_account_is_an_administrator_and_needs_a_password() -> None:
    service = Service()
    with pytest.raises(Wrong) as caught:
        asyncio.run(add(visit(service, session_id=""), NewAccount("ann")))
    assert caught.value.field == "password"
    assert service.calls == []
    made = asyncio.run(add(visit(service, session_id=""), NewAccount(" ann ", password="correct horse")))
    assert made == NewKey("ann", "000000000000", "RDAK", "hush")
    assert service.calls == [("add", "ann", True, "correct horse")]


def test_later_ones_need_none_and_are_administrators_only_if_that_is_wanted() -> None:
    service = Service()
    asyncio.run(add(visit(service), NewAccount("bob")))
    assert service.calls == [("add", "bob", False, None)]


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        (AccountExists("There is an account bob already."), "name"),
        (InvalidParameterValue("The name of an account has 1 to 64 letters."), "name"),
        (InvalidParameterValue("A password has 8 to 1,024 characters, not 3."), "password"),
    ],
)
def test_what_the_service_refuses_is_told_beside_its_input(fault: Fault, field: str) -> None:
    with pytest.raises(Wrong) as caught:
        asyncio.run(add(visit(Service(fault)), NewAccount("bob", password="abc")))
    assert caught.value.field == field


def test_a_new_password_signs_out_who_has_the_earlier_one() -> None:
    sessions = Sessions()
    asyncio.run(set_password(visit(Service(), sessions=sessions), Password("another horse")))
    assert sessions.ended == ["222222222222"]


def test_an_account_is_removed_by_its_name_typed_and_is_signed_out() -> None:
    sessions, service = Sessions(), Service()
    with pytest.raises(Wrong) as caught:
        asyncio.run(remove(visit(service, sessions=sessions), Sure("ann")))
    assert caught.value.field == "typed"
    assert service.calls == []
    asyncio.run(remove(visit(service, sessions=sessions), Sure("bob")))
    assert service.calls == [("remove", "bob")]
    assert sessions.ended == ["222222222222"]


def test_secrets_are_not_in_what_a_log_would_show() -> None:
    for secret in (NewAccount("ann", password="hush"), Password("hush"), NewKey("ann", "1", "RDAK", "hush")):
        assert "hush" not in f"{secret!r} {secret}"


def test_one_s_own_account_is_marked() -> None:
    found = ListedAccount(
        account_id="000000000000",
        account_name="ann",
        admin=True,
        state="disabled",
        has_password=True,
        created_timestamp=5,
        keys=[],
    )
    assert listed(found, "000000000000").is_own
    assert not listed(found, None).is_own
    assert not listed(found, None).enabled
