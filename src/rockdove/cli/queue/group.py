"""The group of commands on queues."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Queue(LazyGroup):
    places = {
        "create": "rockdove.cli.queue.create:create",
        "list": "rockdove.cli.queue.list:list_queues",
        "show": "rockdove.cli.queue.show:show",
        "set": "rockdove.cli.queue.set:set_attributes",
        "purge": "rockdove.cli.queue.purge:purge",
        "delete": "rockdove.cli.queue.delete:delete",
        "move": "rockdove.cli.queue.move:move",
    }


app = new_app(cls=_Queue, invoke_without_command=True)


@app.callback()
def _queue(ctx: typer.Context) -> None:
    """Create, look at, change and delete queues.

    \b
    Example:
      rockdove queue create jobs --attribute VisibilityTimeout=60
      rockdove queue list
    """
    help_if_alone(ctx)
