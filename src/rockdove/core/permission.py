"""Who may do what with a queue or a topic: a policy, read once, and the decision about one request."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

import msgspec
from msgspec import Struct

from rockdove.core.condition import Context, Test, Unsupported, compile_conditions
from rockdove.core.glob import WILD, glob

# What AWS lets an owner grant to other accounts. A batch goes by the permission of the single operation.
GRANTABLE = frozenset(
    (
        "SendMessage",
        "ReceiveMessage",
        "DeleteMessage",
        "ChangeMessageVisibility",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
    )
)
# What stays the owner's: "cross-account permissions don't apply" to these, and a policy that names them does not help.
OWNERS = frozenset(
    (
        "AddPermission",
        "CancelMessageMoveTask",
        "CreateQueue",
        "DeleteQueue",
        "ListMessageMoveTasks",
        "ListQueueTags",
        "ListQueues",
        "RemovePermission",
        "SetQueueAttributes",
        "StartMessageMoveTask",
        "TagQueue",
        "UntagQueue",
    )
)
# What no policy takes from the owner: a queue must not be out of everybody's reach because of a mistake in its policy.
REPAIRS = frozenset(("SetQueueAttributes", "RemovePermission", "GetQueueAttributes", "DeleteQueue"))

# The same of topics.
_TOPIC_GRANTABLE = frozenset(
    (
        "AddPermission",
        "DeleteTopic",
        "GetDataProtectionPolicy",
        "GetTopicAttributes",
        "ListSubscriptionsByTopic",
        "ListTagsForResource",
        "Publish",
        "PutDataProtectionPolicy",
        "Receive",
        "RemovePermission",
        "SetTopicAttributes",
        "Subscribe",
    )
)
_TOPIC_OWNERS = frozenset(
    (
        "ConfirmSubscription",
        "CreateTopic",
        "GetSubscriptionAttributes",
        "ListSubscriptions",
        "ListTopics",
        "SetSubscriptionAttributes",
        "TagResource",
        "Unsubscribe",
        "UntagResource",
    )
)
_TOPIC_REPAIRS = frozenset(("SetTopicAttributes", "RemovePermission", "GetTopicAttributes", "DeleteTopic"))

# Policies read at most that are remembered.
_REMEMBERED = 1_024
_ACCOUNT = re.compile(r"[0-9]{12}")
_IDENTITY = re.compile(
    r"arn:aws[a-z-]*:(?:iam|sts)::([0-9]{12}):(root|(?:user|group|role|assumed-role|federated-user|oidc-provider|saml-provider)/.+)"
)
# Names of identities that AWS gives out: nobody's here.
_UNIQUE_ID = re.compile(r"A[A-Z]{3}[A-Z0-9]{12,}")
# Of any service, by its name.
_ARN = re.compile(r"arn:[^:*?]+:([a-z0-9-]+):[^:]*:[^:]*:.+")
# Fits no text.
_NOTHING = re.compile(r"(?!)")
# Who delivers what is published, in policies of queues.
TOPIC_SERVICE = "sns.amazonaws.com"


class Vocabulary(Struct, frozen=True):
    """What policies of one kind of thing speak of. ``what`` is its name, ``service`` the one that it belongs to."""

    what: str
    service: str
    grantable: frozenset[str]
    owners: frozenset[str]
    repairs: frozenset[str]
    # Of one statement.
    most_actions: int

    @property
    def actions(self) -> set[str]:
        return {action.lower() for action in self.grantable | self.owners}


QUEUES = Vocabulary("queue", "sqs", GRANTABLE, OWNERS, REPAIRS, most_actions=7)
TOPICS = Vocabulary("topic", "sns", _TOPIC_GRANTABLE, _TOPIC_OWNERS, _TOPIC_REPAIRS, most_actions=20)


class Caller(Struct, frozen=True):
    """Who asks: an account. ``name`` is what a user's ARN must end in to mean it.

    ``service``: the one that does it for the account.
    """

    id: str
    name: str
    service: str = ""

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.id}:root"


Fits = Callable[[str], bool]


class Statement(Struct, frozen=True):
    """One statement; an element with ``Not`` before its name is already turned round."""

    allow: bool
    is_for: Callable[[Caller], bool]
    covers: Fits
    reaches: Fits
    conditions: list[Test]

    def applies(self, caller: Caller, action: str, resource: str, context: Callable[[], Context]) -> bool:
        return (
            self.is_for(caller)
            and self.covers(action)
            and self.reaches(resource)
            and (not self.conditions or all(test(context()) for test in self.conditions))
        )


class Policy(Struct, frozen=True):
    """The statements of a policy."""

    statements: list[Statement]

    def decide(self, caller: Caller, action: str, resource: str, context: Callable[[], Context]) -> bool | None:
        """True: allowed. False: denied, whatever else allows it. None: not a word about it.

        ``action`` is an operation's name, ``resource`` the ARN of a queue or a topic; ``context`` is asked for only if
        there are conditions.
        """
        decision = None
        for statement in self.statements:
            if (not statement.allow or decision is None) and statement.applies(caller, action, resource, context):
                if not statement.allow:
                    return False
                decision = True
        return decision


def is_permitted(
    policy: Policy | None,
    owner: str,
    caller: Caller,
    action: str,
    resource: str,
    context: Callable[[], Context],
    vocabulary: Vocabulary = QUEUES,
) -> bool:
    """An owner may do everything that is not denied to him; others only what is allowed to them, and not denied."""
    own = caller.id == owner
    if own and action in vocabulary.repairs:
        return True
    if not own and action not in vocabulary.grantable:
        return False
    decision = None if policy is None else policy.decide(caller, action, resource, context)
    return own if decision is None else decision


def read(text: str, vocabulary: Vocabulary = QUEUES) -> Policy:
    """A policy whose form is right. Raises `Unsupported` for what cannot be meant.

    Whom and what it names that are not of this service is never met here, so that it grants nothing and denies nobody.
    Where a statement that allows something says *not* these, it grants nothing either: whoever wrote it did not think
    of this service.
    """
    policy = msgspec.json.decode(text)
    statements = policy["Statement"]
    every = statements if isinstance(statements, list) else [statements]
    return Policy([_statement(each, vocabulary) for each in every])


@lru_cache(_REMEMBERED)
def of(text: str | None, vocabulary: Vocabulary = QUEUES) -> Policy | None:
    """The policy of a queue or a topic, None if it has none; for one that cannot be read (an older version took it),
    one that allows nothing."""
    if text is None:
        return None
    try:
        return read(text, vocabulary)
    except (Unsupported, msgspec.MsgspecError, KeyError, TypeError):
        return Policy([])


def _statement(statement: dict[str, Any], vocabulary: Vocabulary) -> Statement:
    resources = partial(_resources, vocabulary)
    return Statement(
        allow=statement["Effect"] == "Allow",
        is_for=_turned(statement, "Principal", partial(_principal, vocabulary)),
        covers=_turned(statement, "Action", partial(_actions, vocabulary)),
        reaches=_turned(statement, "Resource", resources) if _has_resource(statement) else lambda resource: True,
        conditions=compile_conditions(statement.get("Condition", {}), statement["Effect"] == "Allow"),
    )


def _has_resource(statement: dict[str, Any]) -> bool:
    return "Resource" in statement or "NotResource" in statement


def _turned(statement: dict[str, Any], element: str, make: Callable[[Any, list[str]], Callable[[Any], bool]]) -> Any:
    foreign: list[str] = []
    if element in statement:
        return make(statement[element], foreign)
    fits = make(statement[f"Not{element}"], foreign)
    if foreign and statement["Effect"] == "Allow":
        return lambda value: False
    return lambda value: not fits(value)


# Principals.


def _principal(vocabulary: Vocabulary, value: Any, foreign: list[str]) -> Callable[[Caller], bool]:
    if value == "*":
        return lambda caller: True
    # Nobody here is another service of AWS's, or comes from another provider of identities; and none signs requests.
    foreign += value.keys() - {"AWS"}
    services = set(_texts(value.get("Service", [])))
    ours = services & {TOPIC_SERVICE} if vocabulary is QUEUES else set()
    tests = [_identity(text, foreign) for text in _texts(value.get("AWS", []))]
    return lambda caller: caller.service in ours or any(test(caller) for test in tests)


def _identity(text: str, foreign: list[str]) -> Callable[[Caller], bool]:
    if text == "*":
        return lambda caller: True
    if _ACCOUNT.fullmatch(text):
        return lambda caller: caller.id == text
    if _UNIQUE_ID.fullmatch(text):
        foreign.append(text)
        return lambda caller: False
    arn = _IDENTITY.fullmatch(text)
    if arn is None:
        raise Unsupported(f"the principal {text} is neither an account id, nor the ARN of an identity, nor *")
    account, who = arn.groups()
    if who != "root" and not who.startswith("user/"):
        foreign.append(text)
    # Accounts have no roles here, and one user each, of the account's name.
    return lambda caller: caller.id == account and who in ("root", f"user/{caller.name}")


# Actions and resources.


def _actions(vocabulary: Vocabulary, value: Any, foreign: list[str]) -> Fits:
    """There are none of others: AWS does not take those either."""
    patterns = [_action(vocabulary, text) for text in _texts(value)]
    return lambda action: any(pattern.match(action.lower()) is not None for pattern in patterns)


def _action(vocabulary: Vocabulary, text: str) -> re.Pattern[str]:
    lower, prefix, actions = text.lower(), f"{vocabulary.service}:", vocabulary.actions
    if lower == "*":
        return glob("*")
    if not lower.startswith(prefix):
        raise Unsupported(f"the action {text} is not one of {vocabulary.service.upper()}")
    name = lower.removeprefix(prefix)
    if WILD.isdisjoint(name) and name not in actions:
        if name.removesuffix("batch") in actions:
            raise Unsupported(f"the action {text} goes by the permission of the single one: leave Batch away")
        raise Unsupported(f"there is no action {text}")
    pattern = glob(name)
    if not any(map(pattern.match, actions)):
        raise Unsupported(f"there is no action that {text} could mean")
    return pattern


def _resources(vocabulary: Vocabulary, value: Any, foreign: list[str]) -> Fits:
    patterns = [_resource(vocabulary, text, foreign) for text in _texts(value)]

    def reaches(resource: str) -> bool:
        _, _, _, _, account, name = resource.split(":", 5)
        return any(owner.match(account) is not None and thing.match(name) is not None for owner, thing in patterns)

    return reaches


def _resource(vocabulary: Vocabulary, text: str, foreign: list[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of account and name: one service is one region, whatever a policy calls it."""
    if text == "*":
        return glob("*"), glob("*")
    if "${" in text:
        # A policy variable: nobody can tell what it stands for.
        foreign.append(text)
        return _NOTHING, _NOTHING
    # A star at the end reaches over all parts that are not written.
    whole = text + ":*" * (5 - text.count(":")) if text.endswith("*") else text
    arn = re.fullmatch(rf"arn:[^:]*:{vocabulary.service}:[^:]*:([^:]*):([^:]*)", whole)
    if arn is None:
        other = _ARN.fullmatch(text)
        if other is None or other[1] == vocabulary.service:
            # One that is cut short may be meant for what is here.
            raise Unsupported(f"the resource {text} is not the ARN of a {vocabulary.what}")
        foreign.append(text)
        return _NOTHING, _NOTHING
    return glob(arn[1]), glob(arn[2])


def _texts(value: str | list[str]) -> Iterable[str]:
    return [value] if isinstance(value, str) else value
