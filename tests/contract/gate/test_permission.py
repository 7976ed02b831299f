"""Between accounts: what one may do with another's queue, by default and by its policy, in both protocols."""

import base64
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import replace

from rockdove.broker.receive import Receive
from rockdove.client import Client, Credentials
from rockdove.core.errors import Fault
from tests.contract.gate.conftest import NewName, Tenant
from tests.support.raw import Web
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.signing import Plan, by_header
from tests.support.sqs_queue import SqsQueue, redrive

# Every operation on a queue that its owner may share, by the action that a policy names: as the caller tries it.
SHARED: dict[str, list[Callable[[SqsQueue], Any]]] = {
    "SendMessage": [
        lambda queue: queue.send("from outside"),
        lambda queue: queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=[{"Id": "a", "MessageBody": "b"}]),
    ],
    "ReceiveMessage": [lambda queue: queue.receive()],
    "DeleteMessage": [
        lambda queue: queue.sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=HANDLE[queue.url]),
        lambda queue: queue.sqs.delete_message_batch(
            QueueUrl=queue.url, Entries=[{"Id": "a", "ReceiptHandle": HANDLE[queue.url]}]
        ),
    ],
    "ChangeMessageVisibility": [
        lambda queue: queue.sqs.change_message_visibility(
            QueueUrl=queue.url, ReceiptHandle=HANDLE[queue.url], VisibilityTimeout=100
        ),
        lambda queue: queue.sqs.change_message_visibility_batch(
            QueueUrl=queue.url, Entries=[{"Id": "a", "ReceiptHandle": HANDLE[queue.url], "VisibilityTimeout": 100}]
        ),
    ],
    "GetQueueAttributes": [lambda queue: queue.attributes("All")],
    "GetQueueUrl": [
        lambda queue: queue.sqs.get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId=queue.url.rsplit("/", 2)[1])
    ],
    "ListDeadLetterSourceQueues": [lambda queue: queue.sqs.list_dead_letter_source_queues(QueueUrl=queue.url)],
    "PurgeQueue": [lambda queue: queue.sqs.purge_queue(QueueUrl=queue.url)],
}
# And those that stay the owner's, whatever the policy says.
OWNERS: dict[str, Callable[[SqsQueue], Any]] = {
    "AddPermission": lambda queue: queue.sqs.add_permission(
        QueueUrl=queue.url, Label="x", AWSAccountIds=["222222222222"], Actions=["SendMessage"]
    ),
    "RemovePermission": lambda queue: queue.sqs.remove_permission(QueueUrl=queue.url, Label="x"),
    "SetQueueAttributes": lambda queue: queue.set(VisibilityTimeout="1"),
    "DeleteQueue": lambda queue: queue.sqs.delete_queue(QueueUrl=queue.url),
    "TagQueue": lambda queue: queue.sqs.tag_queue(QueueUrl=queue.url, Tags={"a": "b"}),
    "UntagQueue": lambda queue: queue.sqs.untag_queue(QueueUrl=queue.url, TagKeys=["a"]),
    "ListQueueTags": lambda queue: queue.sqs.list_queue_tags(QueueUrl=queue.url),
    "StartMessageMoveTask": lambda queue: queue.sqs.start_message_move_task(SourceArn=_arn(queue)),
    "ListMessageMoveTasks": lambda queue: queue.sqs.list_message_move_tasks(SourceArn=_arn(queue)),
}
# A handle of a message in flight, by the queue's URL.
HANDLE: dict[str, str] = {}


def _arn(queue: SqsQueue) -> str:
    account, name = queue.url.rsplit("/", 2)[1:]
    return f"arn:aws:sqs:us-east-1:{account}:{name}"


def _policy(queue: SqsQueue, *statements: dict[str, Any]) -> str:
    base = {"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": queue.arn}
    whole = [base | each for each in statements]
    return json.dumps({"Version": "2012-10-17", "Statement": whole})


