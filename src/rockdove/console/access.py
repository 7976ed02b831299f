"""Who else may use a queue: its policy, statement by statement, and granting and taking back."""

import json
import re
from typing import Any, Final

from msgspec import Struct
from starlette.routing import Route

from rockdove.console.place import API, queue_of
from rockdove.console.visit import Visit, action, reading
from rockdove.console.wrong import Wrong
from rockdove.core.errors import InvalidAttributeValue, InvalidParameterValue, OverLimit
from rockdove.core.permission import GRANTABLE

_POLICY: Final = "Policy"
_ACCOUNT: Final = re.compile(r"[0-9]{12}")
_ROOT: Final = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):root")
# Of what a form can grant, with "*" for all of it.
ACTIONS: Final = (*sorted(GRANTABLE), "*")


class Statement(Struct):
    """``label`` is empty where it has none: then only the whole policy can be edited."""

    label: str
    allows: bool
    who: list[str]
    actions: list[str]
    # In JSON; empty without.
    conditions: str


class Access(Struct):
    policy: str
    statements: list[Statement]


class Grant(Struct):
    """``accounts``: ids, with commas or spaces between them."""

    label: str
    accounts: str
    actions: list[str]


class Label(Struct):
    label: str


class Policy(Struct):
    """Empty: nobody else may use the queue."""

    policy: str


def statements(text: str) -> list[Statement]:
    """Of a policy that the service has taken."""
    policy: dict[str, Any] = json.loads(text or "{}")
    found = policy.get("Statement", [])
    return [_statement(each) for each in (found if isinstance(found, list) else [found])]


def _statement(found: dict[str, Any]) -> Statement:
    others = "NotPrincipal" in found
    who = [_person(each) for each in _texts(found.get("Principal", found.get("NotPrincipal", [])))]
    actions = [each.rpartition(":")[2] for each in _texts(found.get("Action", found.get("NotAction", [])))]
    conditions = found.get("Condition")
    return Statement(
        label=found.get("Sid", ""),
        allows=found.get("Effect") == "Allow",
        who=[f"all but {', '.join(who)}"] if others else who,
        actions=[f"all but {', '.join(actions)}"] if "NotAction" in found else actions,
        conditions=json.dumps(conditions) if conditions else "",
    )


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
        case _:
            return list(value)


def _person(text: str) -> str:
    if text == "*":
        return "everybody"
    found = _ROOT.fullmatch(text)
    return found[1] if found else text


def accounts(text: str) -> list[str]:
    """Raises `Wrong`."""
    found = [each for each in re.split(r"[\s,;]+", text) if each]
    if not found:
        raise Wrong("Name at least one account by its id, 12 digits.", "accounts")
    for each in found:
        if not _ACCOUNT.fullmatch(each):
            raise Wrong(f"{each} is no account's id: those have 12 digits.", "accounts")
    return found


async def access(visit: Visit) -> Access:
    told = await visit.client.attributes(queue_of(visit), [_POLICY])
    text = told.get(_POLICY, "")
    return Access(json.dumps(json.loads(text), indent=2) if text else "", statements(text))


async def grant(visit: Visit, order: Grant) -> None:
    queue, ids = queue_of(visit), accounts(order.accounts)
    if not order.label.strip():
        raise Wrong("Give the permission a label, by which it can be taken back.", "label")
    if not order.actions:
        raise Wrong("Choose at least one action.", "actions")
    chosen = ["*"] if "*" in order.actions else order.actions
    try:
        await visit.client.add_permission(queue, order.label.strip(), ids, chosen)
    except (InvalidParameterValue, OverLimit) as fault:
        raise Wrong(fault.message, _field_of(fault.message)) from None


def _field_of(text: str) -> str:
    return "accounts" if "PrincipalId" in text else "actions" if "Action" in text else "label"


async def revoke(visit: Visit, order: Label) -> None:
    await visit.client.remove_permission(queue_of(visit), order.label)


async def set_policy(visit: Visit, order: Policy) -> None:
    queue, text = queue_of(visit), order.policy.strip()
    try:
        json.loads(text or "{}")
    except ValueError as error:
        raise Wrong(f"This is not JSON: {error}.", "policy") from None
    try:
        await visit.client.set_attributes(queue, {_POLICY: text})
    except (InvalidAttributeValue, InvalidParameterValue, OverLimit) as fault:
        raise Wrong(fault.message, "policy") from None


ROUTES = [
    Route(f"{API}/access", reading(access), methods=["GET"]),
    Route(f"{API}/access/grant", action(Grant, grant), methods=["POST"]),
    Route(f"{API}/access/revoke", action(Label, revoke), methods=["POST"]),
    Route(f"{API}/access/policy", action(Policy, set_policy), methods=["POST"]),
]
