"""A client for the service that a command talks to."""

from collections.abc import Iterator
from contextlib import contextmanager

from rockdove.cli.failure import Code, Failure
from rockdove.client import Client, UnexpectedAnswer, Unreachable
from rockdove.core.errors import QueueDoesNotExist


@contextmanager
def connect(endpoint: str, region: str | None, queue: str | None = None) -> Iterator[Client]:
    """``queue`` is the one that the command is about: if it is missing, the user is told which."""
    try:
        client = Client(endpoint, region=region)
    except ValueError as error:
        raise Failure(str(error), Code.USAGE) from None
    with client, telling(client.endpoint, queue):
        yield client


@contextmanager
def telling(endpoint: str, queue: str | None) -> Iterator[None]:
    """Tell which queue there is not, or that there is no service."""
    try:
        yield
    except (Unreachable, UnexpectedAnswer) as error:
        raise Failure(str(error), Code.UNREACHABLE) from error
    except QueueDoesNotExist:
        if queue is None:
            raise
        raise Failure(
            f'there is no queue {queue} at {endpoint}; "rockdove queue list" shows the queues that there are',
            Code.NOT_FOUND,
        ) from None


def name_of(queue: str) -> str:
    """A queue's name, from its URL or ARN."""
    return queue.rpartition("/")[2].rpartition(":")[2]