def _with_message(queue: SqsQueue) -> SqsQueue:
    queue.send("held")
    HANDLE[queue.url] = queue.receive_one(VisibilityTimeout=600)["ReceiptHandle"]
    return queue


def _denied(act: Callable[[SqsQueue], Any], queue: SqsQueue) -> str:
    """What the refusal says, without the queue's name."""
    with pytest.raises(ClientError) as caught:
        act(queue)
    error, metadata = caught.value.response["Error"], caught.value.response["ResponseMetadata"]
    text = error["Message"].replace(queue.name, "NAME")
    return f"{metadata['HTTPStatusCode']} {error['Code']}: {text}"


def _is_denial(told: str) -> bool:
    return told.startswith(("403 AccessDenied: Access to the resource ", "400 AWS.SimpleQueueService.NonExistentQueue"))


def _try(act: Callable[[SqsQueue], Any], queue: SqsQueue) -> None:
    """Whatever the operation thinks of it, it was not access that was denied."""
    code = ""
    try:
        act(queue)
    except ClientError as error:
        code = error.response["Error"]["Code"]
    assert code not in ("AccessDenied", "AWS.SimpleQueueService.NonExistentQueue")


# The matrix.


@pytest.mark.parametrize("action", [*SHARED, *OWNERS])
def test_without_a_policy_others_may_nothing_and_learn_nothing(
    alice: Tenant, bob: Tenant, root: Tenant, new_name: NewName, protocol: str, action: str
) -> None:
    """Nor an administrator: he looks after accounts, not after what they have."""
    queue = _with_message(alice.queue(new_name(), protocol))
    absent = SqsQueue(queue.sqs, f"{queue.url.rpartition('/')[0]}/{new_name()}")
    HANDLE[absent.url] = HANDLE[queue.url]
    for act in SHARED.get(action) or [OWNERS[action]]:
        for tenant in (bob, root):
            told = _denied(act, tenant.view(queue, protocol))
            assert _is_denial(told), told
            assert told == _denied(act, tenant.view(absent, protocol))
    assert queue.counts() == (0, 1, 0)


@pytest.mark.parametrize("action", SHARED)
def test_one_action_for_one_account(
    alice: Tenant, bob: Tenant, carol: Tenant, new_name: NewName, protocol: str, action: str
) -> None:
    """By AddPermission, as everybody would do it; taken back by RemovePermission."""
    queue = _with_message(alice.queue(new_name(), protocol))
    queue.sqs.add_permission(QueueUrl=queue.url, Label="bob", AWSAccountIds=[bob.id], Actions=[action])
    for other, acts in SHARED.items():
        for act in acts:
            assert _is_denial(_denied(act, carol.view(queue, protocol)))
            if other != action:
                assert _is_denial(_denied(act, bob.view(queue, protocol)))
    for act in SHARED[action]:
        _try(act, bob.view(queue, protocol))
    queue.sqs.remove_permission(QueueUrl=queue.url, Label="bob")
    for act in SHARED[action]:
        assert _is_denial(_denied(act, bob.view(queue, protocol)))


@pytest.mark.parametrize("action", OWNERS)
def test_what_is_the_owners_is_not_shared_by_any_policy(
    alice: Tenant, bob: Tenant, new_name: NewName, protocol: str, action: str
) -> None:
    queue = alice.queue(new_name(), protocol)
    queue.set(Policy=_policy(queue, {}))
    assert _is_denial(_denied(OWNERS[action], bob.view(queue, protocol)))
    _try(OWNERS[action], queue)


