"""What a consumer holds, for commands that are about to end it."""

from rockdove.cli.failure import Code, Failure
from rockdove.client import Client


def held(client: Client, queue: str, consumer: str) -> int:
    """How many messages. Raises `Failure` if it has no lease: a name with a slip in it must not look like success."""
    holders = client.list_leases(queue, consumer).consumers
    if not holders:
        raise Failure(
            f'{consumer} holds no leases of {queue}; "rockdove lease list {queue}" shows who does', Code.NOT_FOUND
        )
    return holders[0].messages
