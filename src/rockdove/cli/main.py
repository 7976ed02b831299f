"""``rockdove``: all commands under one name."""

import typer

from rockdove.cli.serve import serve

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
app.command()(serve)


@app.callback()
def _root() -> None:
    """A message queue service that speaks Amazon SQS."""


def main() -> None:
    app()
