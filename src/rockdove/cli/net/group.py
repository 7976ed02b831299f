"""The group of commands on Petri nets."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Net(LazyGroup):
    places = {
        "list": "rockdove.cli.net.list:list_nets",
        "show": "rockdove.cli.net.show:show",
        "draw": "rockdove.cli.net.draw:draw",
        "step": "rockdove.cli.net.step:step",
        "export": "rockdove.cli.net.export:export",
    }


app = new_app(cls=_Net, invoke_without_command=True)


@app.callback()
def _net(ctx: typer.Context) -> None:
    """Look at Petri nets: those of the performance model, and your own.

    Needs rockdove[capacity]. A net is one that "rockdove net list" shows, or FILE.py:NAME for a net of
    yours: the file is run, and NAME in it is a rockdove.capacity.petri.Net, or a function without
    arguments that makes one.

    \b
    Example:
      rockdove net list
      rockdove net draw Send_Proc --out send.svg
      rockdove net step mine.py:net
    """
    help_if_alone(ctx)