def test_messages_of_another_account(alice: Tenant, bob: Tenant, new_name: NewName, protocol: str) -> None:
    """Sent, received and deleted across accounts; the sender is who sent."""
    queue = alice.queue(new_name(), protocol)
    queue.set(Policy=_policy(queue, {"Principal": {"AWS": bob.arn}}))
    theirs = bob.view(queue, protocol)
    theirs.send("from bob")
    theirs.sqs.send_message_batch(QueueUrl=queue.url, Entries=[{"Id": "a", "MessageBody": "bob again"}])
    queue.send("from alice")
    received = theirs.receive(AttributeNames=["SenderId"])
    assert sorted((message["Body"], message["Attributes"]["SenderId"]) for message in received) == [
        ("bob again", bob.id),
        ("from alice", alice.id),
        ("from bob", bob.id),
    ]
    for message in received:
        theirs.delete(message)
    assert queue.counts() == (0, 0, 0)


# Lists and names.


def test_each_account_has_names_of_its_own(alice: Tenant, bob: Tenant, new_name: NewName, protocol: str) -> None:
    name = new_name()
    hers, his = alice.queue(name, protocol), bob.queue(name, protocol)
    assert (hers.url.rsplit("/", 2)[1], his.url.rsplit("/", 2)[1]) == (alice.id, bob.id)
    hers.send("for alice")
    assert his.bodies() == []
    for queue in (hers, his):
        assert queue.sqs.get_queue_url(QueueName=name)["QueueUrl"] == queue.url
        assert queue.sqs.list_queues(QueueNamePrefix=name)["QueueUrls"] == [queue.url]
        assert queue.arn.split(":")[4:] == [queue.url.rsplit("/", 2)[1], name]
    # A queue's name alone is the caller's queue.
    assert SqsQueue(hers.sqs, name).bodies() == ["for alice"]


def test_a_list_has_no_queue_of_others_not_even_of_those_who_share(
    alice: Tenant, bob: Tenant, root: Tenant, new_name: NewName, protocol: str
) -> None:
    queue = alice.queue(new_name(), protocol)
    queue.set(Policy=_policy(queue, {}))
    for tenant in (bob, root):
        assert tenant.sqs(protocol).list_queues(QueueNamePrefix=queue.name).get("QueueUrls", []) == []


def test_the_url_of_anothers_queue(alice: Tenant, bob: Tenant, new_name: NewName, protocol: str) -> None:
    queue = alice.queue(new_name(), protocol)
    text = "The specified queue does not exist or you do not have access to it."
    for name in (queue.name, new_name()):
        with refused("AWS.SimpleQueueService.NonExistentQueue", text):
            bob.sqs(protocol).get_queue_url(QueueName=name, QueueOwnerAWSAccountId=alice.id)
    queue.set(Policy=_policy(queue, {"Action": "sqs:GetQueueUrl"}))
    found = bob.sqs(protocol).get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId=alice.id)
    assert found["QueueUrl"] == queue.url


def test_ones_own_queue_that_is_not_there(alice: Tenant, new_name: NewName, protocol: str) -> None:
    url = f"{alice.service.endpoint}/{alice.id}/{new_name()}"
    for absent in (url, new_name()):
        with refused("AWS.SimpleQueueService.NonExistentQueue"):
            alice.view(SqsQueue(None, absent), protocol).send()
    with refused("AWS.SimpleQueueService.NonExistentQueue"):
        alice.sqs(protocol).get_queue_url(QueueName=new_name())


# Policies.


def test_a_deny_wins_also_over_the_owner_who_can_repair_it(
    alice: Tenant, bob: Tenant, new_name: NewName, protocol: str
) -> None:
    queue = alice.queue(new_name(), protocol)
    queue.set(Policy=_policy(queue, {}, {"Effect": "Deny", "Sid": "shut"}))
    for tenant in (alice, bob):
        with refused("AccessDenied", status=403):
            tenant.view(queue, protocol).send()
    with refused("AccessDenied", status=403) as told:
        queue.sqs.tag_queue(QueueUrl=queue.url, Tags={"a": "b"})
    assert "policy" in told["Message"]
    assert "shut" in queue.attributes("Policy")["Policy"]
    queue.sqs.remove_permission(QueueUrl=queue.url, Label="shut")
    bob.view(queue, protocol).send()
    queue.set(Policy=_policy(queue, {"Effect": "Deny"}))
    queue.set(Policy="")
    queue.send()
    with refused("AccessDenied", status=403):
        bob.view(queue, protocol).send()
    queue.set(Policy=_policy(queue, {"Effect": "Deny"}))
    queue.sqs.delete_queue(QueueUrl=queue.url)


