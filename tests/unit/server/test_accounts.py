"""Who may do what with accounts, and what the operations answer."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rockdove.broker.accounts import Accounts
from rockdove.broker.feed import Feed
from rockdove.core.account import FIRST_ID
from rockdove.core.errors import AccessDenied, InvalidParameterValue, NoSuchAccount
from rockdove.server.accounts import AccountOperations
from rockdove.store.common.keyfile import MemoryKey
from rockdove.wire import account as shape
from rockdove.wire.operation import OPERATIONS
from rockdove.wire.shape import Request
from tests.support.store import Bench

# All that name an account which must be there.
ON_ONE: tuple[Request, ...] = (
    shape.SetAccountPassword(account_name="bob", password="correct horse"),
    shape.RotateAccountKey(account_name="bob"),
    shape.FinishAccountRotation(account_name="bob"),
    shape.AddAccountToken(account_name="bob"),
    shape.RemoveAccountToken(account_name="bob", token_id="x"),
    shape.SetAccountState(account_name="bob", state="disabled"),
    shape.RemoveAccount(account_name="bob"),
)
ALL: tuple[Request, ...] = (shape.AddAccount(account_name="eve"), shape.ListAccounts(), *ON_ONE)


@dataclass
class Caller:
    account: str


NOBODY = Caller(FIRST_ID)


class Room:
    """The operations over a store in memory."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        feed = Feed(bench.store.records)
        self.accounts = Accounts(bench.store.records, feed, bench.clock, MemoryKey(), lambda id: {})
        feed.start(bench.snapshot, self.accounts)
        self.operations = AccountOperations(self.accounts)

    def begin(self, call: Caller | None, request: Request) -> Any:
        return getattr(self.operations, OPERATIONS[type(request).__name__].method)(call, request)

    def do(self, call: Caller | None, request: Request) -> Any:
        return self.bench.run(self.begin(call, request))

    def add(self, name: str, **options: Any) -> shape.AddAccountResult:
        made = self.do(None, shape.AddAccount(account_name=name, **options))
        assert isinstance(made, shape.AddAccountResult)
        return made


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    bench = Bench("memory", tmp_path)
    yield Room(bench)
    bench.close()


def test_every_operation_on_accounts_is_tried_here() -> None:
    assert {type(request).__name__ for request in ALL} == {name for name in OPERATIONS if "Account" in name}


def test_anybody_may_add_the_first_and_nobody_the_second(room: Room) -> None:
    made = room.do(NOBODY, shape.AddAccount(account_name="ann"))
    assert made.account_id == FIRST_ID
    with pytest.raises(AccessDenied):
        room.do(Caller("123456789012"), shape.AddAccount(account_name="eve"))


def test_of_two_strangers_one_becomes_the_first(room: Room) -> None:
    async def both() -> list[Any]:
        requests = [shape.AddAccount(account_name=name, password="correct horse") for name in ("ann", "eve")]
        return await asyncio.gather(*(room.begin(NOBODY, one) for one in requests), return_exceptions=True)

    outcomes = room.bench.run(both())
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AccessDenied", "AddAccountResult"]
    assert len(room.accounts.list()) == 1


@pytest.mark.parametrize("request_", ON_ONE, ids=lambda request: type(request).__name__)
def test_a_stranger_does_nothing_to_the_first_while_it_is_being_added(room: Room, request_: Request) -> None:
    """His request came while nobody was refused. Carried out later, it would be one of the first account's own."""

    async def race() -> None:
        adding = asyncio.ensure_future(room.begin(NOBODY, shape.AddAccount(account_name="bob")))
        with pytest.raises(NoSuchAccount):
            room.begin(NOBODY, request_)
        await adding

    room.bench.run(race())
    bob = room.accounts.named("bob")
    assert (bob.enabled, bob.password, len(bob.keys)) == (True, None, 1)


