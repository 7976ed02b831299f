"""``rockdove account password``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.account.secret import ask_password, read_password
from rockdove.cli.output import Output
from rockdove.client import account


@place.with_place
def password(
    name: place.Name,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read it from standard input instead of asking.")
    ] = False,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Give an account another password for the console.

    It is asked for, or read from standard input; as an argument others on this machine could see it.

    \b
    Examples:
      rockdove account password ann --data data
      pwgen 20 1 | rockdove account password ann --password-stdin
    """
    chosen = read_password() if password_stdin else ask_password(name)
    with reach() as there:
        there.run(account.set_account_password(there.names, name, chosen))
    Output(as_json).outcome({"name": name, "has_password": True}, f"{name} has a new password")
