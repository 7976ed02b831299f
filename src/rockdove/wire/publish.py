"""The requests and results of publishing once, all ours; see `rockdove.wire.shape`."""

from rockdove.wire.lease import Long
from rockdove.wire.shape import BatchResultErrorEntry, Integer, Request, Result, SendMessageBatchRequestEntry


class PublishOnce(Request, kw_only=True):
    """Send the messages of one partition of a batch, of whichever attempt is the first to finish."""

    queue_url: str
    application: str
    batch: Long
    partition: Integer
    attempt: str
    chunk: Integer
    final: bool | None = None
    entries: list[SendMessageBatchRequestEntry] = []


class PublishOnceResult(Result, kw_only=True):
    # Whether the messages of this very attempt are in the queue.
    published: bool
    # The attempt whose messages are.
    winner: str | None = None
    # How many this attempt has staged, or the winner has published.
    messages: int
    failed: list[BatchResultErrorEntry] = []


class StageBatch(Request, kw_only=True):
    """Keep messages of a batch until somebody says which attempts count."""

    queue_url: str
    application: str
    batch: Long
    attempt: str
    chunk: Integer
    entries: list[SendMessageBatchRequestEntry] = []


class StageBatchResult(Result, kw_only=True):
    # Whether the batch is published already: then nothing was taken.
    published: bool
    # How many this attempt has staged, or the batch has.
    messages: int
    failed: list[BatchResultErrorEntry] = []


class CountedAttempt(Request, kw_only=True):
    """An attempt that counts: how many chunks it has staged, and at which partition it is one."""

    attempt: str
    chunks: Integer
    partition: Integer | None = None


class PublishBatch(Request, kw_only=True):
    """Send what these attempts have staged, all of it together, unless the batch is published already."""

    queue_url: str
    application: str
    batch: Long
    attempts: list[CountedAttempt]
    # Of a batch of which PublishOnce has published partitions.
    partly: str | None = None


class PublishBatchResult(Result, kw_only=True):
    # Whether this very request has published it.
    published: bool
    messages: int
    # Whether all of it is in the queue by now; else it is on its way.
    landed: bool


class AbortBatch(Request, kw_only=True):
    """Forget what attempts have staged whose names begin so."""

    queue_url: str
    application: str
    batch: Long
    prefix: str
