"""The rows of a task into a queue of Rockdove: all of them, once, whichever attempt is the first to finish."""

import hashlib
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from rockdove.client import Client
from rockdove.core.limits import MAX_CONSUMER_LENGTH, MAX_STAGED, MAX_STAGED_BYTES
from rockdove.spark.service.place import Place
from rockdove.spark.service.trouble import Refused, told
from rockdove.spark.sink.chunk import cut
from rockdove.spark.sink.reject import Origin, Reject, keep, refuse
from rockdove.spark.sink.row import Row

# Messages of one request, as many as the service takes.
_CHUNK: Final = 1_000
# What is published at once: less than the service takes, which counts a chunk twice whose answer was lost.
_PIECE_ROWS: Final = MAX_STAGED * 9 // 10
_PIECE_BYTES: Final = MAX_STAGED_BYTES * 9 // 10


class _Piece(Struct):
    """Rows of a partition that are published at once: those that it has, and those of them that were not refused."""

    number: int = 0
    taken: int = 0
    bytes: int = 0
    rows: int = 0
    chunks: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    # What another attempt has published, as soon as it is told.
    published: int | None = None

    def take(self, rows: list[Row]) -> None:
        self.taken += len(rows)
        self.bytes += _bytes(rows)
        for row in rows:
            self.digest.update(repr(row.message).encode(errors="backslashreplace"))

    def has_room(self, rows: list[Row]) -> bool:
        return self.taken + len(rows) <= _PIECE_ROWS and self.bytes + _bytes(rows) <= _PIECE_BYTES


class Publication:
    """One attempt at one partition."""

    def __init__(self, client: Client, place: Place, origin: Origin, attempt: str, rejects_path: str | None) -> None:
        self._client = client
        self._place = place
        self._origin = origin
        self._attempt = attempt
        self._rejects_path = rejects_path
        self._rejects: list[Reject] = []
        self._piece = _Piece()
        # Of the pieces before this one.
        self._rows = 0

    def write(self, rows: Iterable[Row]) -> tuple[int, int]:
        """How many rows are in the queue now, by this attempt or another, and how many are not."""
        held: list[Row] = []
        for chunk in cut(rows, _CHUNK):
            if held and self._piece.has_room(chunk.rows):
                self._send(held, final=False)
            elif held:
                self._keep_order()
                self._end(held)
                self._piece = _Piece(self._piece.number + 1)
            self._reject(chunk.rejects)
            held = chunk.rows or held
            self._piece.take(chunk.rows)
        if held:
            self._end(held)
        else:
            self._keep()
        return self._rows, len(self._rejects)

    def _end(self, rows: list[Row]) -> None:
        # Once the rows are out, nobody comes back for those that were not.
        self._keep()
        self._send(rows, final=True)
        self._compare()
        self._rows += self._piece.rows

    def _keep_order(self) -> None:
        """There are several pieces: every attempt must cut the same rows, or some would come twice and others never.

        Whoever is the first to publish that it has cut so decides it.
        """
        digest = self._piece.digest.hexdigest()
        with told(self._place):
            answer = self._client.publish_once(
                self._place.queue, self._name("-order"), self._origin.batch, self._origin.partition, digest, []
            )
        if answer.winner != digest:
            raise Refused(
                f"{self._origin}: the partition has more than {_PIECE_ROWS:,} rows, and they came in another order "
                "than before a failure. Use repartition to have smaller ones, or sort within partitions"
            )

    def _name(self, of: str = "") -> str:
        """Of what is published; the first piece has that of the application."""
        application, number = self._origin.application, self._piece.number
        if not number and not of:
            return application
        name = f"{application}~{number}{of}"
        if len(name) > MAX_CONSUMER_LENGTH:
            name = f"{hashlib.sha256(application.encode()).hexdigest()}~{number}{of}"
        return name

    def _send(self, rows: list[Row], final: bool) -> None:
        piece = self._piece
        if piece.published is not None:
            piece.rows += len(rows)
            return
        while True:
            with told(self._place):
                answer = self._client.publish_once(
                    self._place.queue,
                    self._name(),
                    self._origin.batch,
                    self._origin.partition,
                    self._attempt,
                    [row.message for row in rows if row.message is not None],
                    chunk=piece.chunks,
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
        piece.chunks += 1
        piece.rows += len(rows)
        if answer.winner is not None and answer.winner != self._attempt:
            piece.published = answer.messages

    def _reject(self, rejects: list[Reject]) -> None:
        self._rejects += rejects
        if self._rejects and self._rejects_path is None:
            raise refuse(self._origin, self._rejects)

    def _keep(self) -> None:
        if self._rejects and self._rejects_path is not None:
            keep(self._rejects_path, self._origin, self._rejects)

    def _compare(self) -> None:
        """What another attempt has published must have been the same rows; their number is all that can be seen."""
        published, rows = self._piece.published, self._piece.rows
        if published is None or published == rows:
            return
        if published < rows and self._rejects_path is not None:
            # Some of its rows may have been refused, which this attempt was not told.
            return
        raise Refused(
            f"{self._origin}: {published:,} rows of it were sent to {self._place.name} before a failure, and now there "
            f"are {rows:,}. A batch that is run again must be cut into the same partitions: keep their number"
        )


def _bytes(rows: list[Row]) -> int:
    return sum([row.message.size_bytes for row in rows if row.message is not None])
