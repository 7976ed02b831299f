"""Access tokens, and names with secret keys: for those who cannot sign, over all protocols."""

import base64
from collections.abc import Iterator
from itertools import count

import pytest

from rockdove.client import Basic, Bearer, Client, Credentials
from rockdove.core.account import MAX_TOKENS
from rockdove.core.errors import AccessDenied, AccountConflict, Fault, NoSuchToken
from tests.contract.gate.conftest import NewName, Tenant
from tests.support.raw import Web
from tests.support.service import Services
from tests.support.sqs_queue import SqsQueue

# Each test comes from an address of its own: twenty wrong tokens a minute lock one out.
_LAST_BYTE = count(2)


@pytest.fixture
def office(root: Tenant) -> Iterator[Client]:
    """The administrator's."""
    keys = Credentials(root.made.access_key, root.made.secret)
    with Client(root.service.endpoint, credentials=keys, retry=None) as client:
        yield client


@pytest.fixture
def web(root: Tenant) -> Iterator[Web]:
    made = Web(root.service.port, address=f"127.0.8.{next(_LAST_BYTE)}")
    yield made
    made.close()


@pytest.fixture
def queue(alice: Tenant, new_name: NewName) -> SqsQueue:
    return alice.queue(new_name())


@pytest.fixture
def token(office: Client) -> Iterator[str]:
    """Alice's."""
    made = office.add_account_token("alice", label="greenhouse")
    yield made.token
    office.remove_account_token("alice", made.token_id)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def basic(name: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


def path(queue: SqsQueue, query: str = "") -> str:
    return f"/v1/queues/{queue.name}/messages{query}"


def test_a_token_does_what_its_account_may(
    web: Web, token: str, queue: SqsQueue, alice: Tenant, bob: Tenant, new_name: NewName
) -> None:
    assert web.request("POST", path(queue), b"x", bearer(token)).status == 201
    [message] = web.request("GET", path(queue), b"", bearer(token)).json["Messages"]
    assert message["Body"] == "x"
    gone = web.request("DELETE", f"{path(queue)}/{message['ReceiptHandle'].replace('/', '%2F')}", b"", bearer(token))
    assert gone.status == 200
    others = bob.queue(new_name())
    assert web.request("POST", path(others), b"x", bearer(token)).status == 404
    reply = web.request("POST", path(others, f"?account={bob.id}"), b"x", bearer(token))
    assert (reply.status, reply.json["Error"]["Code"]) == (403, "AccessDenied")
    others.sqs.add_permission(QueueUrl=others.url, Label="a", AWSAccountIds=[alice.id], Actions=["SendMessage"])
    assert web.request("POST", path(others, f"?account={bob.id}"), b"x", bearer(token)).status == 201


def test_also_with_the_operations_of_sqs(web: Web, token: str, queue: SqsQueue, alice: Tenant) -> None:
    sent = web.call("SendMessage", {"QueueUrl": queue.url, "MessageBody": "json"}, bearer(token))
    assert sent.status == 200
    form = web.post("/", bearer(token), Action="SendMessage", QueueUrl=queue.url, MessageBody="query")
    assert form.status == 200
    for credentials in (Bearer(token), Basic("alice", alice.made.secret), Basic("alice", token)):
        with Client(alice.service.endpoint, credentials=credentials) as client:
            client.send(queue.url, "client")
    assert sorted(queue.bodies()) == ["client", "client", "client", "json", "query"]


def test_a_name_with_a_secret_key(web: Web, queue: SqsQueue, alice: Tenant, token: str) -> None:
    key, secret = alice.made.access_key, alice.made.secret
    for name, password in (("alice", secret), ("ALICE", secret), (key, secret), ("alice", token)):
        assert web.request("POST", path(queue), b"x", basic(name, password)).status == 201
    for name, password in (("alice", "x"), ("bob", secret), ("bob", token), ("", secret), ("nobody", "")):
        assert web.request("POST", path(queue), b"x", basic(name, password)).status == 401


NOBODY = ["Bearer x", "Bearer rd_aaaaaaaaaaaa_" + "x" * 32, "Basic ?", "Basic eDp5", "Digest x", "", "AWS4-HMAC-SHA256"]


@pytest.mark.parametrize("header", NOBODY)
def test_who_is_nobody(web: Web, queue: SqsQueue, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    reply = web.request("POST", path(queue), b"x", headers)
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert reply.json["Error"]["Message"]
    assert queue.counts() == (0, 0, 0)


def test_a_token_that_is_removed(office: Client, web: Web, queue: SqsQueue) -> None:
    made = office.add_account_token("alice")
    assert web.request("POST", path(queue), b"x", bearer(made.token)).status == 201
    office.remove_account_token("alice", made.token_id)
    assert web.request("POST", path(queue), b"x", bearer(made.token)).status == 401
    with pytest.raises(NoSuchToken):
        office.remove_account_token("alice", made.token_id)


def test_a_disabled_account_has_no_tokens(office: Client, web: Web, queue: SqsQueue, token: str) -> None:
    office.set_account_state("alice", "disabled")
    try:
        assert web.request("POST", path(queue), b"x", bearer(token)).status == 401
    finally:
        office.set_account_state("alice", "enabled")
    assert web.request("POST", path(queue), b"x", bearer(token)).status == 201


def test_tokens_are_listed_without_their_secrets(office: Client, token: str) -> None:
    [alice] = [account for account in office.list_accounts() if account.account_name == "alice"]
    [listed] = [each for each in alice.tokens if each.token_id == token.split("_")[1]]
    assert listed.label == "greenhouse"
    assert token.split("_")[2] not in repr(alice)


def test_only_administrators_make_them(bob: Tenant, office: Client) -> None:
    keys = Credentials(bob.made.access_key, bob.made.secret)
    with Client(bob.service.endpoint, credentials=keys, retry=None) as client, pytest.raises(AccessDenied):
        client.add_account_token("bob")
    with pytest.raises(Fault, match="label"):
        office.add_account_token("bob", label="x" * 65)


def test_how_many_there_may_be(office: Client, new_name: NewName) -> None:
    name = f"many-{new_name()}"
    office.add_account(name)
    for _ in range(MAX_TOKENS):
        office.add_account_token(name)
    with pytest.raises(AccountConflict, match="tokens already"):
        office.add_account_token(name)
    office.remove_account(name)


def test_guessing_is_throttled(services: Services) -> None:
    own = services("memory", real_time=True)
    own.add_account("root")
    web = Web(own.port)
    tokens = [f"rd_aaaaaaaaaaaa_{number:032d}" for number in range(25)]
    statuses = [web.request("POST", "/v1/queues/x/messages", b"x", bearer(each)).status for each in tokens]
    assert statuses == [401] * 20 + [403] * 5
    web.close()
