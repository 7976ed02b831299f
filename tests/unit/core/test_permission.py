"""Who may do what: statements, conditions, and what is refused in them."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockdove.core import permission, policy
from rockdove.core.condition import KEYS, OPERATORS, Context, Unsupported, compile_conditions
from rockdove.core.errors import InvalidAttributeValue, OverLimit
from rockdove.core.permission import (
    GRANTABLE,
    OWNERS,
    REPAIRS,
    TOPIC_SERVICE,
    TOPICS,
    Caller,
    Policy,
    is_permitted,
)
from rockdove.wire.operation import OPERATIONS, SQS

ALICE, BOB, CAROL = (
    Caller("111111111111", "alice"),
    Caller("222222222222", "bob"),
    Caller("333333333333", "carol"),
)
ARN = "arn:aws:sqs:us-east-1:111111111111:jobs"
# What is known of a request in these tests.
CONTEXT = {
    "aws:currenttime": "2026-06-01T12:00:00+00:00",
    "aws:epochtime": "1780315200",
    "aws:securetransport": "false",
    "aws:sourceip": "10.1.2.3",
    "aws:principalaccount": BOB.id,
    "aws:principalarn": BOB.arn,
}


def statement(**elements: Any) -> dict[str, Any]:
    """Allows everything to everybody, but for what is given; None leaves an element away."""
    whole = {"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "*", **elements}
    return {name: value for name, value in whole.items() if value is not None}


def text(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def made(*statements: dict[str, Any]) -> Policy:
    written = text(*statements)
    policy.check(written)
    return permission.read(written)


def may(rules: Policy | None, caller: Caller = BOB, action: str = "SendMessage", context: Context = CONTEXT) -> bool:
    """On Alice's queue."""
    return is_permitted(rules, ALICE.id, caller, action, ARN, lambda: context)


# Who owns, who does not.


def test_without_a_policy_the_owner_may_everything_and_nobody_else_anything() -> None:
    for action in GRANTABLE | OWNERS:
        assert may(None, ALICE, action)
        assert not may(None, BOB, action)


def test_every_operation_is_an_action_or_goes_by_one() -> None:
    """An operation that neither the owner's nor a grantable action stands for would be nobody's business."""
    named = {operation.action for operation in OPERATIONS.values() if operation.service == SQS}
    batches = {f"{action}Batch" for action in ("SendMessage", "DeleteMessage", "ChangeMessageVisibility")}
    assert named - batches == GRANTABLE | OWNERS
    named = {operation.action for operation in OPERATIONS.values() if operation.is_of_topics}
    # Those that AWS has besides may stand in a policy.
    others = {"ConfirmSubscription", "GetDataProtectionPolicy", "PutDataProtectionPolicy", "Receive"}
    assert named - {"PublishBatch"} == (TOPICS.grantable | TOPICS.owners) - others


def test_what_is_the_owners_is_not_given_away() -> None:
    """Documented: cross-account permissions do not apply to these actions."""
    everything = made(statement())
    for action in OWNERS:
        assert not may(everything, BOB, action)
    for action in GRANTABLE:
        assert may(everything, BOB, action)


def test_an_explicit_deny_wins_wherever_it_stands() -> None:
    allow, deny = statement(), statement(Effect="Deny", Action="sqs:SendMessage")
    for rules in (made(allow, deny), made(deny, allow)):
        assert not may(rules)
        assert may(rules, action="ReceiveMessage")


def test_the_owner_is_denied_what_is_denied_but_can_always_repair() -> None:
    nothing = made(statement(Effect="Deny"))
    for action in GRANTABLE | OWNERS:
        assert may(nothing, ALICE, action) == (action in REPAIRS)
    assert {"SetQueueAttributes", "RemovePermission", "GetQueueAttributes", "DeleteQueue"} == REPAIRS


def test_an_allow_for_others_takes_nothing_from_the_owner() -> None:
    rules = made(statement(Principal={"AWS": BOB.id}, Action="sqs:SendMessage"))
    assert may(rules, ALICE, "ReceiveMessage")


# Elements.


