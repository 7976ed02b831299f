"""Signed requests over HTTP: boto3's are taken, in the header and in URLs; others get AWS's codes."""

import re
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from rockdove.core.errors import ExposedError
from tests.contract.gate.conftest import NewName, Tenant
from tests.support.dialect import client
from tests.support.raw import Reply, Web, Wire, json_request
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.signing import Plan, by_header, by_url


def fault(reply: Reply) -> tuple[int, str, str]:
    """The status, the code and the text, whichever protocol it is in."""
    if "x-amzn-query-error" in reply.headers:
        return reply.status, reply.headers["x-amzn-query-error"].partition(";")[0], reply.json.get("message", "")
    code, text = (re.search(rf"<{tag}>(.*?)</{tag}>", reply.text, re.DOTALL) for tag in ("Code", "Message"))
    assert code is not None
    assert text is not None
    return reply.status, code[1], text[1]


def send(service: RunningService, plan: Plan) -> Reply:
    """A request as it stands."""
    web = Web(service.port)
    try:
        return web.request(plan.method, plan.target, plan.body, plan.headers)
    finally:
        web.close()


def listing(protocol: str) -> Plan:
    """ListQueues, not signed yet."""
    if protocol == "json":
        headers = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
        return Plan("POST", "/", headers, b"{}")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return Plan("POST", "/", form, b"Action=ListQueues&Version=2012-11-05")


def signed(tenant: Tenant, plan: Plan, at: float | None = None, secret: str | None = None, **options: Any) -> Plan:
    host = f"127.0.0.1:{tenant.service.port}"
    plain = Plan(plan.method, plan.target, {"Host": host, **plan.headers}, plan.body)
    key = options.pop("key", tenant.made.access_key)
    wire = by_header(plain, key, secret or tenant.made.secret, at or time.time(), **options)
    return Plan(wire.method, wire.target, wire.headers, wire.body)


def test_boto3_is_taken_in_both_protocols(alice: Tenant, new_name: NewName, protocol: str) -> None:
    queue = alice.queue(new_name(), protocol)
    queue.send("a ü ~ 𝄞")
    message = queue.receive_one(AttributeNames=["SenderId"])
    assert message["Body"] == "a ü ~ 𝄞"
    assert message["Attributes"]["SenderId"] == alice.id
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)
    assert f"/{alice.id}/" in queue.url


def test_a_presigned_url(alice: Tenant, new_name: NewName) -> None:
    """As generate_presigned_url makes it for Query, on the service's path and on the queue's."""
    queue = alice.queue(new_name(), "query")
    sqs = alice.sqs("query")
    body = "a +b&c=d/ü~*"
    url = sqs.generate_presigned_url(
        "send_message", Params={"QueueUrl": queue.url, "MessageBody": body}, ExpiresIn=60, HttpMethod="GET"
    )
    assert "X-Amz-Signature=" in url
    with urllib.request.urlopen(url) as answer:
        assert b"<SendMessageResult>" in answer.read()
    assert queue.bodies() == [body]
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url.replace("MessageBody=a", "MessageBody=b"))
    assert caught.value.code == 403
    assert b"<Code>SignatureDoesNotMatch</Code>" in caught.value.read()
    caught.value.close()


def test_a_presigned_url_on_the_path_of_a_queue(alice: Tenant, new_name: NewName, guarded: RunningService) -> None:
    queue = alice.queue(new_name())
    host = f"127.0.0.1:{guarded.port}"
    plan = Plan("GET", f"/{alice.id}/{queue.name}?Action=SendMessage&MessageBody=hi%20there", {"Host": host})
    wire = by_url(plan, alice.made.access_key, alice.made.secret, time.time())
    assert send(guarded, Plan("GET", wire.target, wire.headers)).status == 200
    assert queue.bodies() == ["hi there"]
    expired = by_url(plan, alice.made.access_key, alice.made.secret, time.time() - 61)
    status, code, text = fault(send(guarded, Plan("GET", expired.target, expired.headers)))
    assert (status, code) == (403, "SignatureDoesNotMatch")
    assert text.startswith("Signature expired: ")


