"""Accounts, through both clients."""

from collections.abc import Iterator

import pytest

from rockdove.client import Client, Credentials
from rockdove.core.errors import AccountConflict, AccountExists, InvalidParameterValue, NoSuchAccount
from tests.contract.client.conftest import Start
from tests.unit.client.caller import KINDS, caller


@pytest.fixture(params=KINDS)
def ann(request: pytest.FixtureRequest, start: Start) -> Iterator[Client]:
    """A client with the key of the first account of a service of its own."""
    own = start("memory")
    with Client(own.endpoint) as anybody:
        made = anybody.add_account("ann")
    with caller(request.param, own.endpoint, credentials=Credentials(made.access_key, made.secret_key)) as client:
        yield client


def test_accounts_are_added_changed_and_removed(ann: Client) -> None:
    bob = ann.add_account("bob", admin=True, password="correct horse")
    listed = {account.account_name: account for account in ann.list_accounts()}
    assert listed["bob"].account_id == bob.account_id
    assert (listed["bob"].admin, listed["bob"].has_password, listed["bob"].state) == (True, True, "enabled")
    ann.set_account_password("bob", "another one")
    ann.set_account_state("bob", "disabled")
    assert ann.list_accounts()[1].state == "disabled"
    ann.remove_account("bob")
    assert [account.account_name for account in ann.list_accounts()] == ["ann"]


def test_a_key_is_replaced(ann: Client) -> None:
    bob = ann.add_account("bob")
    new = ann.rotate_account_key("bob")
    assert new.old_access_key == bob.access_key
    assert [key.access_key for key in ann.list_accounts()[1].keys] == [bob.access_key, new.access_key]
    assert ann.finish_account_rotation("bob", cancel=True).retired_access_key == new.access_key
    newer = ann.rotate_account_key("bob")
    assert ann.finish_account_rotation("bob").access_key == newer.access_key


def test_faults_come_as_they_were_raised(ann: Client) -> None:
    with pytest.raises(AccountExists):
        ann.add_account("ANN")
    with pytest.raises(AccountConflict):
        ann.remove_account("ann")
    with pytest.raises(NoSuchAccount):
        ann.rotate_account_key("bob")
    with pytest.raises(InvalidParameterValue):
        ann.set_account_password("ann", "short")
