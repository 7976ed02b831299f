"""The group of commands on topics."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Topic(LazyGroup):
    places = {
        "create": "rockdove.cli.topic.create:create",
        "list": "rockdove.cli.topic.list:list_topics",
        "show": "rockdove.cli.topic.show:show",
        "set": "rockdove.cli.topic.set:set_attributes",
        "subscribe": "rockdove.cli.topic.subscribe:subscribe",
        "unsubscribe": "rockdove.cli.topic.unsubscribe:unsubscribe",
        "publish": "rockdove.cli.topic.publish:publish",
        "delete": "rockdove.cli.topic.delete:delete",
    }


app = new_app(cls=_Topic, invoke_without_command=True)


@app.callback()
def _topic(ctx: typer.Context) -> None:
    """Publish one message to many queues.

    \b
    Example:
      rockdove topic create orders
      rockdove topic subscribe orders billing
      rockdove topic publish orders "order 1"
    """
    help_if_alone(ctx)