@pytest.mark.parametrize(
    ("principal", "who"),
    [
        ("*", [ALICE, BOB, CAROL]),
        ({"AWS": "*"}, [ALICE, BOB, CAROL]),
        ({"AWS": BOB.id}, [BOB]),
        ({"AWS": BOB.arn}, [BOB]),
        ({"AWS": f"arn:aws:iam::{BOB.id}:user/bob"}, [BOB]),
        ({"AWS": f"arn:aws-cn:iam::{BOB.id}:root"}, [BOB]),
        ({"AWS": f"arn:aws:iam::{BOB.id}:user/robert"}, []),
        ({"AWS": f"arn:aws:iam::{BOB.id}:role/bob"}, []),
        ({"AWS": [BOB.arn, CAROL.id]}, [BOB, CAROL]),
        ({"Service": "sns.amazonaws.com"}, []),
        ({"AWS": CAROL.id, "Service": ["sns.amazonaws.com"]}, [CAROL]),
    ],
)
def test_principals(principal: Any, who: list[Caller]) -> None:
    rules = made(statement(Principal=principal))
    turned = made(statement(Principal=None, NotPrincipal=principal))
    for caller in (ALICE, BOB, CAROL):
        assert rules.decide(caller, "SendMessage", ARN, lambda: CONTEXT) is (True if caller in who else None)
        # All but one who is never here: whoever wrote that did not think of this service.
        is_foreign = "role/" in str(principal) or "Service" in principal
        expected = None if caller in who or is_foreign else True
        assert turned.decide(caller, "SendMessage", ARN, lambda: CONTEXT) is expected