def test_no_signature(guarded: RunningService, alice: Tenant, protocol: str) -> None:
    assert fault(send(guarded, listing(protocol))) == (
        403,
        "MissingAuthenticationToken",
        "Request is missing Authentication Token",
    )


def test_a_key_that_nobody_has(guarded: RunningService, alice: Tenant, protocol: str) -> None:
    sqs = client(protocol, guarded.endpoint, "RDAKNOBODY", "x")
    with refused("InvalidClientTokenId", "The security token included in the request is invalid.", status=403):
        sqs.list_queues()
    sqs.close()


def test_another_secret(guarded: RunningService, alice: Tenant, protocol: str) -> None:
    sqs = client(protocol, guarded.endpoint, alice.made.access_key, alice.made.secret[:-1])
    with refused("SignatureDoesNotMatch", status=403) as told:
        sqs.list_queues()
    sqs.close()
    assert alice.made.secret[:4] not in told["Message"]


def test_a_broken_signature(guarded: RunningService, alice: Tenant, protocol: str) -> None:
    plan = listing(protocol)
    broken = Plan(plan.method, plan.target, {**plan.headers, "Authorization": "AWS4-HMAC-SHA256 nonsense"}, plan.body)
    assert fault(send(guarded, broken))[:2] == (400, "IncompleteSignature")


def test_a_session_token(guarded: RunningService, alice: Tenant, protocol: str) -> None:
    sqs = client(protocol, guarded.endpoint, alice.made.access_key, alice.made.secret, aws_session_token="temporary")
    with refused("InvalidClientTokenId", status=403) as told:
        sqs.list_queues()
    sqs.close()
    assert "X-Amz-Security-Token" in told["Message"]


@pytest.mark.parametrize(("off", "word"), [(-1_000, "expired"), (1_000, "not yet current")])
def test_a_wrong_clock(alice: Tenant, protocol: str, off: int, word: str) -> None:
    reply = send(alice.service, signed(alice, listing(protocol), time.time() + off))
    status, code, text = fault(reply)
    assert (status, code) == (403, "SignatureDoesNotMatch")
    assert text.startswith(f"Signature {word}: ")
    assert len(re.findall(r"\d{8}T\d{6}Z", text)) == 3


def test_nothing_is_decoded_or_done_before_the_signature_is_checked(alice: Tenant, new_name: NewName) -> None:
    queue = alice.queue(new_name())
    plan = signed(alice, Plan("POST", "/", {"X-Amz-Target": "AmazonSQS.PurgeQueue"}, b'{"QueueUrl": "x"}'))
    for body in (b'{"QueueUrl": "%b"}' % queue.url.encode(), b"nonsense", b""):
        changed = Plan(plan.method, plan.target, plan.headers, body)
        assert fault(send(alice.service, changed))[1] == "SignatureDoesNotMatch"
    unknown = Plan("POST", "/", {"X-Amz-Target": "AmazonSQS.Fly"}, b"{}")
    assert fault(send(alice.service, unknown))[1] == "MissingAuthenticationToken"


def test_each_request_on_a_connection_is_looked_at(alice: Tenant, bob: Tenant, new_name: NewName) -> None:
    """Also those that are sent ahead; whoever was there before lends nobody his name."""
    for tenant in (alice, bob):
        tenant.queue(new_name())
    wire = Wire(alice.service.port)
    try:
        for tenant in (alice, bob):
            plan = signed(tenant, listing("json"))
            lines = [f"{name}: {value}" for name, value in plan.headers.items() if name != "Host"]
            head = json_request("ListQueues", b"{}", *lines).replace(
                b"Host: queue.test", f"Host: 127.0.0.1:{tenant.service.port}".encode()
            )
            # json_request has these by itself.
            head = head.replace(b"X-Amz-Target: AmazonSQS.ListQueues\r\n", b"", 1)
            head = head.replace(b"Content-Type: application/x-amz-json-1.0\r\n", b"", 1)
            wire.send(head + json_request("ListQueues", b"{}"))
            urls = wire.read().json["QueueUrls"]
            assert urls
            assert all(f"/{tenant.id}/" in url for url in urls)
            assert fault(wire.read())[1] == "MissingAuthenticationToken"
    finally:
        wire.close()


