"""What a service refuses, in words that tell a user of Spark what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from rockdove.client import UnexpectedAnswer
from rockdove.core.errors import (
    BatchPartlyPublished,
    BatchTooOld,
    InvalidAction,
    InvalidAttributeName,
    LeaseEnded,
    OverLimit,
    QueueDoesNotExist,
    RockdoveError,
    UnknownOperation,
)
from rockdove.spark.service.place import SERVICE, QueuePlace


class Refused(RockdoveError):
    """The query cannot go on; the message tells why."""


def same_queue(place: QueuePlace, name: str) -> None:
    """Raises `Refused` if a checkpoint has the name of another queue. Old ones have none."""
    if name and name != place.queue_name:
        raise Refused(
            f"the checkpoint is that of the queue {name}, not of {place.queue_name}: begin a new checkpoint, or read "
            f"{name} with this one"
        )


@contextmanager
def told(place: QueuePlace, ended: str | None = None) -> Iterator[None]:
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
            "older than the queue, or a copy of another query's. Begin a new checkpoint"
        ) from None
    except OverLimit as fault:
        raise Refused(
            f"{place.name} does not take that much at once: {fault.message} Cut what is written into more partitions "
            "(repartition)"
        ) from None
    except (InvalidAttributeName, InvalidAction, UnknownOperation, UnexpectedAnswer) as error:
        if place.service != "rockdove":
            raise
        raise Refused(
            f"{place.name} does not answer as Rockdove does ({error}): the option {SERVICE} says that it is. For "
            "another service say sqs, or leave the option out"
        ) from None
    except BatchPartlyPublished:
        raise Refused(
            f"an older Rockdove has sent some partitions of this batch to {place.name}, and nobody knows which rows "
            "they had. Look what is in the queue, and set the option partlyPublished: match sends the other "
            "partitions, and is right only if each has the same rows as then (their number is checked); skip leaves it "
            "at that; again sends the whole batch"
        ) from None
    except BatchTooOld as fault:
        raise Refused(
            f"{place.name}: {fault.message} The query was started again too late, its checkpoint is an old copy, or "
            "two queries have the same option application. Look what is in the queue, and begin a new checkpoint"
        ) from None