def test_what_topics_deliver() -> None:
    """The service that does it is nobody by itself, and no other service is anybody."""
    topic = Caller(CAROL.id, CAROL.name, TOPIC_SERVICE)
    for principal, expected in (
        ({"Service": TOPIC_SERVICE}, True),
        ({"Service": ["events.amazonaws.com", TOPIC_SERVICE]}, True),
        ({"Service": "events.amazonaws.com"}, None),
        ({"AWS": BOB.id}, None),
        ({"AWS": CAROL.id}, True),
    ):
        assert made(statement(Principal=principal)).decide(topic, "SendMessage", ARN, lambda: CONTEXT) is expected
    source = {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:333333333333:news"}}
    rules = made(statement(Principal={"Service": TOPIC_SERVICE}, Condition=source))
    for arn, expected in (("arn:aws:sns:us-east-1:333333333333:news", True), ("arn:aws:sns:us-east-1:3:olds", None)):
        context: Context = {**CONTEXT, "aws:sourcearn": arn}
        assert rules.decide(topic, "SendMessage", ARN, partial(dict, context)) is expected


def test_policies_of_topics() -> None:
    arn = "arn:aws:sns:us-east-1:111111111111:news"
    allow = {"Effect": "Allow", "Principal": {"AWS": BOB.id}, "Action": "SNS:Publish", "Resource": arn}
    rules = permission.read(text(allow), TOPICS)
    assert is_permitted(rules, ALICE.id, BOB, "Publish", arn, lambda: CONTEXT, TOPICS)
    assert not is_permitted(rules, ALICE.id, BOB, "Subscribe", arn, lambda: CONTEXT, TOPICS)
    assert not is_permitted(rules, ALICE.id, CAROL, "Publish", arn, lambda: CONTEXT, TOPICS)
    for wrong in ({"Action": "SQS:SendMessage"}, {"Resource": "arn:aws:sns:short"}, {"Action": "SNS:PublishBatch"}):
        with pytest.raises(Unsupported):
            permission.read(text({**allow, **wrong}), TOPICS)


@pytest.mark.parametrize(
    ("action", "fits"),
    [
        ("*", True),
        ("sqs:*", True),
        ("SQS:*", True),
        ("sQs:sENDmESSAGE", True),
        ("sqs:Send*", True),
        ("sqs:*Message", True),
        ("sqs:S?ndMessage", True),
        ("sqs:Purge?ueue", False),
        ("sqs:ReceiveMessage", False),
        (["sqs:ReceiveMessage", "sqs:SendMessage"], True),
    ],
)
def test_actions(action: Any, fits: bool) -> None:
    assert may(made(statement(Action=action))) is fits
    assert may(made(statement(Action=None, NotAction=action))) is not fits


@pytest.mark.parametrize(
    ("resource", "fits"),
    [
        ("*", True),
        (ARN, True),
        ("arn:aws:sqs:eu-west-1:111111111111:jobs", True),
        ("arn:aws:sqs:*:111111111111:j?bs", True),
        ("arn:aws:sqs:us-east-1:*:jo*", True),
        ("arn:*:sqs:*:*:*", True),
        ("arn:aws:sqs:us-east-1:222222222222:jobs", False),
        ("arn:aws:sqs:us-east-1:111111111111:Jobs", False),
        ("arn:aws:sqs:us-east-1:111111111111:[jobs]", False),
        ("arn:aws:sqs:us-east-1:111111111111:job", False),
    ],
)
def test_resources(resource: str, fits: bool) -> None:
    assert may(made(statement(Resource=resource))) is fits
    assert may(made(statement(Resource=None, NotResource=resource))) is not fits


def test_without_a_resource_it_is_the_queue() -> None:
    assert may(made(statement(Resource=None)))


def test_one_statement_without_a_list() -> None:
    written = json.dumps({"Version": "2008-10-17", "Id": "x", "Statement": statement(Sid="only")})
    policy.check(written)
    assert may(permission.read(written))


@given(stars=st.integers(1, 2_000), tail=st.sampled_from(["", "x"]))
def test_many_stars_cost_nothing(stars: int, tail: str) -> None:
    """A pattern that goes back and forth over a name would stop the service."""
    arn = f"arn:aws:sqs:*:*:{'*o' * min(stars, 1_000)}{tail}"
    assert not may(made(statement(Resource=[arn])))


# Conditions.


@pytest.mark.parametrize(
    ("operator", "key", "value", "holds"),
    [
        ("StringEquals", "aws:PrincipalAccount", BOB.id, True),
        ("StringEquals", "AWS:principalaccount", [CAROL.id, BOB.id], True),
        ("StringEquals", "aws:PrincipalAccount", CAROL.id, False),
        ("StringNotEquals", "aws:PrincipalAccount", CAROL.id, True),
        ("StringNotEquals", "aws:PrincipalAccount", [CAROL.id, BOB.id], False),
        ("StringEqualsIgnoreCase", "aws:PrincipalArn", BOB.arn.upper(), True),
        ("StringEquals", "aws:PrincipalArn", BOB.arn.upper(), False),
        ("StringNotEqualsIgnoreCase", "aws:PrincipalArn", BOB.arn.upper(), False),
        ("StringLike", "aws:PrincipalArn", "arn:*:root", True),
        ("StringLike", "aws:PrincipalArn", "arn:?", False),
        ("StringNotLike", "aws:PrincipalArn", "arn:*:root", False),
        ("ArnEquals", "aws:PrincipalArn", BOB.arn, True),
        ("ArnLike", "aws:PrincipalArn", "arn:aws:iam::*:root", True),
        ("ArnLike", "aws:PrincipalArn", "arn:aws:*:*:*:root", True),
        ("ArnLike", "aws:PrincipalArn", "arn:aws:sts::*:root", False),
        ("ArnNotEquals", "aws:PrincipalArn", BOB.arn, False),
        ("ArnNotLike", "aws:PrincipalArn", "arn:aws:iam::3*:root", True),
        ("Bool", "aws:SecureTransport", "false", True),
        ("Bool", "aws:SecureTransport", False, True),
        ("Bool", "aws:SecureTransport", "true", False),
        ("IpAddress", "aws:SourceIp", "10.0.0.0/8", True),
        ("IpAddress", "aws:SourceIp", "10.1.2.3", True),
        ("IpAddress", "aws:SourceIp", ["192.168.0.0/16", "2001:db8::/32"], False),
        ("IpAddress", "aws:SourceIp", "::ffff:10.0.0.0/104", True),
        ("IpAddress", "aws:SourceIp", "::ffff:10.1.2.3", True),
        ("IpAddress", "aws:SourceIp", "::ffff:192.168.0.0/112", False),
        ("NotIpAddress", "aws:SourceIp", "::ffff:0:0/96", False),
        ("IpAddress", "aws:SourceIp", "::/0", False),
        ("NotIpAddress", "aws:SourceIp", "10.0.0.0/8", False),
        ("NotIpAddress", "aws:SourceIp", "192.168.0.0/16", True),
        ("DateLessThan", "aws:CurrentTime", "2026-06-01T12:00:01Z", True),
        ("DateLessThan", "aws:CurrentTime", "2026-06-01T12:00:00Z", False),
        ("DateLessThanEquals", "aws:CurrentTime", "2026-06-01T12:00:00Z", True),
        ("DateGreaterThan", "aws:CurrentTime", "2026-06-01", True),
        ("DateGreaterThanEquals", "aws:CurrentTime", "2026-06-01T14:00:00+02:00", True),
        ("DateGreaterThan", "aws:EpochTime", 1780315199, True),
        ("DateEquals", "aws:CurrentTime", "2026-06-01T12:00:00Z", True),
        ("DateNotEquals", "aws:CurrentTime", "2026-06-01T12:00:00Z", False),
        ("NumericEquals", "aws:PrincipalAccount", int(BOB.id), True),
        ("NumericNotEquals", "aws:EpochTime", "1780315200", False),
        ("NumericLessThan", "aws:EpochTime", "1780315200", False),
        ("NumericLessThanEquals", "aws:EpochTime", "1780315200.0", True),
        ("NumericGreaterThan", "aws:EpochTime", "0", True),
        ("NumericGreaterThanEquals", "aws:EpochTime", "1780315201", False),
        ("Null", "aws:SourceArn", "true", True),
        ("Null", "aws:SourceArn", False, False),
        ("Null", "aws:SourceIp", "false", True),
        # What is not there: positives fail, negations hold, and so does whatever ends in IfExists.
        ("ArnEquals", "aws:SourceArn", "arn:aws:sns:us-east-1:1:t", False),
        ("ArnNotEquals", "aws:SourceArn", "arn:aws:sns:us-east-1:1:t", True),
        ("StringEquals", "aws:SourceAccount", BOB.id, False),
        ("StringEqualsIfExists", "aws:SourceAccount", BOB.id, True),
        ("StringNotEqualsIfExists", "aws:SourceAccount", BOB.id, True),
        ("StringEqualsIfExists", "aws:PrincipalAccount", CAROL.id, False),
        ("NumericEqualsIfExists", "aws:SourceAccount", 1, True),
    ],
)
def test_conditions(operator: str, key: str, value: Any, holds: bool) -> None:
    condition = {operator: {key: value}}
    denied = not may(made(statement(), statement(Effect="Deny", Condition=condition)))
    assert denied is holds
    # Of what no request has, nothing is allowed.
    is_never = key in ("aws:SourceArn", "aws:SourceAccount")
    assert may(made(statement(Condition=condition))) is (holds and not is_never)


def test_every_operator_of_the_documentation_is_tried_above() -> None:
    tried = {case[0] for mark in test_conditions.pytestmark for case in mark.args[1]}
    assert set(OPERATORS) <= tried
    keys = {case[1].lower() for mark in test_conditions.pytestmark for case in mark.args[1]}
    assert set(KEYS) == keys


def test_all_conditions_must_hold() -> None:
    ip = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    assert may(made(statement(Condition={**ip, "StringEquals": {"aws:PrincipalAccount": BOB.id}})))
    assert not may(made(statement(Condition={**ip, "Bool": {"aws:SecureTransport": "true"}})))
    two = {"StringEquals": {"aws:PrincipalAccount": BOB.id, "aws:PrincipalArn": "x"}}
    assert not may(made(statement(Condition=two)))


def test_deny_what_does_not_come_over_tls() -> None:
    rules = made(statement(), statement(Effect="Deny", Condition={"Bool": {"aws:SecureTransport": "false"}}))
    assert not may(rules)
    assert may(rules, context={**CONTEXT, "aws:securetransport": "true"})


def test_the_context_is_only_made_for_conditions() -> None:
    def none() -> Context:
        raise AssertionError

    assert made(statement()).decide(BOB, "SendMessage", ARN, none)


# What is refused when a policy is set.


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ({"Principal": {"AWS": "somebody"}}, "somebody"),
        ({"Principal": {"AWS": "arn:aws:iam::*:root"}}, "arn:aws:iam::*:root"),
        ({"Principal": {"AWS": "arn:aws:iam::123:root"}}, "arn:aws:iam::123:root"),
        ({"Principal": {"AWS": "arn:aws:iam::111111111111:*"}}, "arn:aws:iam::111111111111:*"),
        ({"Principal": {"AWS": "arn:aws:iam:111111111111:root"}}, "arn:aws:iam:111111111111:root"),
        ({"Action": "sns:Publish"}, "sns:Publish"),
        ({"Action": "SendMessage"}, "SendMessage"),
        ({"Action": "sqs:Fly"}, "sqs:Fly"),
        ({"Action": "sqs:SendMessageBatch"}, "leave Batch away"),
        ({"Resource": "jobs"}, "jobs"),
        *(({"Resource": f"arn:{rest}"}, rest) for rest in ("aws:sqs", "aws:sqs:us-east-1", "aws:*", "*")),
        ({"Condition": {"BinaryEquals": {"aws:SourceIp": "x"}}}, "BinaryEquals"),
        ({"Condition": {"StringMatches": {"aws:SourceIp": "x"}}}, "StringMatches"),
        ({"Condition": {"NullIfExists": {"aws:SourceIp": "true"}}}, "NullIfExists"),
        ({"Condition": {"ForSomeValues:StringEquals": {"aws:PrincipalAccount": "x"}}}, "ForSomeValues"),
        ({"Condition": {"ForAnyValue:Null": {"aws:PrincipalAccount": "true"}}}, "ForAnyValue:Null"),
        ({"Condition": {"StringEquals": {"aws:PrincipalAccount": []}}}, "no value"),
        ({"Condition": {"StringEquals": {"aws:PrincipalAccount": {}}}}, "no text"),
        ({"Condition": {"StringEquals": {}}}, "StringEquals"),
        ({"Condition": {"StringEquals": "x"}}, "StringEquals"),
        ({"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/99"}}}, "10.0.0.0/99"),
        ({"Condition": {"IpAddress": {"aws:PrincipalAccount": "10.0.0.0/8"}}}, "does not go with"),
        ({"Condition": {"DateLessThan": {"aws:CurrentTime": "tomorrow"}}}, "tomorrow"),
        ({"Condition": {"NumericEquals": {"aws:EpochTime": "many"}}}, "many"),
        ({"Condition": {"NumericEquals": {"aws:EpochTime": "nan"}}}, "nan"),
        ({"Condition": {"Bool": {"aws:SecureTransport": "maybe"}}}, "maybe"),
        ({"Condition": {"ArnLike": {"aws:SourceArn": "x"}}}, "ARN"),
        ({"Condition": {"Null": {"aws:SourceIp": "perhaps"}}}, "Null"),
    ],
)
def test_what_could_not_be_kept_to_is_refused_and_named(elements: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidAttributeValue) as caught:
        policy.check(text(statement(**elements)))
    assert caught.value.message.startswith("Invalid value for the parameter Policy. Reason: ")
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "elements",
    [
        {"NotPrincipal": "*"},
        {"NotAction": "sqs:*"},
        {"NotResource": "*"},
        {"Unknown": "x"},
        {"Condition": []},
        {"Effect": "allow"},
        {"Action": []},
        {"Principal": {}},
        {"Resource": 7},
    ],
)
def test_what_is_no_statement_is_refused(elements: dict[str, Any]) -> None:
    with pytest.raises(InvalidAttributeValue):
        policy.check(text(statement(**elements)))


