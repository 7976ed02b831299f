"""Whose key is taken for what, with signatures that the service checks."""

import pytest

from rockdove.client import Client, Credentials
from rockdove.core.errors import AccessDenied, Fault, InvalidClientTokenId, SignatureDoesNotMatch
from rockdove.wire.account import AddAccountResult, RotateAccountKeyResult
from tests.contract.client.conftest import Start
from tests.support.server import STORES
from tests.support.service import RunningService


class Office:
    """A service with the account of ann, who is an administrator, and that of bob, who is not."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        with Client(service.endpoint) as anybody:
            anybody.create_queue("before")
            self.ann = anybody.add_account("ann")
        with self.client(self.ann) as ann:
            self.bob = ann.add_account("bob")

    def client(self, made: AddAccountResult | RotateAccountKeyResult) -> Client:
        return Client(self.service.endpoint, credentials=Credentials(made.access_key, made.secret_key), retry=None)


@pytest.fixture(params=STORES)
def office(request: pytest.FixtureRequest, start: Start) -> Office:
    return Office(start(request.param))


def test_from_the_first_account_on_strangers_are_refused(office: Office) -> None:
    with Client(office.service.endpoint, retry=None) as stranger:
        for ask in (stranger.list_queues, stranger.list_accounts, lambda: stranger.add_account("eve", admin=True)):
            # The test's environment has credentials that no account has.
            with pytest.raises(InvalidClientTokenId):
                ask()
    with office.client(office.ann) as ann:
        assert [account.account_name for account in ann.list_accounts()] == ["ann", "bob"]


def test_the_first_account_has_the_queues_of_before(office: Office) -> None:
    with office.client(office.ann) as ann, office.client(office.bob) as bob:
        assert [url.rpartition("/")[2] for url in ann.list_queues()] == ["before"]
        assert bob.list_queues() == []


def test_who_is_no_administrator_changes_no_account(office: Office) -> None:
    with office.client(office.bob) as bob:
        bob.create_queue("jobs")
        for ask in (
            bob.list_accounts,
            lambda: bob.add_account("eve"),
            lambda: bob.set_account_password("ann", "correct horse"),
            lambda: bob.rotate_account_key("ann"),
            lambda: bob.finish_account_rotation("ann"),
            lambda: bob.set_account_state("ann", "disabled"),
            lambda: bob.remove_account("ann"),
            # Nor his own.
            lambda: bob.rotate_account_key("bob"),
        ):
            with pytest.raises(AccessDenied, match="Only an administrator"):
                ask()


def test_a_disabled_account_is_out_at_once_and_in_again(office: Office) -> None:
    with office.client(office.ann) as ann, office.client(office.bob) as bob:
        bob.create_queue("jobs")
        ann.set_account_state("bob", "disabled")
        with pytest.raises(InvalidClientTokenId):
            bob.list_queues()
        ann.set_account_state("bob", "enabled")
        assert len(bob.list_queues()) == 1


def test_two_keys_work_until_one_is_retired(office: Office) -> None:
    with office.client(office.ann) as ann, office.client(office.bob) as old:
        old.create_queue("jobs")
        with office.client(ann.rotate_account_key("bob")) as new:
            assert len(old.list_queues()) == len(new.list_queues()) == 1
            ann.finish_account_rotation("bob")
            assert len(new.list_queues()) == 1
            with pytest.raises(InvalidClientTokenId):
                old.list_queues()


def test_a_secret_is_that_of_its_key_only(office: Office) -> None:
    mixed = Credentials(office.ann.access_key, office.bob.secret_key)
    with Client(office.service.endpoint, credentials=mixed, retry=None) as client, pytest.raises(SignatureDoesNotMatch):
        client.list_accounts()


def test_an_account_is_removed_once_its_queues_are(office: Office) -> None:
    with office.client(office.ann) as ann, office.client(office.bob) as bob:
        bob.create_queue("jobs")
        with pytest.raises(Fault, match="bob still owns queues: jobs"):
            ann.remove_account("bob")
        bob.delete_queue("jobs")
        ann.remove_account("bob")
        with pytest.raises(InvalidClientTokenId):
            bob.list_queues()
