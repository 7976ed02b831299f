"""Many messages into a queue of Rockdove and out of it, a thousand at a time."""

from collections.abc import Sequence

from rockdove.client import Client

_CHUNK = 1_000


def fill(client: Client, queue: str, bodies: Sequence[str], application: str = "fill") -> None:
    for batch, begin in enumerate(range(0, len(bodies), _CHUNK)):
        answer = client.publish_once(queue, application, batch, 0, "only", bodies[begin : begin + _CHUNK])
        assert answer.published


def empty(client: Client, queue: str) -> list[str]:
    """The bodies of all that is visible, which is deleted."""
    bodies: list[str] = []
    sequence = 0
    while messages := client.lease_batch(queue, "empty", 0, sequence).messages:
        bodies += [message.body for message in messages]
        sequence += 1
    client.ack_through(queue, "empty")
    return bodies
