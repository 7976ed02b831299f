"""``rockdove account disable``."""

from typing import Annotated

import typer

from rockdove.cli import option
from rockdove.cli.account import place
from rockdove.cli.output import Output
from rockdove.client import account
from rockdove.client.endpoint import DEFAULT_ENDPOINT


def disable(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The account's name.")],
    folder: place.Folder = None,
    store_url: place.StoreUrl = None,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Refuse an account's keys and password until it is enabled again.

    Its queues and messages stay.

    \b
    Example:
      rockdove account disable bob --data data
    """
    with place.reach(ctx, folder, store_url, endpoint, region) as there:
        there.run(account.set_account_state(there.names, name, "disabled"))
    output = Output(as_json)
    if as_json:
        output.document({"name": name, "state": "disabled"})
    else:
        output.line(f"{name} is disabled")
