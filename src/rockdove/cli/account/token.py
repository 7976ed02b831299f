"""``rockdove account token``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.output import Output, note
from rockdove.client import account


@place.with_place
def token(
    name: place.Name,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="What the token is for.")] = "",
    remove: Annotated[
        str | None, typer.Option("--remove", metavar="ID", help="Take a token away instead: it works no more.")
    ] = None,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Make an access token of an account, for devices and scripts that cannot sign their requests.

    It is shown once, and works until it is removed. "rockdove account list --json" tells the ids of tokens.

    \b
    Examples:
      rockdove account token ann --label greenhouse
      rockdove account token ann --remove 3f9qk2m81xzd
    """
    output = Output(as_json)
    with reach() as there:
        if remove is not None:
            there.run(account.remove_account_token(there.names, name, remove))
            output.outcome({"removed_token_id": remove}, f"the token {remove} of {name} is removed")
            return
        made = there.run(account.add_account_token(there.names, name, label=label))
    if output.as_json:
        output.document({"account_id": made.account_id, "token_id": made.token_id, "token": made.token})
        return
    output.facts([("account", name), ("token id", made.token_id), ("token", made.token)])
    note("keep the token now: it is not shown again")