def test_conditions_on_where_a_request_comes_from(alice: Tenant, bob: Tenant, new_name: NewName, protocol: str) -> None:
    queue = alice.queue(new_name(), protocol)
    theirs = bob.view(queue, protocol)
    for address, allowed in (("127.0.0.0/8", True), ("192.0.2.0/24", False)):
        queue.set(Policy=_policy(queue, {"Condition": {"IpAddress": {"aws:SourceIp": address}}}))
        if allowed:
            theirs.send()
        else:
            with refused("AccessDenied", status=403):
                theirs.send()
    queue.set(Policy=_policy(queue, {"Condition": {"StringEquals": {"aws:PrincipalAccount": bob.id}}}))
    theirs.send()
    queue.set(Policy=_policy(queue, {}, {"Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}))
    with refused("AccessDenied", status=403):
        theirs.send()


def test_what_could_not_be_kept_to_is_refused(alice: Tenant, new_name: NewName, protocol: str) -> None:
    queue = alice.queue(new_name(), protocol)
    with refused("InvalidAttributeValue") as told:
        queue.set(Policy=_policy(queue, {"Condition": {"StringMatches": {"aws:PrincipalAccount": "1"}}}))
    assert "StringMatches" in told["Message"]
    assert queue.attributes("Policy") == {}


def test_what_is_not_ours_is_kept_as_given_and_grants_nothing(
    alice: Tenant, bob: Tenant, new_name: NewName, protocol: str
) -> None:
    queue = alice.queue(new_name(), protocol)
    for elements in (
        {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
        {"Principal": {"AWS": "arn:aws:iam::123456789012:role/elsewhere"}},
        {"Resource": "arn:aws:sns:us-east-1:123456789012:topic"},
    ):
        written = _policy(queue, elements)
        queue.set(Policy=written)
        assert queue.attributes("Policy") == {"Policy": written}
        with refused("AccessDenied", status=403):
            bob.view(queue).send()


def test_a_name_that_stands_twice_in_a_policy(alice: Tenant, new_name: NewName) -> None:
    queue = alice.queue(new_name())
    text = _policy(queue, {"Effect": "Allow"}).replace('"Effect": "Allow"', '"Effect": "Deny", "Effect": "Allow"')
    assert text.count("Effect") == 2
    with refused("InvalidAttributeValue") as told:
        queue.set(Policy=text)
    assert "Effect stands twice" in told["Message"]


def test_who_waits_when_the_permission_is_taken_away_gets_nothing_more(
    alice: Tenant, bob: Tenant, new_name: NewName
) -> None:
    queue = alice.queue(new_name())
    queue.set(Policy=_policy(queue, {"Principal": {"AWS": bob.arn}}))
    with ThreadPoolExecutor(1) as aside:
        waiting = aside.submit(bob.view(queue).receive, WaitTimeSeconds=20)
        _wait_for_waiters(alice.service, 1)
        queue.set(Policy="")
        queue.send("not for bob")
        assert waiting.result(15) == []
    assert [message["Body"] for message in queue.receive()] == ["not for bob"]


def test_who_waits_when_the_account_is_disabled_gets_nothing_more(
    root: Tenant, guarded: RunningService, new_name: NewName
) -> None:
    name = new_name().replace("_", "-")
    dave = Tenant(guarded, guarded.add_account(name))
    queue = dave.queue(new_name())
    with ThreadPoolExecutor(1) as aside:
        waiting = aside.submit(queue.receive, WaitTimeSeconds=20)
        _wait_for_waiters(guarded, 1)
        with _administrator(root) as administrator:
            administrator.set_account_state(name, "disabled")
        assert waiting.result(15) == []
    dave.close()


def test_who_waits_when_a_key_is_retired_gets_nothing_more(
    root: Tenant, guarded: RunningService, new_name: NewName
) -> None:
    name = new_name().replace("_", "-")
    dave = Tenant(guarded, guarded.add_account(name))
    queue = dave.queue(new_name())
    with ThreadPoolExecutor(1) as aside, _administrator(root) as administrator:
        administrator.rotate_account_key(name)
        waiting = aside.submit(queue.receive, WaitTimeSeconds=20)
        _wait_for_waiters(guarded, 1)
        administrator.finish_account_rotation(name)
        assert waiting.result(15) == []
    dave.close()


def test_who_waits_without_an_account_when_the_first_is_made_gets_nothing_more(services: Services, store: str) -> None:
    service = services(store, real_time=True)
    sqs = service.client()
    url = sqs.create_queue(QueueName="open")["QueueUrl"]
    queue = SqsQueue(sqs, url)
    with ThreadPoolExecutor(2) as aside, Client(service.endpoint) as client:
        receive = aside.submit(queue.receive, WaitTimeSeconds=20)
        lease = aside.submit(client.lease_batch, url, "reader", 0, 0, wait_s=20)
        _wait_for_waiters(service, 2)
        service.add_account("root")
        assert receive.result(15) == []
        with pytest.raises(Fault):
            lease.result(15)


def test_who_looks_for_messages_when_the_permission_is_taken_away_does_not_wait(
    alice: Tenant, bob: Tenant, new_name: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two looks nobody stands in the line of those who wait."""
    queue = alice.queue(new_name())
    queue.set(Policy=_policy(queue, {"Principal": {"AWS": bob.arn}}))
    look, looks, arn = Receive._begin_to_look, threading.Event(), queue.arn

    def slowly(request: Receive) -> None:
        look(request)
        if request._queue.arn == arn and not looks.is_set():
            looks.set()
            # As if the change came between the claim and its outcome.
            record = request._queue.record
            without = {name: value for name, value in record.attributes.items() if name != "Policy"}
            request._queue.update(replace(record, attributes=without))

    monkeypatch.setattr(Receive, "_begin_to_look", slowly)
    with ThreadPoolExecutor(1) as aside:
        assert aside.submit(bob.view(queue).receive, WaitTimeSeconds=20).result(15) == []
    assert looks.is_set()


def _administrator(root: Tenant) -> Client:
    return Client(root.service.endpoint, credentials=Credentials(root.made.access_key, root.made.secret))


def _wait_for_waiters(service: RunningService, number: int) -> None:
    end = time.monotonic() + 30
    while service.service.broker.context.waiting.number < number:
        assert time.monotonic() < end
        time.sleep(0.01)


# Dead letters and move tasks.


def test_a_dead_letter_queue_of_another_account(alice: Tenant, bob: Tenant, new_name: NewName, protocol: str) -> None:
    """Refused in the same words whether there is one or not, and however much it is shared."""
    hers, his = alice.queue(new_name(), protocol), bob.queue(new_name(), protocol)
    hers.set(Policy=_policy(hers, {}))
    absent = hers.arn.rpartition(":")[0] + ":" + new_name()
    for target in (hers.arn, absent):
        with refused("InvalidParameterValue") as told:
            his.set(RedrivePolicy=redrive(target, 1))
        assert told["Message"].endswith("Dead letter target owner should be same as the source.")


def test_move_tasks_of_another_account(alice: Tenant, bob: Tenant, new_name: NewName, protocol: str) -> None:
    source, dead = alice.queue(new_name(), protocol), alice.queue(new_name(), protocol)
    source.redrive_to(dead, 1)
    his, his_dead = bob.queue(new_name(), protocol), bob.queue(new_name(), protocol)
    his.redrive_to(his_dead, 1)
    sqs = bob.sqs(protocol)
    for destination in ({}, {"DestinationArn": his.arn}):
        with refused("AccessDenied", status=403):
            sqs.start_message_move_task(SourceArn=dead.arn, **destination)
    with refused("AccessDenied", status=403):
        sqs.start_message_move_task(SourceArn=his_dead.arn, DestinationArn=source.arn)
    dead.send_all(*(str(number) for number in range(50)))
    started = alice.sqs(protocol).start_message_move_task(
        SourceArn=dead.arn, DestinationArn=source.arn, MaxNumberOfMessagesPerSecond=1
    )
    with refused("AccessDenied", status=403):
        sqs.cancel_message_move_task(TaskHandle=started["TaskHandle"])
    with refused("AccessDenied", status=403):
        sqs.list_message_move_tasks(SourceArn=dead.arn)
    alice.sqs(protocol).cancel_message_move_task(TaskHandle=started["TaskHandle"])


def test_a_forged_task_handle(alice: Tenant, bob: Tenant, new_name: NewName) -> None:
    """That names a queue of one's own as the source of another's task."""
    source, dead = alice.queue(new_name()), alice.queue(new_name())
    source.redrive_to(dead, 1)
    dead.send_all("a", "b")
    started = alice.sqs().start_message_move_task(
        SourceArn=dead.arn, DestinationArn=source.arn, MaxNumberOfMessagesPerSecond=1
    )
    handle = json.loads(base64.b64decode(started["TaskHandle"]))
    handle["sourceArn"] = bob.queue(new_name()).arn
    forged = base64.b64encode(json.dumps(handle).encode()).decode()
    with refused("AccessDenied", status=403):
        bob.sqs().cancel_message_move_task(TaskHandle=forged)


# Receipt handles.


def test_a_receipt_handle_of_another_queue_or_account_is_useless(
    alice: Tenant, bob: Tenant, new_name: NewName, protocol: str
) -> None:
    hers, second, his = (tenant.queue(new_name(), protocol) for tenant in (alice, alice, bob))
    hers.send("precious")
    message = hers.receive_one(VisibilityTimeout=600)
    for other in (second, his):
        with refused("ReceiptHandleIsInvalid"):
            other.delete(message)
        with refused("ReceiptHandleIsInvalid"):
            other.hide(message, 0)
        answer = other.sqs.delete_message_batch(
            QueueUrl=other.url, Entries=[{"Id": "a", "ReceiptHandle": message["ReceiptHandle"]}]
        )
        assert [failed["Code"] for failed in answer["Failed"]] == ["ReceiptHandleIsInvalid"]
    with refused("AccessDenied", status=403):
        bob.view(hers, protocol).delete(message)
    assert hers.counts() == (0, 1, 0)


# Operations of our own.


@pytest.mark.parametrize("operation", ["Peek", "Receive"])
def test_our_own_operations_go_by_the_permission_to_receive(
    alice: Tenant, bob: Tenant, new_name: NewName, operation: str
) -> None:
    queue = alice.queue(new_name())
    queue.send("seen")
    web = Web(alice.service.port)

    def ask() -> int:
        headers = {"Host": f"127.0.0.1:{web.port}", "X-Amz-Target": f"Rockdove.{operation}"}
        plan = Plan("POST", "/", headers, json.dumps({"QueueUrl": queue.url}).encode())
        wire = by_header(plan, bob.made.access_key, bob.made.secret, time.time())
        return web.request("POST", "/", wire.body, wire.headers).status

    queue.set(Policy=_policy(queue, {"Action": "sqs:SendMessage"}))
    assert ask() == 403
    queue.set(Policy=_policy(queue, {"Action": "sqs:ReceiveMessage"}))
    assert ask() == 200
    web.close()
