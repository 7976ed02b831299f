"""The queue operations on messages: send, receive, delete, change visibility, count."""

from collections.abc import Callable, Sequence
from functools import partial

from rockdove.broker.ask import need, unavailable
from rockdove.broker.context import Context
from rockdove.broker.count import count, oldest
from rockdove.broker.gather import Gatherer
from rockdove.broker.part import PartQueue
from rockdove.broker.placing import Placing
from rockdove.broker.queue import Queue
from rockdove.broker.receive import Receive, Reply
from rockdove.broker.route import group_of
from rockdove.core import ids, limits
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import (
    Fault,
    InvalidParameterValue,
    MessageNotInflight,
    QueueGone,
    ReceiptHandleIsInvalid,
    ServiceInterrupted,
    ServiceUnavailable,
    StoreError,
)
from rockdove.core.message import Entry
from rockdove.core.receipt import Receipt
from rockdove.store.base import Appended, Counts, Done, Draft, Physical

Sent = Callable[[list[Appended] | Fault], None]
Finished = Callable[[Fault | None], None]


class Broker:
    """Works on queues of a directory. Stateless apart from caches: the truth is in the store."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store = context.store
        self.directory = context.directory
        self.receipts = context.receipts
        self.clock = context.clock
        context.store.on_arrival(context.directory.arrived)

    # Send.

    def send(self, queue: Queue, drafts: Sequence[Draft], done: Sent) -> None:
        """Store messages; where they went, in their order."""
        if self.store.full is not None:
            done(ServiceUnavailable(self.store.full))
            return
        if queue.fifo and isinstance(queue, PartQueue):
            # Only of groups that have their place there, or will have.
            for draft in drafts:
                queue.check_group(group_of(draft))
            queue = queue.whole
        if queue.is_plain:
            queue.physical[0].append(drafts, partial(self._sent, queue, drafts, done))
        else:
            self._placing(queue, drafts, done).start()

    def _sent(self, queue: Queue, drafts: Sequence[Draft], done: Sent, outcome: list[Appended] | StoreError) -> None:
        if isinstance(outcome, QueueGone):
            # Another front-end has purged or deleted it, or changed its physical queues, which this one has not heard
            # of yet.
            self._placing(queue, drafts, done).start_again()
        elif isinstance(outcome, StoreError):
            done(unavailable(outcome))
        else:
            queue.events.sent += len(outcome)
            done(outcome)

    def _placing(self, queue: Queue, drafts: Sequence[Draft], done: Sent) -> Placing:
        results: dict[int, Appended] = {}

        def append(physical: Physical, places: list[int], part: Done[list[Appended]]) -> None:
            physical.append([drafts[at] for at in places], part)

        def landed(places: list[int], appended: list[Appended]) -> None:
            queue.events.sent += len(appended)
            results.update(zip(places, appended, strict=True))

        def over(fault: Fault | None) -> None:
            if fault is None:
                done([results[at] for at in range(len(drafts))])
            else:
                # With a part of it stored, nobody can say that nothing was done.
                done(ServiceInterrupted() if results else fault)

        return Placing(self.store.records, queue, drafts, append, landed, over)

    def _catch_up(self, done: Callable[[Fault], None], then: Callable[[], None]) -> None:
        """Hear of all that other processes have changed, and go on. ``done`` is told if the store cannot be asked."""

        def caught_up(outcome: StoreError | None) -> None:
            if isinstance(outcome, StoreError):
                done(unavailable(outcome))
                return
            try:
                then()
            except Fault as fault:
                done(fault)

        self.store.records.catch_up(caught_up)

    # Receive.

    def receive(
        self,
        queue: Queue,
        limit: int,
        timeout_us: int,
        wait_s: int,
        attempt: str | None,
        reply: Reply,
        room_bytes: int = 0,
    ) -> Receive:
        """Begin a receive; the returned object is for cancelling it when the client goes away.

        ``room_bytes``: no more messages once they have so many bytes; 0 is without a bound.
        """
        receive = Receive(self.context, queue, limit, timeout_us, wait_s, attempt, reply, room_bytes)
        receive.start()
        return receive

    # Delete, change visibility.

    def delete(self, queue: Queue, handle: str, done: Finished, again: bool = False) -> None:
        """``again``: all is known that other processes have changed."""
        receipt, physical = self._resolve(queue, handle)
        if physical is None:
            if again:
                # Purged since: already gone, which is what was wanted.
                done(None)
            else:
                self._catch_up(done, lambda: self.delete(queue, handle, done, again=True))
            return
        if not queue.fifo:
            physical.remove(receipt.id, None, partial(_removed, queue, done))
            return

        def removed(outcome: bool | StoreError) -> None:
            if outcome is False:
                # Gone is what was wanted; still there means that the handle's time is over.
                physical.find(receipt.id, partial(self._expired, handle, done))
            else:
                _removed(queue, done, outcome)

        physical.remove(receipt.id, receipt.receive_count, removed)

    def delete_all(
        self, queue: Queue, handles: Sequence[str], done: Callable[[list[Fault | None]], None], again: bool = False
    ) -> None:
        """Delete messages of a standard queue together; an outcome for each handle."""
        outcomes: list[Fault | None] = [None] * len(handles)
        parts: dict[int, tuple[Physical, list[int], list[int]]] = {}
        for at, handle in enumerate(handles):
            try:
                receipt, physical = self._resolve(queue, handle)
            except ReceiptHandleIsInvalid as fault:
                outcomes[at] = fault
                continue
            if physical is None and not again:
                # Purged since, or not heard of yet.
                self._catch_up(
                    lambda fault: done([fault] * len(handles)),
                    lambda: self.delete_all(queue, handles, done, again=True),
                )
                return
            if physical is not None:
                part = parts.setdefault(physical.record.number, (physical, [], []))
                part[1].append(receipt.id)
                part[2].append(at)

        def removed(found: list[bool]) -> None:
            queue.events.deleted += sum(found)

        def failed(places: list[int], fault: Fault) -> None:
            for at in places:
                outcomes[at] = fault

        gatherer = Gatherer(lambda fault: done(outcomes))
        for physical, chosen, places in parts.values():
            physical.remove_all(chosen, gatherer.part(removed, partial(failed, places)))
        gatherer.close()

    def _expired(self, handle: str, done: Finished, found: Entry | StoreError | None) -> None:
        if isinstance(found, StoreError):
            done(unavailable(found))
        elif found is None:
            done(None)
        else:
            done(
                InvalidParameterValue(
                    f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
                )
            )

    def change_visibility(self, queue: Queue, handle: str, timeout_s: int, done: Finished, again: bool = False) -> None:
        if not 0 <= timeout_s <= limits.MAX_VISIBILITY_TIMEOUT_S:
            raise InvalidParameterValue(
                f"Value {timeout_s} for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an "
                f"integer between 0 and {limits.MAX_VISIBILITY_TIMEOUT_S}."
            )
        receipt, physical = self._resolve(queue, handle)
        if physical is None:
            if again:
                raise _not_available(handle)
            self._catch_up(done, lambda: self.change_visibility(queue, handle, timeout_s, done, again=True))
            return
        now = self.clock.now_us()
        visible_us = now + timeout_s * SECOND_US
        if (now - receipt.received_us) // SECOND_US + timeout_s > limits.MAX_VISIBILITY_TIMEOUT_S:
            raise InvalidParameterValue(
                f"Value {timeout_s} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for "
                f"the message is beyond the limit [{limits.MAX_VISIBILITY_TIMEOUT_S} seconds]"
            )

        def moved(outcome: bool | StoreError) -> None:
            if isinstance(outcome, StoreError):
                done(unavailable(outcome))
            elif outcome:
                done(None)
            else:
                # It may have become visible while nobody could be given it.
                queue.wake(1)
                physical.find(receipt.id, found)

        def found(entry: Entry | StoreError | None) -> None:
            if isinstance(entry, StoreError):
                done(unavailable(entry))
            elif entry is None:
                done(_not_available(handle))
            elif queue.fifo:
                self._expired(handle, done, entry)
            else:
                done(
                    MessageNotInflight(
                        f"Value {handle} for parameter ReceiptHandle is invalid. "
                        "Reason: Message does not exist or is not available for visibility timeout change."
                    )
                )

        physical.move(receipt.id, visible_us, receipt.receive_count if queue.fifo else None, moved)

    def _resolve(self, queue: Queue, handle: str) -> tuple[Receipt, Physical | None]:
        receipt = self.receipts.read(queue.uid, handle)
        if receipt is None:
            raise ReceiptHandleIsInvalid(f'The input receipt handle "{handle}" is not a valid receipt handle.')
        return receipt, queue.by_number(ids.physical_of(receipt.id))

    # Look.

    def count(self, queue: Queue, done: Callable[[Counts | Fault], None]) -> None:
        """Exact numbers over all physical queues."""
        count(queue, done)

    def oldest(self, queue: Queue, done: Callable[[int | Fault | None], None]) -> None:
        """When the oldest message was sent, over all physical queues; None: there is none."""
        oldest(need(self.store.browsing, "browsing", self.store.name), queue, done)


def _removed(queue: Queue, done: Finished, outcome: bool | StoreError) -> None:
    if isinstance(outcome, StoreError):
        done(unavailable(outcome))
        return
    queue.events.deleted += outcome
    done(None)


def _not_available(handle: str) -> InvalidParameterValue:
    return InvalidParameterValue(
        f"Value {handle} for parameter ReceiptHandle is invalid. "
        "Reason: Message does not exist or is not available for visibility timeout change."
    )
