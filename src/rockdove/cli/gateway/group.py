"""The group of commands that let devices in."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Gateway(LazyGroup):
    places = {
        "mqtt": "rockdove.cli.gateway.mqtt:mqtt",
        "coap": "rockdove.cli.gateway.coap:coap",
    }


app = new_app(cls=_Gateway, invoke_without_command=True)


@app.callback()
def _gateway(ctx: typer.Context) -> None:
    """Let devices send to queues, and get commands from them, by protocols of their own.

    \b
    Example:
      rockdove gateway mqtt --endpoint http://127.0.0.1:9324
    """
    help_if_alone(ctx)