def test_any_region_of_the_client(alice: Tenant, guarded: RunningService, protocol: str) -> None:
    sqs = client(protocol, guarded.endpoint, alice.made.access_key, alice.made.secret, region_name="ap-southeast-2")
    sqs.list_queues()
    sqs.close()


def test_health_needs_no_signature(guarded: RunningService, alice: Tenant) -> None:
    assert send(guarded, Plan("GET", "/health")).status == 200


def test_metrics_are_shown_to_who_signs(services: Services, store: str) -> None:
    """Behind a proxy nobody is local."""
    own = services(store, real_time=True, trust_proxy=True)
    tenant = Tenant(own, own.add_account("alice"))
    assert send(own, Plan("GET", "/metrics")).status == 401
    assert send(own, signed(tenant, Plan("GET", "/metrics"))).status == 200
    assert send(own, signed(tenant, Plan("GET", "/metrics"), secret="wrong")).status == 401


# Accounts that change while the service runs.


def test_the_first_account_ends_the_time_of_any_credentials(services: Services, store: str, protocol: str) -> None:
    own = services(store, real_time=True)
    anybody = own.client(protocol)
    url = anybody.create_queue(QueueName="before")["QueueUrl"]
    first = Tenant(own, own.add_account("first"))
    with refused("InvalidClientTokenId", status=403):
        anybody.list_queues()
    # The first account has the queues that were there.
    assert first.sqs(protocol).list_queues()["QueueUrls"] == [url]
    second = Tenant(own, own.add_account("second"))
    assert second.sqs(protocol).list_queues().get("QueueUrls", []) == []
    for tenant in (first, second):
        tenant.close()


def test_a_disabled_account_is_refused_until_it_is_enabled(services: Services, store: str) -> None:
    own = services(store, real_time=True)
    own.add_account("root")
    tenant = Tenant(own, own.add_account("alice"))
    tenant.sqs().list_queues()
    own.run(own.accounts.set_enabled("alice", False))
    with refused("InvalidClientTokenId", status=403):
        tenant.sqs().list_queues()
    own.run(own.accounts.set_enabled("alice", True))
    tenant.sqs().list_queues()
    tenant.close()


def test_both_keys_work_during_a_rotation(services: Services, store: str) -> None:
    own = services(store, real_time=True)
    old = Tenant(own, own.add_account("alice"))
    new = Tenant(own, own.run(own.accounts.rotate("alice")))
    url = old.sqs().create_queue(QueueName="q")["QueueUrl"]
    assert new.sqs().list_queues()["QueueUrls"] == [url]
    own.run(own.accounts.finish_rotation("alice"))
    with refused("InvalidClientTokenId", status=403):
        old.sqs().list_queues()
    assert new.sqs().list_queues()["QueueUrls"] == [url]
    for tenant in (old, new):
        tenant.close()


def test_accounts_and_queues_are_there_after_a_restart(services: Services, new_name: NewName) -> None:
    own = services("sqlite", real_time=True)
    made = own.add_account("alice")
    Tenant(own, made).queue("q").send("kept")
    own.restart()
    tenant = Tenant(own, made)
    url = tenant.sqs().get_queue_url(QueueName="q")["QueueUrl"]
    assert tenant.sqs().receive_message(QueueUrl=url)["Messages"][0]["Body"] == "kept"
    assert fault(send(own, listing("json")))[1] == "MissingAuthenticationToken"
    tenant.close()


