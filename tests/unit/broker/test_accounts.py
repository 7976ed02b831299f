"""The accounts of a service, on every store."""

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from argon2 import PasswordHasher

from rockdove.broker.accounts import Accounts, NewKey
from rockdove.broker.feed import Feed
from rockdove.core.account import FIRST_ID
from rockdove.core.errors import (
    AccessDenied,
    AccountConflict,
    AccountExists,
    DataFolderError,
    InvalidParameterValue,
    NoSuchAccount,
    ServiceUnavailable,
)
from rockdove.store.common.keyfile import KeyFile, KeySource, MemoryKey
from tests.support.store import STORES, Bench

PASSWORD = "correct horse"
PATIENCE_S = 120


class Desk:
    """Accounts over a store; `reopen` loads them again from what the store has."""

    def __init__(self, bench: Bench, key: KeySource) -> None:
        self.bench = bench
        self.key = key
        self.queues: dict[str, list[str]] = {}
        self.topics: dict[str, list[str]] = {}
        self.load()

    def load(self) -> None:
        bench, feed = self.bench, Feed(self.bench.store.records)
        self.accounts = Accounts(bench.store.records, feed, bench.clock, self.key, self._owned)
        feed.start(bench.snapshot, self.accounts)

    def _owned(self, id: str) -> dict[str, list[str]]:
        return {"queues": self.queues.get(id, []), "topics": self.topics.get(id, [])}

    def reopen(self) -> None:
        self.bench.reopen()
        self.load()

    def add(self, name: str, admin: bool = False, password: str | None = None) -> NewKey:
        return self.bench.run(self.accounts.add(name, admin=admin, password=password))

    def remove(self, name: str) -> None:
        self.bench.run(self.accounts.remove(name))

    def enable(self, name: str, enabled: bool) -> None:
        self.bench.run(self.accounts.set_enabled(name, enabled))

    def fits(self, name: str, password: str) -> bool:
        return self.bench.run(self.accounts.check_password(name, password)) is not None


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    quick = partial(PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("rockdove.broker.password.PasswordHasher", quick)
    bench = Bench(request.param, tmp_path)
    yield Desk(bench, MemoryKey() if request.param == "memory" else KeyFile(tmp_path))
    bench.close()


# Add.


def test_at_first_there_are_none(desk: Desk) -> None:
    assert not desk.accounts.exist
    assert desk.accounts.list() == []
    assert desk.accounts.by_id(FIRST_ID) is None
    assert desk.accounts.by_key("RDAK") is None


def test_the_first_is_an_administrator_with_the_id_of_before(desk: Desk) -> None:
    made = desk.add("ann")
    assert desk.accounts.exist
    assert (made.account.id, made.account.admin, made.account.enabled) == (FIRST_ID, True, True)
    second = desk.add("bob").account
    assert not second.admin
    assert re.fullmatch(r"\d{12}", second.id)
    assert second.id != FIRST_ID
    assert desk.add("cyd", admin=True).account.admin


def test_a_key_finds_its_account_and_secret(desk: Desk) -> None:
    ann, bob = desk.add("ann"), desk.add("bob")
    for _ in range(2):
        assert desk.accounts.by_key(ann.access_key) == (ann.account, ann.secret)
        assert desk.accounts.by_key(bob.access_key) == (bob.account, bob.secret)
        assert desk.accounts.by_id(bob.account.id) == bob.account
        assert [account.name for account in desk.accounts.list()] == ["ann", "bob"]
        desk.reopen()


def test_secrets_are_kept_sealed_only(desk: Desk) -> None:
    made = desk.add("ann")
    desk.bench.reopen()
    [kept] = desk.bench.snapshot.accounts
    assert made.secret not in repr(kept)
    assert made.secret not in repr(made)
    assert kept.keys[0].access_key == made.access_key


@pytest.mark.parametrize("name", ["ann", "ANN"])
def test_names_are_unique(desk: Desk, name: str) -> None:
    desk.add("ann")
    with pytest.raises(AccountExists, match="already"):
        desk.add(name)
    assert len(desk.accounts.list()) == 1


def test_bad_names_and_passwords_change_nothing(desk: Desk) -> None:
    with pytest.raises(InvalidParameterValue):
        desk.add("ann lee")
    with pytest.raises(InvalidParameterValue):
        desk.add("ann", password="short")
    assert not desk.accounts.exist


def test_of_two_who_want_to_be_the_first_one_is(desk: Desk) -> None:
    async def both() -> list[NewKey | BaseException]:
        tasks = [desk.accounts.add(name, only_first=True) for name in ("ann", "bob")]
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second = desk.bench.run(both())
    assert isinstance(first, NewKey)
    assert isinstance(second, AccessDenied)
    assert [account.name for account in desk.accounts.list()] == ["ann"]


def test_an_unknown_name(desk: Desk) -> None:
    desk.add("ann")
    for change in (desk.accounts.rotate, desk.accounts.finish_rotation, desk.accounts.remove):
        with pytest.raises(NoSuchAccount, match="no account bob"):
            desk.bench.run(change("bob"))


# Passwords.


def test_a_password_fits_or_not(desk: Desk) -> None:
    desk.add("ann", password=PASSWORD)
    desk.add("bob")
    for _ in range(2):
        assert desk.fits("ann", PASSWORD)
        assert not desk.fits("ann", PASSWORD + "x")
        assert not desk.fits("ann", "")
        assert not desk.fits("bob", "")
        assert not desk.fits("nobody", PASSWORD)
        desk.reopen()


def test_a_password_is_kept_as_a_hash(desk: Desk) -> None:
    made = desk.add("ann", password=PASSWORD)
    assert made.account.password is not None
    assert made.account.password.startswith("$argon2id$")
    assert PASSWORD not in repr(made.account)


def test_a_new_password_replaces_the_old(desk: Desk) -> None:
    made = desk.add("ann", password=PASSWORD)
    desk.bench.run(desk.accounts.set_password("ann", "another one"))
    assert desk.fits("ann", "another one")
    assert not desk.fits("ann", PASSWORD)
    found = desk.accounts.by_key(made.access_key)
    assert found is not None
    assert found[1] == made.secret


def test_the_loop_goes_on_while_a_password_is_checked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.add("ann", password=PASSWORD)
    begun, loop_went_on = Event(), Event()
    verify = PasswordHasher.verify

    def waits(hasher: PasswordHasher, hashed: str, password: str) -> bool:
        begun.set()
        assert loop_went_on.wait(PATIENCE_S), "the loop stands still"
        return verify(hasher, hashed, password)

    monkeypatch.setattr(PasswordHasher, "verify", waits)

    async def check() -> bool:
        checking = asyncio.ensure_future(desk.accounts.check_password("ann", PASSWORD))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        loop_went_on.set()
        return await checking is not None

    assert desk.bench.run(check())


def test_a_disabled_account_has_no_password_that_fits(desk: Desk) -> None:
    desk.add("ann")
    desk.add("bob", password=PASSWORD)
    desk.enable("bob", False)
    assert not desk.fits("bob", PASSWORD)
    desk.enable("bob", True)
    assert desk.fits("bob", PASSWORD)


# Rotation.


def test_both_keys_work_during_a_rotation(desk: Desk) -> None:
    old = desk.add("ann")
    new = desk.bench.run(desk.accounts.rotate("ann"))
    for _ in range(2):
        for key in (old, new):
            found = desk.accounts.by_key(key.access_key)
            assert found is not None
            assert found[1] == key.secret
        desk.reopen()


def test_a_third_key_is_refused(desk: Desk) -> None:
    desk.add("ann")
    desk.bench.run(desk.accounts.rotate("ann"))
    with pytest.raises(AccountConflict, match="two keys already"):
        desk.bench.run(desk.accounts.rotate("ann"))
    assert len(desk.accounts.named("ann").keys) == 2


@pytest.mark.parametrize("cancel", [False, True])
def test_the_end_of_a_rotation(desk: Desk, cancel: bool) -> None:
    old = desk.add("ann")
    new = desk.bench.run(desk.accounts.rotate("ann"))
    gone, kept = (new, old) if cancel else (old, new)
    account, retired = desk.bench.run(desk.accounts.finish_rotation("ann", cancel))
    assert retired.access_key == gone.access_key
    for _ in range(2):
        assert desk.accounts.by_key(gone.access_key) is None
        assert desk.accounts.by_key(kept.access_key) == (account, kept.secret)
        desk.reopen()
    with pytest.raises(AccountConflict, match="no rotation"):
        desk.bench.run(desk.accounts.finish_rotation("ann", cancel))
    desk.bench.run(desk.accounts.rotate("ann"))


# Disable, remove.


def test_keys_of_a_disabled_account_are_nobodys(desk: Desk) -> None:
    desk.add("ann")
    bob = desk.add("bob")
    desk.enable("bob", False)
    for _ in range(2):
        assert desk.accounts.by_key(bob.access_key) is None
        found = desk.accounts.by_id(bob.account.id)
        assert found is not None
        assert not found.enabled
        desk.reopen()
    desk.enable("bob", True)
    assert desk.accounts.by_key(bob.access_key) == (bob.account, bob.secret)


def test_the_last_administrator_stays(desk: Desk) -> None:
    desk.add("ann")
    desk.add("bob")
    desk.add("cyd", admin=True)
    desk.enable("cyd", False)
    for change in (lambda: desk.enable("ann", False), lambda: desk.remove("ann")):
        with pytest.raises(AccountConflict, match="last administrator"):
            change()
    desk.enable("cyd", True)
    desk.enable("ann", False)
    with pytest.raises(AccountConflict, match="last administrator"):
        desk.remove("cyd")
    desk.remove("ann")
    assert [account.name for account in desk.accounts.list()] == ["bob", "cyd"]


def test_whoever_owns_queues_stays(desk: Desk) -> None:
    desk.add("ann")
    bob = desk.add("bob").account
    desk.queues[bob.id] = [f"q{number}" for number in range(7)]
    with pytest.raises(AccountConflict, match=r"owns queues: q0, q1, q2, q3, q4 and 2 more\. Delete them first"):
        desk.remove("bob")
    desk.queues[bob.id] = ["only"]
    with pytest.raises(AccountConflict, match=r"owns queues: only\. Delete"):
        desk.remove("bob")
    del desk.queues[bob.id]
    desk.topics[bob.id] = ["news"]
    with pytest.raises(AccountConflict, match=r"bob still owns topics: news\. Delete them first\."):
        desk.remove("bob")
    del desk.topics[bob.id]
    desk.remove("bob")
    assert desk.accounts.by_id(bob.id) is None


def test_a_removed_account_leaves_only_its_id(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.add("ann")
    bob = desk.add("bob")
    desk.remove("bob")
    assert desk.accounts.by_key(bob.access_key) is None
    desk.reopen()
    drawn = iter([FIRST_ID, bob.account.id, "123456789012"])
    monkeypatch.setattr("rockdove.core.account.new_id", lambda: next(drawn))
    assert desk.add("bob").account.id == "123456789012"


# The key file, and a store that fails.


def test_without_the_key_file_accounts_are_of_no_use(desk: Desk) -> None:
    desk.add("ann")
    desk.bench.reopen()
    desk.key = MemoryKey()
    with pytest.raises(DataFolderError, match="is missing; put it back from a backup"):
        desk.load()
    desk.key.create()
    with pytest.raises(DataFolderError, match="does not open the secret of the account ann"):
        desk.load()


def test_no_key_is_made_before_it_is_needed(tmp_path: Path) -> None:
    bench = Bench("sqlite", tmp_path)
    desk = Desk(bench, KeyFile(tmp_path))
    assert desk.key.read() is None
    desk.add("ann")
    assert desk.key.read() is not None
    bench.close()


def test_a_key_that_others_can_read_seals_nothing(tmp_path: Path) -> None:
    bench = Bench("sqlite", tmp_path)
    key = KeyFile(tmp_path)
    key.create()
    key.path.chmod(0o644)
    desk = Desk(bench, key)
    with pytest.raises(ServiceUnavailable, match="chmod 600"):
        desk.add("ann")
    assert not desk.accounts.exist
    bench.close()


def test_without_the_key_file_on_disk_nothing_more_is_sealed(tmp_path: Path) -> None:
    bench = Bench("sqlite", tmp_path)
    key = KeyFile(tmp_path)
    desk = Desk(bench, key)
    desk.add("ann")
    kept = key.path.read_bytes()
    key.path.unlink()
    with pytest.raises(ServiceUnavailable, match="is missing; put it back from a backup"):
        desk.add("bob")
    assert not key.path.exists()
    key.create()
    with pytest.raises(ServiceUnavailable, match="is another one than that which was read"):
        desk.add("bob")
    key.path.write_bytes(kept)
    desk.add("bob")
    bench.close()