def test_a_stranger_who_came_before_the_first_account_adds_and_sees_nothing_after_it(room: Room) -> None:
    async def race() -> None:
        second = room.begin(NOBODY, shape.AddAccount(account_name="eve", admin=True))
        look = room.begin(NOBODY, shape.ListAccounts())
        await room.begin(NOBODY, shape.AddAccount(account_name="ann"))
        with pytest.raises(AccessDenied):
            await second
        assert (await look).accounts == []

    room.bench.run(race())
    assert [account.name for account in room.accounts.list()] == ["ann"]


@pytest.mark.parametrize("request_", ALL, ids=lambda request: type(request).__name__)
def test_only_administrators_may(room: Room, request_: Request) -> None:
    room.add("ann")
    bob = room.add("bob")
    cyd = room.add("cyd", admin=True)
    room.do(None, shape.RotateAccountKey(account_name="bob"))
    room.do(None, shape.SetAccountState(account_name="cyd", state="disabled"))
    made = room.do(None, shape.AddAccountToken(account_name="bob"))
    if isinstance(request_, shape.RemoveAccountToken):
        request_ = shape.RemoveAccountToken(account_name="bob", token_id=made.token_id)
    before = room.accounts.list()
    for account in (bob.account_id, cyd.account_id, "123456789012"):
        with pytest.raises(AccessDenied, match="Only an administrator"):
            room.do(Caller(account), request_)
    assert room.accounts.list() == before
    if not isinstance(request_, shape.RotateAccountKey):
        room.do(Caller(FIRST_ID), request_)


def test_without_accounts_the_list_is_empty(room: Room) -> None:
    assert room.do(NOBODY, shape.ListAccounts()).accounts == []


def test_a_list_tells_everything_but_secrets(room: Room) -> None:
    made = room.add("ann", password="correct horse")
    room.add("bob")
    new = room.do(None, shape.RotateAccountKey(account_name="ann"))
    assert (new.account_id, new.old_access_key) == (made.account_id, made.access_key)
    room.do(None, shape.SetAccountState(account_name="bob", state="disabled"))
    ann, bob = room.do(None, shape.ListAccounts()).accounts
    now = room.bench.now_us // 1_000_000
    assert (ann.account_id, ann.account_name, ann.admin, ann.state) == (FIRST_ID, "ann", True, "enabled")
    assert (ann.has_password, ann.created_timestamp) == (True, now)
    assert [key.access_key for key in ann.keys] == [made.access_key, new.access_key]
    assert (bob.admin, bob.state, bob.has_password) == (False, "disabled", False)
    assert made.secret_key not in repr((ann, bob))


def test_the_end_of_a_rotation(room: Room) -> None:
    old = room.add("ann")
    new = room.do(None, shape.RotateAccountKey(account_name="ann"))
    ended = room.do(None, shape.FinishAccountRotation(account_name="ann"))
    assert (ended.access_key, ended.retired_access_key) == (new.access_key, old.access_key)
    newer = room.do(None, shape.RotateAccountKey(account_name="ann"))
    ended = room.do(None, shape.FinishAccountRotation(account_name="ann", cancel=True))
    assert (ended.access_key, ended.retired_access_key) == (new.access_key, newer.access_key)


def test_there_are_two_states(room: Room) -> None:
    room.add("ann")
    with pytest.raises(InvalidParameterValue, match="Must be enabled or disabled"):
        room.do(None, shape.SetAccountState(account_name="ann", state="Disabled"))


def test_secrets_do_not_show_in_logs(room: Room) -> None:
    made = room.add("ann")
    new = room.do(None, shape.RotateAccountKey(account_name="ann"))
    password = "correct horse"
    for value in (
        made,
        new,
        shape.AddAccount(account_name="x", password=password),
        shape.SetAccountPassword(account_name="x", password=password),
    ):
        for secret in (made.secret_key, new.secret_key, password):
            assert secret not in f"{value!r} {value}"