def test_a_policy_has_bounds() -> None:
    policy.check(text(*[statement()] * 20))
    with pytest.raises(OverLimit):
        policy.check(text(*[statement()] * 21))
    with pytest.raises(OverLimit):
        policy.check(text(statement(Sid="x" * 8_192)))


def test_a_policy_that_an_older_version_took_allows_nothing() -> None:
    written = text(statement(), statement(Action="sns:Publish"))
    rules = permission.of(written)
    assert not may(rules)
    assert may(rules, ALICE)
    assert permission.of(None) is None
    assert permission.of(text(statement())) is permission.of(text(statement()))


FOREIGN: list[dict[str, Any]] = [
    {"Principal": {"AWS": "arn:aws:iam::111122223333:oidc-provider/x"}},
    {"Principal": {"AWS": "arn:aws:iam::111122223333:role/worker"}},
    {"Principal": {"AWS": "AIDAJQABLZS4A3QDU576Q"}},
    {"Principal": {"Service": "sns.amazonaws.com"}},
    {"Principal": {"Federated": "accounts.google.com"}},
    {"Resource": "arn:aws:sns:us-east-1:111111111111:topic"},
    {"Resource": ["arn:aws:s3:::bucket", "arn:aws:s3:::bucket/*"]},
    {"Resource": "arn:aws:sqs:us-east-1:111111111111:${aws:username}"},
    {"Condition": {"ForAnyValue:StringEquals": {"aws:PrincipalOrgPaths": "o-1/*"}}},
    {"Condition": {"ForAnyValue:StringNotEquals": {"aws:PrincipalOrgPaths": "o-1/*"}}},
    {"Condition": {"ArnLike": {"aws:SourceArn": "*"}}},
    {"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}},
    {"Condition": {"ArnEquals": {"aws:PrincipalArn": "arn:aws:iam::111122223333:user/bob"}}},
    {"Condition": {"StringLike": {"aws:PrincipalArn": "*:role/*"}}},
    {"Condition": {"Bool": {"aws:MultiFactorAuthPresent": "true"}}},
]


@pytest.mark.parametrize("elements", FOREIGN)
def test_what_is_not_ours_is_kept_grants_nothing_and_denies_nobody(elements: dict[str, Any]) -> None:
    written = text(statement(**elements))
    policy.check(written)
    assert not may(permission.of(written))
    denying = text(statement(), statement(Effect="Deny", **elements))
    policy.check(denying)
    assert may(permission.of(denying))
    # Beside it, the others hold.
    assert may(permission.of(text(statement(), statement(**elements))))


NOT_FOREIGN: list[dict[str, Any]] = [
    {"Principal": None, "NotPrincipal": {"AWS": "arn:aws:iam::111122223333:role/worker"}},
    {"Principal": None, "NotPrincipal": {"Service": "sns.amazonaws.com"}},
    {"Condition": {"ArnNotLike": {"aws:SourceArn": "arn:aws:sns:*:*:topic"}}},
    {"Condition": {"Null": {"aws:SourceAccount": "true"}}},
    {"Condition": {"ForAllValues:StringEquals": {"aws:PrincipalOrgPaths": "o-1/*"}}},
    {"Condition": {"StringEquals": {"aws:PrincipalAccount": "${aws:PrincipalAccount}"}}},
    {"Principal": None, "NotPrincipal": {"AWS": "AIDAJQABLZS4A3QDU576Q"}},
    {"Principal": None, "NotPrincipal": {"Federated": "accounts.google.com"}},
    {"NotResource": "arn:aws:sns:us-east-1:111111111111:topic"},
    {"Condition": {"StringNotEquals": {"aws:PrincipalOrgID": "o-1"}}},
    {"Condition": {"StringEqualsIfExists": {"aws:SourceVpce": "vpce-1"}}},
    {"Condition": {"Null": {"aws:MultiFactorAuthAge": "true"}}},
    {"Condition": {"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/*"}}},
    {"Condition": {"StringNotLike": {"aws:PrincipalArn": "*/bob"}}},
]