# Too many bad signatures.


def bad(tenant: Tenant, protocol: str = "json") -> Plan:
    return signed(tenant, listing(protocol), secret="a guess")


def test_after_twenty_bad_signatures_a_minute_bad_ones_are_throttled_and_good_ones_not(
    services: Services, store: str, protocol: str
) -> None:
    own = services(store, real_time=True)
    tenant = Tenant(own, own.add_account("alice"))
    for _ in range(20):
        assert fault(send(own, bad(tenant, protocol)))[1] == "SignatureDoesNotMatch"
        assert send(own, signed(tenant, listing(protocol))).status == 200
    for _ in range(5):
        status, code, text = fault(send(own, bad(tenant, protocol)))
        assert (status, code) == (403, "RequestThrottled")
        assert "20" in text
        assert fault(send(own, signed(tenant, listing(protocol), key="RDAKOTHER")))[1] == "RequestThrottled"
        assert send(own, signed(tenant, listing(protocol))).status == 200
    # What is not signed at all is no guess.
    assert fault(send(own, listing(protocol)))[1] == "MissingAuthenticationToken"


def test_a_key_that_nobody_has_counts_once(services: Services, store: str) -> None:
    own = services(store, real_time=True)
    tenant = Tenant(own, own.add_account("alice"))
    for _ in range(20):
        assert fault(send(own, signed(tenant, listing("json"), key="RDAKOTHER")))[1] == "InvalidClientTokenId"
    assert fault(send(own, signed(tenant, listing("json"), key="RDAKOTHER")))[1] == "RequestThrottled"


def forwarded(plan: Plan, address: str) -> Plan:
    return Plan(plan.method, plan.target, {**plan.headers, "X-Forwarded-For": address}, plan.body)


@pytest.mark.parametrize("trust", [True, False])
def test_behind_a_trusted_proxy_the_clients_address_counts(services: Services, store: str, trust: bool) -> None:
    own = services(store, real_time=True, trust_proxy=trust)
    tenant = Tenant(own, own.add_account("alice"))
    for number in range(20):
        # Only what the nearest proxy says is believed.
        assert fault(send(own, forwarded(bad(tenant), f"10.9.9.{number}, 10.0.0.1")))[1] == "SignatureDoesNotMatch"
    assert fault(send(own, forwarded(bad(tenant), "10.0.0.1")))[1] == "RequestThrottled"
    other = fault(send(own, forwarded(bad(tenant), "10.0.0.2")))[1]
    assert other == ("SignatureDoesNotMatch" if trust else "RequestThrottled")


def test_a_proxy_may_change_the_host(services: Services, store: str) -> None:
    own = services(store, real_time=True, trust_proxy=True)
    tenant = Tenant(own, own.add_account("alice"))
    plan = listing("json")
    outside = Plan(plan.method, plan.target, {**plan.headers, "Host": "queue.example.test:8443"}, plan.body)
    wire = by_header(outside, tenant.made.access_key, tenant.made.secret, time.time())
    inside = {**wire.headers, "Host": "127.0.0.1", "X-Forwarded-Host": "queue.example.test"}
    told: Callable[[dict[str, str]], int] = lambda headers: send(own, Plan("POST", "/", headers, plan.body)).status  # noqa: E731
    assert told({**inside, "X-Forwarded-Port": "8443"}) == 200
    assert told({**inside, "X-Forwarded-Host": "queue.example.test:8443"}) == 200
    assert told(inside) == 403


# Addresses that others can reach.


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_with_accounts_any_address_will_do(services: Services, store: str, host: str) -> None:
    """Without listening there, which is not for tests."""
    own = services(store, real_time=True)
    listening, own.settings.host = own.settings.host, host
    with pytest.raises(ExposedError):
        own.run(own.check_exposed())
    own.add_account("first")
    own.run(own.check_exposed())
    own.settings.host = listening
