"""The rows of a task into a queue of Rockdove: all of them, once, whichever attempt is the first to finish."""

import hashlib
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from rockdove.client import Client
from rockdove.core.limits import MAX_CONSUMER_LENGTH, MAX_MESSAGE_BYTES, MAX_STAGED, MAX_STAGED_BYTES
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused, told
from rockdove.spark.sink.chunk import cut
from rockdove.spark.sink.reject import Origin, Reject, keep, refuse
from rockdove.spark.sink.row import SinkRow

# Messages of one request, as many as the service takes.
_CHUNK: Final = 1_000
# What is published at once: less than the service takes, which counts a chunk twice whose answer was lost.
_PIECE_ROWS: Final = MAX_STAGED * 9 // 10
_PIECE_BYTES: Final = MAX_STAGED_BYTES * 9 // 10
# How a piece is cut that none follows, in place of a digest: if it is the only one, the order of its rows may change.
_LAST: Final = "last"


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

    def take(self, rows: list[SinkRow]) -> None:
        self.taken += len(rows)
        self.bytes += _bytes(rows)
        for row in rows:
            self.digest.update(repr(row.message).encode(errors="backslashreplace"))

    def has_room(self, rows: int, size_bytes: int) -> bool:
        return self.taken + rows <= _PIECE_ROWS and self.bytes + size_bytes <= _PIECE_BYTES


class Publication:
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
        # How many of them are in the table.
        self._kept = 0
        self._piece = _Piece()
        # Of the pieces before this one.
        self._rows = 0

    def write(self, rows: Iterable[SinkRow]) -> tuple[int, int]:
        """How many rows are in the queue now, by this attempt or another, and how many are not."""
        held: list[SinkRow] = []
        for chunk in cut(rows, _CHUNK):
            if held and self._piece.has_room(len(chunk.rows), _bytes(chunk.rows)):
                self._stage(held)
            elif held:
                self._agree(self._piece.digest.hexdigest())
                self._end(held)
                self._piece = _Piece(self._piece.number + 1)
            self._reject(chunk.rejects)
            held = chunk.rows
            self._piece.take(held)
        if not self._piece.has_room(_CHUNK, MAX_MESSAGE_BYTES):
            # By its size it could be one that another follows.
            self._agree(_LAST)
        self._end(held)
        return self._rows, len(self._rejects)

    def _end(self, rows: list[SinkRow]) -> None:
        """A partition without rows is published, too: only so is it known again if it comes with some."""
        if not self._new_rejects:
            rows = self._ask(rows, final=True)
        if self._new_rejects:
            self._stage(rows)
            if not self._piece.rows:
                # Nobody has told so far whether another attempt was first.
                self._ask([], final=False)
            self._compare()
            # Once the rows are out, nobody comes back for those that were not.
            self._keep()
            self._ask([], final=True)
        self._compare()
        self._rows += self._piece.rows

    def _agree(self, cut: str) -> None:
        """There may be several pieces: every attempt must cut the same rows, or some would come twice and others never.

        Whoever is the first to publish that it has cut so decides it.
        """
        with told(self._place):
            answer = self._client.publish_once(
                self._place.queue, self._name("-order"), self._origin.batch, self._origin.partition, cut, []
            )
        if answer.winner != cut:
            raise Refused(
                f"{self._origin}: the partition has about {_PIECE_ROWS:,} rows or more, and they are others, or in "
                "another order, than before a failure. Use repartition to have smaller ones, or sort within partitions"
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

    def _stage(self, rows: list[SinkRow]) -> None:
        while rows:
            rows = self._ask(rows, final=False)

    def _ask(self, rows: list[SinkRow], final: bool) -> list[SinkRow]:
        """The rows to ask with again, if some of them were refused: then none was taken."""
        piece = self._piece
        if piece.published is not None and self._rejects_path is None:
            # Nothing was published that the service refuses, and their number is all that is compared.
            piece.rows += len(rows)
            return []
        with told(self._place):
            answer = self._client.publish_once(
                self._place.queue,
                self._name(),
                self._origin.batch,
                self._origin.partition,
                self._attempt,
                [row.message for row in rows],
                chunk=piece.chunks,
                final=final,
            )
        if answer.failed:
            wrong = {int(each.id): each for each in answer.failed}
            self._reject([Reject(rows[at], each.code, each.message or "") for at, each in wrong.items()])
            return [row for at, row in enumerate(rows) if at not in wrong]
        piece.chunks += 1
        piece.rows += len(rows)
        if answer.winner is not None and answer.winner != self._attempt:
            piece.published = answer.messages
        return []

    @property
    def _new_rejects(self) -> list[Reject]:
        return self._rejects[self._kept :]

    def _reject(self, rejects: list[Reject]) -> None:
        self._rejects += rejects
        if self._rejects and self._rejects_path is None:
            raise refuse(self._origin, self._rejects)

    def _keep(self) -> None:
        if self._rejects_path is not None:
            queue = self._client.queue_url(self._place.queue)
            keep(self._rejects_path, queue, self._origin, self._new_rejects, self._piece.number)
            self._kept = len(self._rejects)

    def _compare(self) -> None:
        """What another attempt has published must have been the same rows; their number is all that can be seen."""
        published, rows = self._piece.published, self._piece.rows
        if published is None or published == rows:
            return
        raise Refused(
            f"{self._origin}: {published:,} rows of it were sent to {self._place.name} before, and now there are "
            f"{rows:,}. A batch that is run again must be cut into the same partitions: keep their number. If it is "
            f"another batch, give it another option application than {self._origin.application}"
        )


def _bytes(rows: list[SinkRow]) -> int:
    return sum([row.message.size_bytes for row in rows])
