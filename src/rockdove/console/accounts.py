"""The page ``/accounts``, for administrators: who may use the service, with which keys, passwords and tokens.

Secrets go to the page that asked for them, once: they are neither kept nor logged here.
"""

from typing import Final

from msgspec import Struct
from starlette.responses import Response
from starlette.routing import Route

from rockdove.client import ListedAccount
from rockdove.console.visit import Visit, action, page, reading
from rockdove.console.wrong import Wrong
from rockdove.core.account import MAX_LABEL_LENGTH, MAX_NAME_LENGTH, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from rockdove.core.errors import AccountConflict, AccountExists, InvalidParameterValue

_API: Final = "/api/accounts"
_ONE: Final = f"{_API}/{{name}}"
_LIMITS: Final = {
    "name": MAX_NAME_LENGTH,
    "label": MAX_LABEL_LENGTH,
    "password": MAX_PASSWORD_LENGTH,
    "least": MIN_PASSWORD_LENGTH,
}


class _Hidden:
    """Mixed in where a password or a secret is: it must not end up in a log or a traceback."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class NewAccount(_Hidden, Struct):
    """Without a password, one cannot sign in to the console."""

    name: str
    admin: bool = False
    password: str = ""


class Password(_Hidden, Struct):
    password: str


class NewKey(_Hidden, Struct):
    """The one time that the secret is told."""

    account: str
    id: str
    access_key: str
    secret_key: str


class NewToken(_Hidden, Struct):
    """The one time that the token is told."""

    account: str
    id: str
    token: str


class Finish(Struct):
    """Retires the old key of two, or, to cancel, the new one."""

    cancel: bool = False


class Label(Struct):
    label: str = ""


class TokenId(Struct):
    id: str


class State(Struct):
    enabled: bool


class Sure(Struct):
    """The name of the account, as somebody has typed it."""

    typed: str


class Key(Struct):
    """Times are seconds since 1970."""

    access_key: str
    created: int


class Token(Struct):
    id: str
    label: str
    created: int


class Listed(Struct):
    """``keys``: the newest last. ``is_own``: of who looks at it."""

    id: str
    name: str
    admin: bool
    enabled: bool
    has_password: bool
    created: int
    keys: list[Key]
    tokens: list[Token]
    is_own: bool


async def show(visit: Visit) -> Response:
    return visit.render("accounts.html", limits=_LIMITS, is_first=_is_first(visit))


def _is_first(visit: Visit) -> bool:
    """Whether there are no accounts: then everybody is let in, until there is the first one."""
    return not visit.session.id


def listed(found: ListedAccount, own_id: str | None) -> Listed:
    return Listed(
        id=found.account_id,
        name=found.account_name,
        admin=found.admin,
        enabled=found.state == "enabled",
        has_password=found.has_password,
        created=found.created_timestamp,
        keys=[Key(key.access_key, key.created_timestamp) for key in found.keys],
        tokens=[Token(token.token_id, token.label, token.created_timestamp) for token in found.tokens],
        is_own=found.account_id == own_id,
    )


async def accounts(visit: Visit) -> dict[str, list[Listed]]:
    own_id = None if _is_first(visit) else visit.session.account.id
    return {"accounts": [listed(each, own_id) for each in await visit.client.list_accounts()]}


async def add(visit: Visit, new: NewAccount) -> NewKey:
    name = new.name.strip()
    if not name:
        raise Wrong("Give the account a name.", "name")
    if _is_first(visit) and not new.password:
        raise Wrong("The first account needs a password: from then on, the console asks for it.", "password")
    try:
        made = await visit.client.add_account(name, admin=new.admin or _is_first(visit), password=new.password or None)
    except AccountExists as fault:
        raise Wrong(f"{fault.message} Choose another name.", "name") from None
    except InvalidParameterValue as fault:
        raise Wrong(fault.message, "password" if "password" in fault.message else "name") from None
    return NewKey(name, made.account_id, made.access_key, made.secret_key)


async def set_password(visit: Visit, new: Password) -> None:
    """Whoever is signed in with the earlier one is signed out."""
    name = _name(visit)
    try:
        await visit.client.set_account_password(name, new.password)
    except InvalidParameterValue as fault:
        raise Wrong(fault.message, "password") from None
    await _sign_out(visit, name)


async def rotate(visit: Visit, _: Label) -> NewKey:
    name = _name(visit)
    made = await visit.client.rotate_account_key(name)
    return NewKey(name, made.account_id, made.access_key, made.secret_key)


async def finish(visit: Visit, order: Finish) -> dict[str, str]:
    ended = await visit.client.finish_account_rotation(_name(visit), cancel=order.cancel)
    return {"kept": ended.access_key, "retired": ended.retired_access_key}


async def add_token(visit: Visit, label: Label) -> NewToken:
    name = _name(visit)
    try:
        made = await visit.client.add_account_token(name, label=label.label.strip())
    except (InvalidParameterValue, AccountConflict) as fault:
        raise Wrong(fault.message, "label") from None
    return NewToken(name, made.token_id, made.token)


async def remove_token(visit: Visit, token: TokenId) -> None:
    await visit.client.remove_account_token(_name(visit), token.id)


async def set_state(visit: Visit, state: State) -> None:
    name = _name(visit)
    await visit.client.set_account_state(name, "enabled" if state.enabled else "disabled")
    if not state.enabled:
        await _sign_out(visit, name)


async def remove(visit: Visit, sure: Sure) -> None:
    name = _name(visit)
    if sure.typed.strip() != name:
        raise Wrong(f"This is not the account's name. Type {name} to confirm.", "typed")
    found = [each.account_id for each in await visit.client.list_accounts() if each.account_name == name]
    await visit.client.remove_account(name)
    for account_id in found:
        visit.console.sessions.end_account(account_id)


async def _sign_out(visit: Visit, name: str) -> None:
    """Everywhere. Its tokens are refused by the service anyway; this way its open pages learn so at once."""
    for each in await visit.client.list_accounts():
        if each.account_name == name:
            visit.console.sessions.end_account(each.account_id)


def _name(visit: Visit) -> str:
    name: str = visit.request.path_params["name"]
    return name


ROUTES = [
    Route("/accounts", page(show, admin=True)),
    Route(_API, reading(accounts, admin=True), methods=["GET"]),
    Route(_API, action(NewAccount, add, admin=True), methods=["POST"]),
    Route(f"{_ONE}/password", action(Password, set_password, admin=True), methods=["POST"]),
    Route(f"{_ONE}/rotate", action(Label, rotate, admin=True), methods=["POST"]),
    Route(f"{_ONE}/finish", action(Finish, finish, admin=True), methods=["POST"]),
    Route(f"{_ONE}/tokens", action(Label, add_token, admin=True), methods=["POST"]),
    Route(f"{_ONE}/tokens/remove", action(TokenId, remove_token, admin=True), methods=["POST"]),
    Route(f"{_ONE}/state", action(State, set_state, admin=True), methods=["POST"]),
    Route(f"{_ONE}/remove", action(Sure, remove, admin=True), methods=["POST"]),
]
