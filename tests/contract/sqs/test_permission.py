"""AddPermission and RemovePermission: the policy they write; and policies that users bring themselves."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.refusal import refused
from tests.support.sqs_queue import SqsQueue

ALICE, BOB = "111111111111", "222222222222"


def _add(queue: SqsQueue, label: str, accounts: list[str], actions: list[str]) -> None:
    queue.sqs.add_permission(QueueUrl=queue.url, Label=label, AWSAccountIds=accounts, Actions=actions)


def _remove(queue: SqsQueue, label: str) -> None:
    queue.sqs.remove_permission(QueueUrl=queue.url, Label=label)


def _policy(queue: SqsQueue) -> Any:
    return json.loads(queue.attributes("Policy")["Policy"])


def _statement(queue: SqsQueue, label: str, principal: str | list[str], action: str | list[str]) -> dict[str, Any]:
    return {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": principal},
        "Action": action,
        "Resource": queue.arn,
    }


def test_a_permission_is_a_statement_in_the_policy(queue: SqsQueue) -> None:
    """The document as recorded from SQS."""
    _add(queue, "share", [ALICE, BOB], ["ReceiveMessage"])
    policy = _policy(queue)
    [statement] = policy.pop("Statement")
    assert policy == {"Version": "2008-10-17", "Id": f"{queue.arn}/SQSDefaultPolicy"}
    principals = statement["Principal"].pop("AWS")
    assert sorted(principals) == [f"arn:aws:iam::{account}:root" for account in (ALICE, BOB)]
    assert statement == {
        "Sid": "share",
        "Effect": "Allow",
        "Principal": {},
        "Action": "SQS:ReceiveMessage",
        "Resource": queue.arn,
    }


def test_one_account_and_several_actions(queue: SqsQueue) -> None:
    _add(queue, "two", [ALICE], ["SendMessage", "DeleteMessage"])
    actions = ["SQS:SendMessage", "SQS:DeleteMessage"]
    assert _policy(queue)["Statement"] == [_statement(queue, "two", f"arn:aws:iam::{ALICE}:root", actions)]


def test_every_action(queue: SqsQueue) -> None:
    _add(queue, "all", [ALICE], ["*"])
    assert _policy(queue)["Statement"][0]["Action"] == "SQS:*"


def test_permissions_add_up_and_go_one_by_one(queue: SqsQueue) -> None:
    _add(queue, "first", [ALICE], ["SendMessage"])
    _add(queue, "second", [BOB], ["ReceiveMessage"])
    assert [statement["Sid"] for statement in _policy(queue)["Statement"]] == ["first", "second"]
    _remove(queue, "first")
    assert [statement["Sid"] for statement in _policy(queue)["Statement"]] == ["second"]
    _remove(queue, "second")
    assert queue.attributes("Policy") == {}
    assert "Policy" not in queue.attributes("All")


def test_a_label_is_used_once(queue: SqsQueue) -> None:
    _add(queue, "once", [ALICE], ["SendMessage"])
    before = _policy(queue)
    with refused("InvalidParameterValue", "Value once for parameter Label is invalid. Reason: Already exists."):
        _add(queue, "once", [BOB], ["SendMessage"])
    assert _policy(queue) == before


def test_an_unknown_label_cannot_be_removed(queue: SqsQueue) -> None:
    with refused("InvalidParameterValue", "Value none for parameter Label is invalid. Reason: can't find label."):
        _remove(queue, "none")
    _add(queue, "other", [ALICE], ["SendMessage"])
    with refused("InvalidParameterValue") as fault:
        _remove(queue, "none")
    assert fault["Message"].startswith("Value none for parameter Label is invalid. Reason: can't find label")


@pytest.mark.parametrize("label", ["", "x" * 81, "a b", "a.b", "ä"])
def test_labels_are_1_to_80_letters_digits_hyphens_and_underscores(queue: SqsQueue, label: str) -> None:
    with refused("InvalidParameterValue"):
        _add(queue, label, [ALICE], ["SendMessage"])
    _add(queue, "x" * 80, [ALICE], ["SendMessage"])
    _add(queue, "_-aZ9", [ALICE], ["SendMessage"])


def test_a_statement_has_at_most_seven_actions(queue: SqsQueue) -> None:
    """Documented: "An Amazon SQS policy can have a maximum of seven actions per statement"."""
    actions = [
        "SendMessage",
        "ReceiveMessage",
        "DeleteMessage",
        "ChangeMessageVisibility",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
    ]
    _add(queue, "seven", [ALICE], actions)
    text = "8 Actions were found, maximum allowed is 7."
    with refused("OverLimit", text, status=403):
        _add(queue, "eight", [ALICE], [*actions, "PurgeQueue"])


def test_a_policy_has_at_most_twenty_statements(queue: SqsQueue) -> None:
    for number in range(20):
        _add(queue, f"label-{number}", [ALICE], ["SendMessage"])
    with refused("OverLimit", status=403):
        _add(queue, "label-20", [ALICE], ["SendMessage"])


@pytest.mark.parametrize("action", ["CreateQueue", "DeleteQueue", "AddPermission", "SetQueueAttributes", "ListQueues"])
def test_what_only_the_owner_may_do_cannot_be_granted(queue: SqsQueue, action: str) -> None:
    text = (
        f"Value SQS:{action} for parameter ActionName is invalid. "
        "Reason: Only the queue owner is allowed to invoke this action."
    )
    with refused("InvalidParameterValue", text):
        _add(queue, "owner", [ALICE], [action])
    assert queue.attributes("Policy") == {}


@pytest.mark.parametrize(
    ("accounts", "actions"), [([], ["SendMessage"]), ([ALICE], []), (["nobody"], ["SendMessage"]), ([ALICE], ["Fly"])]
)
def test_nobody_and_nothing_are_no_permission(queue: SqsQueue, accounts: list[str], actions: list[str]) -> None:
    # Query cannot tell an empty list from none at all.
    with pytest.raises(ClientError) as caught:
        _add(queue, "x", accounts, actions)
    assert caught.value.response["Error"]["Code"] in ("InvalidParameterValue", "MissingParameter")
    assert queue.attributes("Policy") == {}


def test_a_users_policy_is_kept_and_added_to(queue: SqsQueue) -> None:
    own = {
        "Version": "2012-10-17",
        "Id": "mine",
        "Statement": {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": queue.arn},
    }
    queue.set(Policy=json.dumps(own))
    assert _policy(queue) == own
    _add(queue, "one", [ALICE], ["SendMessage"])
    policy = _policy(queue)
    assert (policy["Version"], policy["Id"]) == ("2012-10-17", "mine")
    assert [statement.get("Sid") for statement in policy["Statement"]] == [None, "one"]
    _remove(queue, "one")
    assert _policy(queue)["Statement"] in (own["Statement"], [own["Statement"]])


@pytest.mark.parametrize(
    "policy",
    [
        "nonsense",
        "{",
        "[]",
        "{}",
        '"text"',
        '{"Version": "2012-10-17", "Statement": []}',
        '{"Version": "1999-01-01", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:*"}]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Maybe", "Principal": "*", "Action": "sqs:*"}]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*"}]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*"}]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Foo": 1}]}',
        '{"Version": "2012-10-17", "Statement": [1]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": 7, "Action": "sqs:SendMessage"}]}',
        '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": 7}]}',
    ],
)
def test_what_is_no_policy_is_refused(queue: SqsQueue, policy: str) -> None:
    with refused("InvalidAttributeValue") as fault:
        queue.set(Policy=policy)
    assert fault["Message"].startswith("Invalid value for the parameter Policy.")
    assert queue.attributes("Policy") == {}


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"Statemnt": []}, "a policy has no element Statemnt"),
        ({"Statement": {"Effekt": "Deny", "Zeit": 1}}, "a statement has no element Effekt, Zeit"),
        ({"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "*"}, {"Foo": 1}]}, "has no element Foo"),
    ],
)
def test_an_element_that_is_not_known_is_named(queue: SqsQueue, policy: Any, told: str) -> None:
    with refused("InvalidAttributeValue") as fault:
        queue.set(Policy=json.dumps(policy))
    assert told in fault["Message"]
    assert queue.attributes("Policy") == {}


def test_a_change_of_permissions_is_a_change_of_the_queue(queue: SqsQueue, service: Any) -> None:
    service.advance(10)
    _add(queue, "x", [ALICE], ["SendMessage"])
    assert queue.attributes("LastModifiedTimestamp") == {"LastModifiedTimestamp": str(int(service.now_s))}
