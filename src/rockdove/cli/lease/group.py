"""The group of commands on leases."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Lease(LazyGroup):
    places = {
        "list": "rockdove.cli.lease.list:list_leases",
        "ack": "rockdove.cli.lease.ack:ack",
        "release": "rockdove.cli.lease.release:release",
    }


app = new_app(cls=_Lease, invoke_without_command=True)


@app.callback()
def _lease(ctx: typer.Context) -> None:
    """See who has leased messages of a queue, delete them, or give them back.

    \b
    Example:
      rockdove lease list jobs
      rockdove lease release jobs nightly
    """
    help_if_alone(ctx)
