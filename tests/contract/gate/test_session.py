"""Signing in with a password, and what the session token that it gives is good for."""

from collections.abc import Iterator
from itertools import count

import pytest

from rockdove.broker.session import TOKEN_S
from rockdove.client import Bearer, Client, Credentials, Nobody
from rockdove.core.errors import AccessDenied, Fault, InvalidClientTokenId, RequestThrottled, UnsupportedOperation
from rockdove.server.signin import MOST_WRONG
from tests.contract.gate.conftest import NewName, Tenant
from tests.support.raw import Web
from tests.support.service import RunningService, Services

PASSWORD = "correct horse"
# Tokens that are nobody's come from addresses of their own: twenty a minute lock one out.
_LAST_BYTE = count(2)


@pytest.fixture
def anybody(guarded: RunningService, root: Tenant) -> Iterator[Client]:
    """Who has no key. There is an administrator already."""
    with Client(guarded.endpoint, credentials=Nobody(), retry=None) as client:
        yield client


@pytest.fixture
def office(root: Tenant) -> Iterator[Client]:
    """The administrator's."""
    keys = Credentials(root.made.access_key, root.made.secret)
    with Client(root.service.endpoint, credentials=keys, retry=None) as client:
        yield client


def session(service: RunningService, token: str) -> Client:
    return Client(service.endpoint, credentials=Bearer(token), retry=None)


def refusal(service: RunningService, token: str, target: str) -> str:
    """The code of the error."""
    web = Web(service.port, address=f"127.0.9.{next(_LAST_BYTE)}")
    try:
        reply = web.call(target, {}, {"Authorization": f"Bearer {token}"})
    finally:
        web.close()
    code: str = reply.json["__type"]
    return code.rpartition("#")[2]


def new_account(service: RunningService, new_name: NewName) -> str:
    name = new_name()
    service.add_account(name, password=PASSWORD)
    return name


def test_a_password_gives_a_session(guarded: RunningService, anybody: Client, new_name: NewName) -> None:
    name = new_account(guarded, new_name)
    signed_in = anybody.sign_in(name.upper(), PASSWORD)
    assert (signed_in.account_name, signed_in.admin) == (name, False)
    assert 0 < signed_in.expires_timestamp - guarded.now_s <= TOKEN_S
    with session(guarded, signed_in.session_token) as own:
        url = own.create_queue("mine")
        assert signed_in.account_id in url
        assert own.list_queues() == [url]
        renewed = own.renew_session()
        assert renewed.expires_timestamp >= signed_in.expires_timestamp
        with pytest.raises(AccessDenied):
            own.list_accounts()
    with session(guarded, renewed.session_token) as own:
        assert own.list_queues() == [url]


def test_who_is_nobody_learns_nothing(guarded: RunningService, anybody: Client, new_name: NewName) -> None:
    told = []
    for name, password in ((new_account(guarded, new_name), "wrong horse"), (new_name(), PASSWORD)):
        with pytest.raises(AccessDenied) as failed:
            anybody.sign_in(name, password)
        told.append(failed.value.message)
    assert told == ["The account name or the password is wrong."] * 2
    with pytest.raises(Fault):
        anybody.list_queues()


def test_an_account_without_a_password_cannot_sign_in(guarded: RunningService, anybody: Client, alice: Tenant) -> None:
    for password in ("", "None"):
        with pytest.raises(AccessDenied):
            anybody.sign_in("alice", password)


def test_too_many_wrong_passwords_lock_the_account(guarded: RunningService, anybody: Client, new_name: NewName) -> None:
    name, other = new_account(guarded, new_name), new_account(guarded, new_name)
    for _ in range(MOST_WRONG):
        with pytest.raises(AccessDenied):
            anybody.sign_in(name, "wrong horse")
    # The right one, too: who guesses must not learn that it was right.
    with pytest.raises(RequestThrottled, match="Try again in 5 minutes"):
        anybody.sign_in(name, PASSWORD)
    assert anybody.sign_in(other, PASSWORD).account_name == other


@pytest.mark.parametrize("what", ["password", "disabled", "removed"])
def test_a_session_ends_with_its_account(
    guarded: RunningService, anybody: Client, office: Client, new_name: NewName, what: str
) -> None:
    name = new_account(guarded, new_name)
    token = anybody.sign_in(name, PASSWORD).session_token
    with session(guarded, token) as own:
        own.list_queues()
        if what == "password":
            office.set_account_password(name, "another horse")
        elif what == "disabled":
            office.set_account_state(name, "disabled")
        else:
            office.remove_account(name)
    for target in ("ListQueues", "Rockdove.RenewSession"):
        assert refusal(guarded, token, target) == "UnrecognizedClientException"


def test_only_a_session_is_renewed(alice: Tenant, office: Client) -> None:
    with pytest.raises(InvalidClientTokenId, match="Only a session can be renewed"):
        office.renew_session()
    token = office.add_account_token("alice").token
    with session(alice.service, token) as device, pytest.raises(InvalidClientTokenId):
        device.renew_session()


def test_a_token_that_was_changed_is_nobodys(guarded: RunningService, anybody: Client, new_name: NewName) -> None:
    token = anybody.sign_in(new_account(guarded, new_name), PASSWORD).session_token
    at = len(token) // 2
    changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
    for wrong in (changed, "rs_", "rs_" + "A" * 40):
        assert refusal(guarded, wrong, "ListQueues") == "UnrecognizedClientException"


def test_a_service_without_accounts_needs_no_signing_in(services: Services, store: str) -> None:
    service = services.shared(store)
    with (
        Client(service.endpoint, credentials=Nobody(), retry=None) as client,
        pytest.raises(UnsupportedOperation, match="no accounts"),
    ):
        client.sign_in("root", PASSWORD)
