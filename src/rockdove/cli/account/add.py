"""``rockdove account add``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.account.secret import read_password, show_key
from rockdove.cli.output import Output
from rockdove.client import account


@place.with_place
def add(
    name: place.Name,
    admin: Annotated[
        bool, typer.Option("--admin", help="An administrator, who may change accounts; the first one always is.")
    ] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read its password for the console from standard input.")
    ] = False,
    as_json: option.Json = False,
    *,
    reach: place.Reach,
) -> None:
    """Add an account, and print its id, access key and secret key.

    The secret key is shown this once. The first account is an administrator and owns the queues that
    are there already; from then on the service refuses requests that are not signed.

    \b
    Examples:
      rockdove account add ann --data data
      rockdove account add bob --endpoint http://127.0.0.1:9324
      pwgen 20 1 | rockdove account add cyd --admin --password-stdin
    """
    password = read_password() if password_stdin else None
    with reach(create=True) as there:
        made = there.run(account.add_account(there.names, name, admin=admin, password=password))
    output = Output(as_json)
    if as_json:
        output.document({"account_id": made.account_id, "access_key": made.access_key, "secret_key": made.secret_key})
    else:
        show_key(output, name, made.account_id, made.access_key, made.secret_key)
