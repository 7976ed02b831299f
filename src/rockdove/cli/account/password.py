"""``rockdove account password``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.account.secret import ask_password, read_password
from rockdove.cli.output import Output
from rockdove.client import account
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def password(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")],
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read it from standard input instead of asking.")
    ] = False,
    folder: place.Folder = None,
    store_url: place.StoreUrl = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Give an account another password for the console.

    It is asked for, or read from standard input; as an argument others on this machine could see it.

    \b
    Examples:
      rockdove account password ann --data data
      pwgen 20 1 | rockdove account password ann --password-stdin
    """
    chosen = read_password() if password_stdin else ask_password(name)
    with place.reach(ctx, folder, store_url, endpoint, region) as there:
        there.run(account.set_account_password(there.names, name, chosen))
    output = Output(as_json)
    if as_json:
        output.document({"name": name, "has_password": True})
    else:
        output.line(f"{name} has a new password")
