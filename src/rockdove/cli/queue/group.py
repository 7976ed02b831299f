"""The group of commands on queues."""

from rockdove.cli.command import LazyGroup, new_app


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


app = new_app(cls=_Queue, no_args_is_help=True)


@app.callback()
def _queue() -> None:
    """Create, look at, change and delete queues.

    \b
    Example:
      rockdove queue create jobs --attribute VisibilityTimeout=60
      rockdove queue list
    """
