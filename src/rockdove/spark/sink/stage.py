"""The rows of a task, kept by Rockdove until the driver says which attempts count."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from rockdove.client import Client
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import told
from rockdove.spark.sink.chunk import cut
from rockdove.spark.sink.reject import Origin, Reject, draft, refuse
from rockdove.spark.sink.row import SinkRow

# Messages of one request, as many as the service takes.
_CHUNK: Final = 1_000


class Staged(Struct):
    """What an attempt has staged. ``published``: the batch is published already, and nothing more was taken."""

    chunks: int = 0
    rows: int = 0
    rejects: int = 0
    # The file that waits for the batch to be published.
    rejects_draft: str | None = None
    published: bool = False


class Staging:
    """One attempt at one partition."""

    def __init__(
        self, client: Client, place: QueuePlace, origin: Origin, attempt: str, rejects_path: str | None
    ) -> None:
        self._client = client
        self._place = place
        self._origin = origin
        self._attempt = attempt
        self._rejects_path = rejects_path
        self._rejects: list[Reject] = []
        self._staged = Staged()

    def write(self, rows: Iterable[SinkRow]) -> Staged:
        staged = self._staged
        for chunk in cut(rows, _CHUNK):
            # Spark uses a worker again only if that has read all that it was given.
            if not staged.published:
                self._reject(chunk.rejects)
                self._stage(chunk.rows)
        if staged.published:
            return staged
        staged.rejects = len(self._rejects)
        if self._rejects and self._rejects_path is not None:
            queue = self._client.queue_url(self._place.queue)
            staged.rejects_draft = draft(self._rejects_path, queue, self._origin, self._rejects)
        return staged

    def _stage(self, rows: list[SinkRow]) -> None:
        """Those of them that the service takes: if it refuses some, it has taken none, and is asked again."""
        while rows and not self._staged.published:
            rows = self._ask(rows)

    def _ask(self, rows: list[SinkRow]) -> list[SinkRow]:
        """The rows to ask with again."""
        staged, origin = self._staged, self._origin
        messages = [row.message for row in rows]
        with told(self._place):
            answer = self._client.stage_batch(
                self._place.queue, origin.application, origin.batch, self._attempt, messages, chunk=staged.chunks
            )
        if answer.failed:
            wrong = {int(each.id): each for each in answer.failed}
            self._reject([Reject(rows[at], each.code, each.message or "") for at, each in wrong.items()])
            return [row for at, row in enumerate(rows) if at not in wrong]
        if answer.published:
            staged.published = True
        else:
            staged.chunks += 1
            staged.rows += len(rows)
        return []

    def _reject(self, rejects: list[Reject]) -> None:
        self._rejects += rejects
        if self._rejects and self._rejects_path is None:
            raise refuse(self._origin, self._rejects)
