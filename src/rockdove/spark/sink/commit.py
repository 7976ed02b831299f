"""What the driver does with a batch that all tasks have staged: publishes it, once and whole; or forgets it."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rockdove.client import Client
from rockdove.core.publication import Partly, Winner
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused, told
from rockdove.spark.sink import reject
from rockdove.spark.sink.stage import Staged


class Part(Struct):
    """The attempt at a partition that has succeeded, as Spark says."""

    partition: int
    attempt: str
    staged: Staged


class Batch:
    """A batch of an application. ``run`` is what the names of all attempts of this driver begin with."""

    def __init__(
        self, client: Client, place: QueuePlace, application: str, batch: int, run: str, rejects_path: str | None
    ) -> None:
        self._client = client
        self._place = place
        self._name = (application, batch)
        self._run = run
        self._rejects_path = rejects_path

    def publish(self, parts: Sequence[Part], partly: Partly) -> bool:
        """Whether this very call has published it: else it was published before, perhaps cut in another way."""
        queue = self._place.queue
        with told(self._place):
            if any(part.staged.published for part in parts):
                # A task has found it published, and did not stage: what others have staged is not all of it.
                self._forget_rejects(parts)
                if not self._client.stage_batch(queue, *self._name, f"{self._run}look").published:
                    raise Refused(
                        f"{self._place.name} was deleted and made again while this batch was written. Write it again"
                    )
                return False
            if self._rejects_path is not None:
                if self._client.stage_batch(queue, *self._name, f"{self._run}look").published:
                    self._forget_rejects(parts)
                    return False
                # Nobody has published it: what is there of rejects is of a run that never did.
                reject.settle(self._rejects_path, self._client.queue_url(queue), *self._name, _drafts(parts))
            winners = [Winner(part.attempt, part.staged.chunks, part.partition) for part in parts]
            return self._client.publish_batch(queue, *self._name, winners, partly=partly).published

    def abort(self, parts: Iterable[Part]) -> None:
        self._forget_rejects(parts)
        with told(self._place):
            self._client.abort_batch(self._place.queue, *self._name, self._run)

    def _forget_rejects(self, parts: Iterable[Part]) -> None:
        if self._rejects_path is not None:
            reject.forget(self._rejects_path, _drafts(parts))


def _drafts(parts: Iterable[Part]) -> list[str]:
    return [part.staged.rejects_draft for part in parts if part.staged.rejects_draft is not None]
