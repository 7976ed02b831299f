"""``rockdove account remove``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.confirmation import confirm
from rockdove.cli.output import Output
from rockdove.client import account
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def remove(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")],
    yes: option.Yes = False,
    folder: place.Folder = None,
    store_url: place.StoreUrl = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Remove an account that owns no queues. Its id is never used again.

    \b
    Example:
      rockdove account remove bob --data data --yes
    """
    confirm(f"Remove the account {name} for good?", yes)
    with place.reach(ctx, folder, store_url, endpoint, region) as there:
        there.run(account.remove_account(there.names, name))
    output = Output(as_json)
    if as_json:
        output.document({"name": name, "removed": True})
    else:
        output.line(f"removed {name}")
