"""Access policies of queues and topics: their form, and the statements that AddPermission writes."""

import json
import re
from typing import Any

import msgspec

from rockdove.core import permission
from rockdove.core.condition import Unsupported
from rockdove.core.errors import InvalidAttributeValue, InvalidParameterValue, OverLimit
from rockdove.core.permission import QUEUES, TOPICS, Vocabulary

MAX_STATEMENTS = 20
MAX_POLICY_BYTES = 8_192
_VERSIONS = ("2008-10-17", "2012-10-17")
_TOPIC_ID = "__default_policy_ID"
_POLICY = frozenset(("Version", "Id", "Statement"))
_STATEMENT = frozenset(
    (
        "Sid",
        "Effect",
        "Principal",
        "NotPrincipal",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Condition",
    )
)
# Of a name that is not known, so much is told.
_TOLD = 64
_LABEL = re.compile(r"[A-Za-z0-9_-]{1,80}")
_ACCOUNT = re.compile(r"[0-9]{12}")


def check(text: str, vocabulary: Vocabulary = QUEUES) -> None:
    """Refuse what is not a policy, and what is one but has something in it that could not be kept to."""
    try:
        policy = json.loads(text, object_pairs_hook=_object)
        _check_elements(policy)
        if not _is_policy(policy):
            raise InvalidAttributeValue("Invalid value for the parameter Policy.")
        _check_size(text, policy)
        _check_actions(policy, vocabulary)
        permission.read(text, vocabulary)
    except Unsupported as error:
        raise InvalidAttributeValue(f"Invalid value for the parameter Policy. Reason: {error}.") from None
    except (ValueError, RecursionError):
        raise InvalidAttributeValue("Invalid value for the parameter Policy.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Whoever writes a name twice means one of the two; nobody knows which."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Unsupported(f"{twice[:_TOLD]} stands twice in one object")
    return found


def _check_elements(policy: Any) -> None:
    """Raises `Unsupported` for one that is not known: it could be meant to forbid something."""
    _check_known("policy", policy, _POLICY)
    statements = policy.get("Statement") if isinstance(policy, dict) else None
    for statement in statements if isinstance(statements, list) else [statements]:
        _check_known("statement", statement, _STATEMENT)


def _check_known(what: str, value: Any, known: frozenset[str]) -> None:
    unknown = sorted(value.keys() - known) if isinstance(value, dict) else []
    if unknown:
        raise Unsupported(f"a {what} has no element {', '.join(name[:_TOLD] for name in unknown[:3])}")


def _check_size(text: str, policy: dict[str, Any]) -> None:
    """A policy is asked about every request: it must not be a burden to others."""
    statements = policy["Statement"]
    if isinstance(statements, list) and len(statements) > MAX_STATEMENTS:
        raise OverLimit(
            f"{len(statements)} statements were found in the submitted policy, max allowed is {MAX_STATEMENTS}"
        )
    if len(text.encode()) > MAX_POLICY_BYTES:
        raise OverLimit("Submitted policy is over max allowed size.")


def _check_actions(policy: dict[str, Any], vocabulary: Vocabulary) -> None:
    statements = policy["Statement"]
    for statement in statements if isinstance(statements, list) else [statements]:
        actions = statement.get("Action", statement.get("NotAction"))
        if isinstance(actions, list) and len(actions) > vocabulary.most_actions:
            raise OverLimit(
                f"{len(actions)} actions were found in a statement from the submitted policy, "
                f"max allowed is {vocabulary.most_actions}"
            )


def _is_policy(policy: Any) -> bool:
    if not isinstance(policy, dict):
        return False
    if policy.get("Version", _VERSIONS[0]) not in _VERSIONS or not isinstance(policy.get("Id", ""), str):
        return False
    statements = policy.get("Statement")
    if isinstance(statements, dict):
        statements = [statements]
    return isinstance(statements, list) and bool(statements) and all(map(_is_statement, statements))


def _is_statement(statement: Any) -> bool:
    return (
        isinstance(statement, dict)
        and statement.get("Effect") in ("Allow", "Deny")
        and ("Principal" in statement) != ("NotPrincipal" in statement)
        and ("Action" in statement) != ("NotAction" in statement)
        and _is_principal(statement.get("Principal", statement.get("NotPrincipal")))
        and _is_texts(statement.get("Action", statement.get("NotAction")))
        and not ("Resource" in statement and "NotResource" in statement)
        and _is_texts(statement.get("Resource", statement.get("NotResource", "*")))
        and isinstance(statement.get("Sid", ""), str)
        and isinstance(statement.get("Condition", {}), dict)
    )


def _is_principal(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(map(_is_texts, value.values()))
    return bool(value == "*")


def _is_texts(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) for each in value)
    return isinstance(value, str)


def grant(
    text: str | None,
    arn: str,
    label: str,
    accounts: list[str],
    actions: list[str],
    vocabulary: Vocabulary = QUEUES,
) -> str:
    """The policy with one statement more, as AddPermission writes it."""
    _check_grant(label, accounts, actions, vocabulary)
    policy = _read(text, arn, vocabulary)
    if any(statement.get("Sid") == label for statement in policy["Statement"]):
        raise InvalidParameterValue(f"Value {label} for parameter Label is invalid. Reason: Already exists.")
    if len(policy["Statement"]) >= MAX_STATEMENTS:
        raise OverLimit(f"{len(policy['Statement']) + 1} statements were found, maximum allowed is {MAX_STATEMENTS}.")
    principals = [f"arn:aws:iam::{granted}:root" for granted in accounts]
    names = [f"{vocabulary.service.upper()}:{action}" for action in actions]
    policy["Statement"].append(
        {
            "Sid": label,
            "Effect": "Allow",
            "Principal": {"AWS": principals[0] if len(principals) == 1 else principals},
            "Action": names[0] if len(names) == 1 else names,
            "Resource": arn,
        }
    )
    granted = msgspec.json.encode(policy).decode()
    _check_size(granted, policy)
    return granted


def revoke(text: str | None, arn: str, label: str, vocabulary: Vocabulary = QUEUES) -> str | None:
    """The policy without the statement of that label; None if nothing is left."""
    if text is None:
        raise InvalidParameterValue(f"Value {label} for parameter Label is invalid. Reason: can't find label.")
    policy = _read(text, arn, vocabulary)
    left = [statement for statement in policy["Statement"] if statement.get("Sid") != label]
    if len(left) == len(policy["Statement"]):
        raise InvalidParameterValue(
            f"Value {label} for parameter Label is invalid. Reason: can't find label on existing policy."
        )
    policy["Statement"] = left
    return msgspec.json.encode(policy).decode() if left else None


def default(arn: str, owner: str, vocabulary: Vocabulary = TOPICS) -> str:
    """What a policy would say that leaves all as it is without one."""
    statement = {
        "Sid": "__default_statement_ID",
        "Effect": "Allow",
        "Principal": {"AWS": f"arn:aws:iam::{owner}:root"},
        "Action": sorted(f"{vocabulary.service.upper()}:{action}" for action in vocabulary.grantable),
        "Resource": arn,
    }
    return msgspec.json.encode({"Version": _VERSIONS[0], "Id": _TOPIC_ID, "Statement": [statement]}).decode()


def _read(text: str | None, arn: str, vocabulary: Vocabulary) -> dict[str, Any]:
    if text is None:
        id = f"{arn}/SQSDefaultPolicy" if vocabulary is QUEUES else _TOPIC_ID
        return {"Version": _VERSIONS[0], "Id": id, "Statement": []}
    policy: dict[str, Any] = msgspec.json.decode(text)
    if isinstance(policy["Statement"], dict):
        policy["Statement"] = [policy["Statement"]]
    return policy


def _check_grant(label: str, accounts: list[str], actions: list[str], vocabulary: Vocabulary) -> None:
    if not _LABEL.fullmatch(label):
        raise InvalidParameterValue(
            f"Value {label} for parameter Label is invalid. Reason: Can only include alphanumeric characters, "
            "hyphens, or underscores. 1 to 80 in length."
        )
    for account in accounts:
        if not _ACCOUNT.fullmatch(account):
            raise InvalidParameterValue(
                f"Value {account} for parameter PrincipalId is invalid. Reason: Unable to verify."
            )
    if not accounts:
        raise InvalidParameterValue("Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.")
    for action in actions:
        if action != "*" and action not in vocabulary.grantable:
            raise InvalidParameterValue(
                f"Value {vocabulary.service.upper()}:{action} for parameter ActionName is invalid. "
                f"Reason: Only the {vocabulary.what} owner is allowed to invoke this action."
            )
    if not actions:
        raise InvalidParameterValue("Value [] for parameter ActionName is invalid. Reason: Must not be empty.")
    if len(actions) > vocabulary.most_actions:
        raise OverLimit(f"{len(actions)} Actions were found, maximum allowed is {vocabulary.most_actions}.")
