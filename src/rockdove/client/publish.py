"""Publishing once, as steps. A queue is given by its name or its URL."""

from collections.abc import Iterable, Sequence

from rockdove.client.message import batch_entry
from rockdove.client.outgoing import Outgoing
from rockdove.client.step import Names, Steps, ask, tell
from rockdove.core.publication import Partly, Winner
from rockdove.wire import publish as shape
from rockdove.wire.shape import SendMessageBatchRequestEntry


def publish_once(
    names: Names,
    queue: str,
    application: str,
    batch: int,
    partition: int,
    attempt: str,
    messages: Iterable[str | Outgoing] = (),
    *,
    chunk: int = 0,
    final: bool = True,
) -> Steps[shape.PublishOnceResult]:
    """Stage one chunk of messages (1,000 and 8 MiB at most); if it is the final one, publish all chunks of the attempt.

    The ids in ``failed`` are places in this chunk, from 0; if there are any, nothing of the chunk was staged.
    """
    url = yield from names.url(queue)
    request = shape.PublishOnce(
        queue_url=url,
        application=application,
        batch=batch,
        partition=partition,
        attempt=attempt,
        chunk=chunk,
        final=final or None,
        entries=_entries(messages),
    )
    return (yield from ask(request, shape.PublishOnceResult))


def stage_batch(
    names: Names,
    queue: str,
    application: str,
    batch: int,
    attempt: str,
    messages: Iterable[str | Outgoing] = (),
    *,
    chunk: int = 0,
) -> Steps[shape.StageBatchResult]:
    """Stage one chunk of messages (1,000 and 8 MiB at most) of an attempt; they are counted from 0.

    The ids in ``failed`` are places in this chunk, from 0; if there are any, nothing of the chunk was staged.
    """
    url = yield from names.url(queue)
    request = shape.StageBatch(
        queue_url=url,
        application=application,
        batch=batch,
        attempt=attempt,
        chunk=chunk,
        entries=_entries(messages),
    )
    return (yield from ask(request, shape.StageBatchResult))


def publish_batch(
    names: Names, queue: str, application: str, batch: int, attempts: Sequence[Winner], *, partly: Partly = "refuse"
) -> Steps[shape.PublishBatchResult]:
    """Publish what these attempts have staged, all of it together, unless the batch is published already.

    Returns when all of it is in the queue.
    """
    url = yield from names.url(queue)
    request = shape.PublishBatch(
        queue_url=url,
        application=application,
        batch=batch,
        attempts=[
            shape.CountedAttempt(attempt=each.attempt, chunks=each.chunks, partition=each.partition)
            for each in attempts
        ],
        partly=None if partly == "refuse" else partly,
    )
    answer = yield from ask(request, shape.PublishBatchResult)
    published = answer.published
    while not answer.landed:
        answer = yield from ask(request, shape.PublishBatchResult)
    return shape.PublishBatchResult(published=published, messages=answer.messages, landed=True)


def abort_batch(names: Names, queue: str, application: str, batch: int, prefix: str) -> Steps[None]:
    """Forget what attempts have staged whose names begin so."""
    url = yield from names.url(queue)
    yield from tell(shape.AbortBatch(queue_url=url, application=application, batch=batch, prefix=prefix))


def _entries(messages: Iterable[str | Outgoing]) -> list[SendMessageBatchRequestEntry]:
    drafts = (message if isinstance(message, Outgoing) else Outgoing(body=message) for message in messages)
    return [batch_entry(place, message) for place, message in enumerate(drafts)]
