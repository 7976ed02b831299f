"""What is left in the queues when the receivers have finished: taken out until there can be nothing more."""

import time
from collections.abc import Iterable

from rockdove.client import AsyncClient
from rockdove.workload.caller import Caller
from rockdove.workload.crowd import each
from rockdove.workload.journal import Journal, Notes, Partition
from rockdove.workload.receiver import WANTED
from rockdove.workload.workload import Workload

# Longer than the visibility timeout by so much: clocks differ, and some services look at theirs once a second.
_MARGIN_S = 5.0
_WAIT_S = 1
_BATCH = 10
_AT_ONCE = 256
_NAME = "drain"
_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

Key = tuple[int, int]


class Drain:
    """After it, a message that was sent and never came is lost: whatever hid it has had its time.

    A queue is done once nothing is missing and the service counts nothing in it. As long as something is missing, its
    counts are not believed (those of SQS are approximate): it is asked until a visibility timeout has passed in which
    nothing came.
    """

    def __init__(self, client: AsyncClient, caller: Caller, journal: Journal, workload: Workload) -> None:
        self._client = client
        self._caller = caller
        self._journal = journal
        self._patience_s = workload.visibility_s + _MARGIN_S

    async def run(self, places: Iterable[Partition], missing: dict[int, set[Key]]) -> None:
        """``missing`` has senders and numbers by queue; what comes is taken out."""

        async def one(place: Partition) -> None:
            await self._empty(place, missing[place.number])

        await each(one, places, _AT_ONCE)

    async def _empty(self, place: Partition, missing: set[Key]) -> None:
        deadline = time.monotonic() + self._patience_s
        while missing or not await self._is_empty(place):
            if await self._take(place, missing):
                deadline = time.monotonic() + self._patience_s
            elif time.monotonic() > deadline:
                return

    async def _is_empty(self, place: Partition) -> bool:
        counts = await self._client.attributes(place.url, _COUNTS)
        return not any(int(counts.get(name, 0)) for name in _COUNTS)

    async def _take(self, place: Partition, missing: set[Key]) -> bool:
        answer = await self._caller.ask(
            place,
            "receive",
            lambda: self._client.receive(
                place.url, limit=_BATCH, wait_s=_WAIT_S, system_attributes=WANTED, message_attributes=()
            ),
        )
        if answer is None or not answer.value:
            return False
        for message in answer.value:
            stamp = self._journal.got(place, _NAME, message, answer)
            if stamp is not None:
                missing.discard((stamp.sender, stamp.seq))
        await self._delete(place, {message.receipt_handle: message.message_id for message in answer.value})
        return True

    async def _delete(self, place: Partition, ids: dict[str, str]) -> None:
        answer = await self._caller.ask(place, "delete", lambda: self._client.delete_batch(place.url, list(ids)))
        if answer is not None:
            names = list(ids.values())
            for entry in answer.value.successful:
                self._journal.deleted(place, _NAME, names[int(entry.id)], answer)


def missing_of(notes: Notes, queues: int) -> dict[int, set[Key]]:
    """By queue, the messages that the service has taken and nobody has got whole."""
    missing: dict[int, set[Key]] = {queue: set() for queue in range(queues)}
    for sent in notes.sent:
        missing[sent.queue].add((sent.sender, sent.seq))
    for got in notes.got:
        missing[got.queue].discard((got.sender, got.seq))
    return missing
