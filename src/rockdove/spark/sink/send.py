"""The rows of a task into a queue of any other service that speaks SQS: at least once."""

import time
from collections.abc import Callable, Iterable
from typing import Final

from rockdove.client import Client
from rockdove.core.errors import Fault
from rockdove.core.limits import MAX_BATCH_ENTRIES
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import told
from rockdove.spark.sink.chunk import cut
from rockdove.spark.sink.reject import Origin, Reject, RowsRefused, keep, refuse
from rockdove.spark.sink.row import SinkRow

# How often rows are sent again that the service could not store through no fault of ours, and the pause before it.
_ATTEMPTS: Final = 5
_PAUSE_S: Final = 0.2
# What one message may be the cause of, though some services refuse the whole request for it. Any other fault is that of
# the query: its rows must not end among the rejects.
_OF_A_ROW: Final = frozenset(
    {
        "InvalidParameterValue",
        "InvalidMessageContents",
        "InvalidAttributeValue",
        "MissingParameter",
        "AWS.SimpleQueueService.BatchRequestTooLong",
    }
)


class Sending:
    """One attempt at one partition."""

    def __init__(
        self,
        client: Client,
        place: QueuePlace,
        origin: Origin,
        rejects_path: str | None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._place = place
        self._origin = origin
        self._rejects_path = rejects_path
        self._sleep = sleep
        self._rejects: list[Reject] = []
        self._sent = 0

    def write(self, rows: Iterable[SinkRow]) -> tuple[int, int]:
        """How many rows were sent, and how many cannot be."""
        for chunk in cut(rows, MAX_BATCH_ENTRIES):
            self._reject(chunk.rejects)
            self._send(chunk.rows)
        if self._rejects and self._rejects_path is not None:
            keep(self._rejects_path, self._client.queue_url(self._place.queue), self._origin, self._rejects)
        return self._sent, len(self._rejects)

    def _send(self, rows: list[SinkRow]) -> None:
        failed: list[tuple[SinkRow, str]] = []
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._sleep(_PAUSE_S * 2**attempt)
            failed = self._try(rows)
            if not failed:
                return
            rows = [row for row, _ in failed]
        named = ", ".join(f"row {row.place} ({code})" for row, code in failed[:5])
        raise RowsRefused(f"{self._origin}: {self._place.name} did not store {named}, asked {_ATTEMPTS} times")

    def _try(self, rows: list[SinkRow]) -> list[tuple[SinkRow, str]]:
        """The rows that the service could not store, and why."""
        if not rows:
            return []
        try:
            with told(self._place):
                answer = self._client.send_batch(self._place.queue, [row.message for row in rows])
        except Fault as fault:
            if fault.code not in _OF_A_ROW:
                raise
            if len(rows) > 1:
                return [failed for row in rows for failed in self._try([row])]
            self._reject([Reject(rows[0], fault.code, fault.message)])
            return []
        self._sent += len(answer.successful)
        again = []
        for each in answer.failed:
            row = rows[int(each.id)]
            if each.sender_fault:
                self._reject([Reject(row, each.code, each.message or "")])
            else:
                again.append((row, each.code))
        return again

    def _reject(self, rejects: list[Reject]) -> None:
        self._rejects += rejects
        if self._rejects and self._rejects_path is None:
            raise refuse(self._origin, self._rejects)
