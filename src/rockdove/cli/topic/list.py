"""``rockdove topic list``."""

from rockdove.cli import option
from rockdove.cli.output import Output, note
from rockdove.cli.service import connect, name_of
from rockdove.client import Client
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.core.errors import TopicNotFound


def list_topics(
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """List topics, and how many queues each has.

    \b
    Example:
      rockdove topic list
    """
    with connect(endpoint, region) as client:
        rows = [row for arn in client.list_topics() if (row := _row(client, arn)) is not None]
        where = client.endpoint
    output = Output(as_json)
    if as_json:
        output.document({"Topics": rows})
    elif rows:
        told = [[str(row["TopicName"]), f"{row['Subscriptions']:,}", str(row["TopicArn"])] for row in rows]
        output.table(("topic", "queues", "ARN"), told, numbers=(1,))
    else:
        note(f'no topic at {where}; make one with "rockdove topic create NAME"')


def _row(client: Client, arn: str) -> dict[str, str | int] | None:
    try:
        attributes = client.topic_attributes(arn)
    except TopicNotFound:
        # Deleted since we asked for the list.
        return None
    return {"TopicName": name_of(arn), "TopicArn": arn, "Subscriptions": int(attributes["SubscriptionsConfirmed"])}
