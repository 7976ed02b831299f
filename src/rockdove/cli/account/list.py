"""``rockdove account list``."""

from typing import Any

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.figure import moment
from rockdove.cli.output import Output, note
from rockdove.client import account
from rockdove.wire.account import ListedAccount


@place.with_place
def list_accounts(
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """List accounts, with their access keys. Secret keys are never shown again.

    \b
    Examples:
      rockdove account list --data data
      rockdove account list --json
    """
    with reach() as there:
        accounts = there.run(account.list_accounts(there.names))
    output = Output(as_json)
    if as_json:
        output.document({"accounts": [_document(one) for one in accounts]})
    elif accounts:
        output.table(("account", "id", "role", "state", "password", "access keys", "since"), [*map(_row, accounts)])
    else:
        note('there are no accounts; add the first with "rockdove account add NAME"')


def _row(one: ListedAccount) -> list[str]:
    keys = ", ".join(key.access_key for key in one.keys)
    role = "administrator" if one.admin else "user"
    password = "set" if one.has_password else "none"
    return [one.account_name, one.account_id, role, one.state, password, keys, moment(one.created_timestamp)]


def _document(one: ListedAccount) -> dict[str, Any]:
    return {
        "account_id": one.account_id,
        "name": one.account_name,
        "admin": one.admin,
        "state": one.state,
        "has_password": one.has_password,
        "created": one.created_timestamp,
        "keys": [{"access_key": key.access_key, "created": key.created_timestamp} for key in one.keys],
        "tokens": [
            {"token_id": token.token_id, "label": token.label, "created": token.created_timestamp}
            for token in one.tokens
        ],
    }