@pytest.mark.parametrize("elements", NOT_FOREIGN)
def test_all_but_what_is_not_ours_is_denied_and_never_granted(elements: dict[str, Any]) -> None:
    """A deny is meant for everybody else; who wrote the grant did not think of this service."""
    elements = elements if "NotResource" not in elements else {"Resource": None, **elements}
    written = text(statement(**elements))
    policy.check(written)
    assert not may(permission.of(written))
    assert not may(permission.of(text(statement(), statement(Effect="Deny", **elements))))


@pytest.mark.parametrize("operator", ["ForAnyValue:StringEquals", "ForAllValues:StringEquals"])
def test_a_key_has_one_value(operator: str) -> None:
    assert may(made(statement(Condition={operator: {"aws:PrincipalAccount": [CAROL.id, BOB.id]}})))
    assert not may(made(statement(Condition={operator: {"aws:PrincipalAccount": CAROL.id}})))


@pytest.mark.parametrize("rest", ["*", "us-*", "us-east-1:*", "us-east-1:111111111111*", "us-east-1:*:jo*"])
def test_a_star_reaches_to_the_end(rest: str) -> None:
    assert may(made(statement(Resource=f"arn:aws:sqs:{rest}")))
    assert not may(made(statement(Resource="arn:aws:sqs:us-east-1:2*")))


@pytest.mark.parametrize("arn", ["arn:aws:iam::111122223333:root", "arn:aws:iam::*:*", "arn:aws:iam::1*:ro?t"])
def test_a_caller_that_can_be_is_taken(arn: str) -> None:
    assert len(compile_conditions({"ArnLike": {"aws:PrincipalArn": arn}}, allow=True)) == 1


def test_an_address_of_one_interface_is_refused() -> None:
    with pytest.raises(Unsupported, match="is not an address"):
        compile_conditions({"IpAddress": {"aws:SourceIp": "fe80::1%eth0"}}, allow=True)


@pytest.mark.parametrize("action", ["sqs:Nope*", "sqs:?", "sqs:*Nothing"])
def test_a_wildcard_that_means_no_action_is_refused(action: str) -> None:
    statement = {"Effect": "Deny", "Principal": "*", "Action": action, "Resource": "*"}
    with pytest.raises(Unsupported, match="there is no action that"):
        permission.read(json.dumps({"Statement": [statement]}))
