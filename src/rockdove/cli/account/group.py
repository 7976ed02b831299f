"""The group of commands on accounts."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Account(LazyGroup):
    places = {
        "add": "rockdove.cli.account.add:add",
        "list": "rockdove.cli.account.list:list_accounts",
        "password": "rockdove.cli.account.password:password",
        "rotate": "rockdove.cli.account.rotate:rotate",
        "token": "rockdove.cli.account.token:token",
        "disable": "rockdove.cli.account.disable:disable",
        "enable": "rockdove.cli.account.enable:enable",
        "remove": "rockdove.cli.account.remove:remove",
    }


app = new_app(cls=_Account, invoke_without_command=True)


@app.callback()
def _account(ctx: typer.Context) -> None:
    """Say who may use a service: accounts, their keys and their passwords.

    Ask a running service as one of its administrators (--endpoint, with AWS_ACCESS_KEY_ID and
    AWS_SECRET_ACCESS_KEY), or open the data folder of one that does not run (--data).

    \b
    Example:
      rockdove account add ann --data data
      rockdove account list --data data
    """
    help_if_alone(ctx)
