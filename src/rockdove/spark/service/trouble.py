"""What a service refuses, in words that tell a user of Spark what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from rockdove.core.errors import BatchTooOld, LeaseEnded, OverLimit, QueueDoesNotExist, RockdoveError
from rockdove.spark.service.place import Place


class Refused(RockdoveError):
    """The query cannot go on; the message tells why."""


@contextmanager
def told(place: Place, ended: str | None = None) -> Iterator[None]:
    """Faults that have a meaning of their own for queries are raised as `Refused`.

    ``ended`` is told of a lease that has ended, unless it is that of a stream.
    """
    try:
        yield
    except QueueDoesNotExist:
        raise Refused(f"there is no queue {place.name}: it was deleted, or never created") from None
    except LeaseEnded:
        raise Refused(
            ended
            or f"what this query wants to read of {place.name} was acknowledged or released already: its checkpoint is "
            "older than the queue, or another query has the same consumer. Begin a new checkpoint with a new consumer"
        ) from None
    except OverLimit as fault:
        raise Refused(
            f"{place.name} does not take that much at once: {fault.message} Cut what is written into more partitions "
            "(repartition)"
        ) from None
    except BatchTooOld:
        raise Refused(
            f"{place.name} has seen much newer batches of this application: the checkpoint is older than the queue, "
            "or two queries have the same option application"
        ) from None
