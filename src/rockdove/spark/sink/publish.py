"""The rows of a task into a queue of Rockdove: all of them, once, whichever attempt is the first to finish."""

from collections.abc import Iterable
from typing import Final

from rockdove.client import Client
from rockdove.spark.service.place import Place
from rockdove.spark.service.trouble import Refused, told
from rockdove.spark.sink.chunk import cut
from rockdove.spark.sink.reject import Origin, Reject, keep, refuse
from rockdove.spark.sink.row import Row

# Messages of one request, as many as the service takes.
_CHUNK: Final = 1_000


class Publication:
    """One attempt at one partition."""

    def __init__(self, client: Client, place: Place, origin: Origin, attempt: str, rejects_path: str | None) -> None:
        self._client = client
        self._place = place
        self._origin = origin
        self._attempt = attempt
        self._rejects_path = rejects_path
        self._rejects: list[Reject] = []
        self._rows = 0
        self._chunks = 0
        # What another attempt has published, as soon as it is told.
        self._published: int | None = None

    def write(self, rows: Iterable[Row]) -> tuple[int, int]:
        """How many rows are in the queue now, by this attempt or another, and how many are not."""
        held: list[Row] = []
        for chunk in cut(rows, _CHUNK):
            if held:
                self._send(held, final=False)
            self._reject(chunk.rejects)
            held = chunk.rows or held
        # Once the rows are out, nobody comes back for those that were not.
        self._keep()
        if held:
            self._send(held, final=True)
            self._compare()
        return self._rows, len(self._rejects)

    def _send(self, rows: list[Row], final: bool) -> None:
        if self._published is not None:
            self._rows += len(rows)
            return
        while True:
            with told(self._place):
                answer = self._client.publish_once(
                    self._place.queue,
                    self._origin.application,
                    self._origin.batch,
                    self._origin.partition,
                    self._attempt,
                    [row.message for row in rows if row.message is not None],
                    chunk=self._chunks,
                    final=final,
                )
            if not answer.failed:
                break
            # Nothing of the chunk was taken: again without those.
            wrong = {int(each.id): each for each in answer.failed}
            self._reject(
                [
                    Reject(rows[place].place, each.code, each.message or "", rows[place].message)
                    for place, each in wrong.items()
                ]
            )
            rows = [row for place, row in enumerate(rows) if place not in wrong]
            if final:
                self._keep()
        self._chunks += 1
        self._rows += len(rows)
        if answer.winner is not None and answer.winner != self._attempt:
            self._published = answer.messages

    def _reject(self, rejects: list[Reject]) -> None:
        self._rejects += rejects
        if self._rejects and self._rejects_path is None:
            raise refuse(self._origin, self._rejects)

    def _keep(self) -> None:
        if self._rejects and self._rejects_path is not None:
            keep(self._rejects_path, self._origin, self._rejects)

    def _compare(self) -> None:
        """What another attempt has published must have been the same rows; their number is all that can be seen."""
        published = self._published
        if published is None or published == self._rows:
            return
        if published < self._rows and self._rejects_path is not None:
            # Some of its rows may have been refused, which this attempt was not told.
            return
        raise Refused(
            f"{self._origin}: {published:,} rows of it were sent to {self._place.name} before a failure, and now there "
            f"are {self._rows:,}. A batch that is run again must be cut into the same partitions: keep their number"
        )
