"""The queue operations on messages: send, receive, delete, change visibility, look, count."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from rockdove.broker.ask import unavailable
from rockdove.broker.deadletter import letters
from rockdove.broker.directory import Directory
from rockdove.broker.queue import Queue
from rockdove.broker.receive import Delivery, Receive, Reply
from rockdove.broker.turn import Turns
from rockdove.broker.watch import Watch
from rockdove.core import ids, limits
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.errors import (
    Fault,
    InvalidParameterValue,
    MessageNotInflight,
    ReceiptHandleIsInvalid,
    ServiceUnavailable,
    StoreError,
)
from rockdove.core.message import Entry
from rockdove.core.receipt import Receipt, Receipts
from rockdove.store.base import Appended, Counts, Draft, Physical, Store

# Leases that are in memory at once, on their way from the store to their answers.
LEASES_AT_ONCE = 16

Sent = Callable[[list[Appended] | Fault], None]
Finished = Callable[[Fault | None], None]


class Broker:
    """Works on queues of a directory. Stateless apart from caches: the truth is in the store."""

    def __init__(
        self,
        store: Store,
        directory: Directory,
        receipts: Receipts,
        clock: Clock,
        max_in_flight: int = limits.MAX_IN_FLIGHT,
        max_waiting: int = sys.maxsize,
    ) -> None:
        self.store = store
        self.directory = directory
        self.receipts = receipts
        self.clock = clock
        self.max_in_flight = max_in_flight
        # Receives that wait for a message now, and how many may.
        self.waiting = 0
        self.max_waiting = max_waiting
        # A lease may be asked for again by any number of clients, and is as large as an answer can be.
        self.lease_turns = Turns(LEASES_AT_ONCE)
        # Who is told what becomes of messages without anybody asking for it.
        self.watch: Watch | None = None

    # Send.

    def send(self, queue: Queue, drafts: Sequence[Draft], done: Sent) -> None:
        """Store messages; where they went, in their order."""
        if self.store.full is not None:
            done(ServiceUnavailable(self.store.full))
            return
        if len(queue.physical) == 1:
            queue.physical[0].append(drafts, partial(self._sent, queue, drafts, done))
            return
        self._send_parts(queue, drafts, parts_of(queue, drafts), done)

    def _send_parts(
        self, queue: Queue, drafts: Sequence[Draft], parts: list[tuple[Physical, list[int]]], done: Sent
    ) -> None:
        results: list[Appended | None] = [None] * len(drafts)
        left = len(parts)
        failed: Fault | None = None

        def part_sent(places: list[int], outcome: list[Appended] | Fault) -> None:
            nonlocal left, failed
            left -= 1
            if isinstance(outcome, Fault):
                failed = outcome
            else:
                for at, appended in zip(places, outcome, strict=True):
                    results[at] = appended
            if not left:
                done(failed if failed is not None else [each for each in results if each is not None])

        for physical, places in parts:
            part = [drafts[at] for at in places]
            physical.append(part, partial(self._sent, queue, part, partial(part_sent, places)))

    def _sent(self, queue: Queue, drafts: Sequence[Draft], done: Sent, outcome: list[Appended] | StoreError) -> None:
        if isinstance(outcome, StoreError):
            done(unavailable(outcome))
            return
        queue.sent += len(outcome)
        done(outcome)
        if queue.waiters:
            now = self.clock.now_us()
            later = [draft.visible_us for draft in drafts if draft.visible_us > now]
            queue.wake(len(drafts) - len(later))
            if later:
                queue.expect(min(later))

    # Receive.

    def receive(
        self, queue: Queue, limit: int, timeout_us: int, wait_s: int, attempt: str | None, reply: Reply
    ) -> Receive:
        """Begin a receive; the returned object is for cancelling it when the client goes away."""
        receive = Receive(self, queue, limit, timeout_us, wait_s, attempt, reply)
        receive.start()
        return receive

    def give_back(self, queue: Queue, deliveries: Sequence[Delivery]) -> None:
        """Nobody got these: make them visible again, as if they had not been received."""
        for physical in {id(delivery.physical): delivery.physical for delivery in deliveries}.values():
            entries = [delivery.entry for delivery in deliveries if delivery.physical is physical]
            physical.release(entries, partial(_given_back, queue, len(entries)))

    def dead_letter_target(self, queue: Queue) -> Queue | None:
        redrive = queue.settings.redrive
        if redrive is None:
            return None
        target = self.directory.get(*redrive.target)
        if target is None or target.fifo != queue.fifo:
            return None
        allow = target.settings.redrive_allow
        return target if allow is None or allow.allows(queue.key) else None

    def bury(self, queue: Queue, physical: Physical, dead: Sequence[Entry], done: Callable[[], None]) -> None:
        """Move messages that have had their deliveries to the dead-letter queue."""
        target = self.dead_letter_target(queue)
        if target is None:
            done()
            return
        drafts = letters(queue, physical, dead, target, self.clock.now_us())

        def buried(fault: Fault | None, number: int) -> None:
            # If it fails, they come back when their visibility timeout is over, and are tried again.
            queue.dead_lettered += number
            if self.watch is not None and fault is None:
                self.watch.dead_lettered(queue, physical, dead)
            done()

        self.transfer(physical, dead, target, drafts, buried)

    def transfer(
        self,
        source: Physical,
        entries: Sequence[Entry],
        target: Queue,
        drafts: Sequence[Draft],
        done: Callable[[Fault | None, int], None],
    ) -> None:
        """Move messages to another queue; how many were moved. What is gone meanwhile is left out."""
        parts = parts_of(target, drafts)
        left, number = len(parts), 0
        failed: Fault | None = None

        def part_moved(outcome: list[Appended] | StoreError) -> None:
            nonlocal left, failed, number
            left -= 1
            if isinstance(outcome, StoreError):
                failed = ServiceUnavailable()
            else:
                number += len(outcome)
                target.wake(len(outcome))
            if not left:
                done(failed, number)

        for physical, places in parts:
            chosen = [entries[at].id for at in places]
            self.store.transfer(source, chosen, physical, [drafts[at] for at in places], part_moved)

    # Delete, change visibility.

    def delete(self, queue: Queue, handle: str, done: Finished) -> None:
        receipt, physical = self._resolve(queue, handle)
        if physical is None:
            # Purged since: already gone, which is what was wanted.
            done(None)
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
                queue.wake(1)

        physical.remove(receipt.id, receipt.receive_count, removed)

    def delete_all(self, queue: Queue, handles: Sequence[str], done: Callable[[list[Fault | None]], None]) -> None:
        """Delete messages of a standard queue together; an outcome for each handle."""
        outcomes: list[Fault | None] = [None] * len(handles)
        parts: dict[int, tuple[Physical, list[int], list[int]]] = {}
        for at, handle in enumerate(handles):
            try:
                receipt, physical = self._resolve(queue, handle)
            except ReceiptHandleIsInvalid as fault:
                outcomes[at] = fault
                continue
            if physical is not None:
                part = parts.setdefault(physical.record.number, (physical, [], []))
                part[1].append(receipt.id)
                part[2].append(at)
        left = len(parts)

        def removed(places: list[int], outcome: int | StoreError) -> None:
            nonlocal left
            left -= 1
            if isinstance(outcome, StoreError):
                for at in places:
                    outcomes[at] = ServiceUnavailable()
            else:
                queue.deleted += outcome
            if not left:
                done(outcomes)

        if not parts:
            done(outcomes)
        for physical, chosen, places in parts.values():
            physical.remove_all(chosen, partial(removed, places))

    def _expired(self, handle: str, done: Finished, found: Entry | StoreError | None) -> None:
        if isinstance(found, StoreError):
            done(ServiceUnavailable())
        elif found is None:
            done(None)
        else:
            done(
                InvalidParameterValue(
                    f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
                )
            )

    def change_visibility(self, queue: Queue, handle: str, timeout_s: int, done: Finished) -> None:
        if not 0 <= timeout_s <= limits.MAX_VISIBILITY_TIMEOUT_S:
            raise InvalidParameterValue(
                f"Value {timeout_s} for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an "
                f"integer between 0 and {limits.MAX_VISIBILITY_TIMEOUT_S}."
            )
        receipt, physical = self._resolve(queue, handle)
        if physical is None:
            raise _not_available(handle)
        now = self.clock.now_us()
        visible_us = now + timeout_s * SECOND_US
        if (now - receipt.received_us) // SECOND_US + timeout_s > limits.MAX_VISIBILITY_TIMEOUT_S:
            raise InvalidParameterValue(
                f"Value {timeout_s} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for "
                f"the message is beyond the limit [{limits.MAX_VISIBILITY_TIMEOUT_S} seconds]"
            )

        def moved(outcome: bool | StoreError) -> None:
            if isinstance(outcome, StoreError):
                done(ServiceUnavailable())
            elif outcome:
                done(None)
                if timeout_s:
                    queue.expect(visible_us)
                else:
                    queue.wake(1)
            else:
                # It may have become visible while nobody could be given it.
                queue.wake(1)
                physical.find(receipt.id, found)

        def found(entry: Entry | StoreError | None) -> None:
            if isinstance(entry, StoreError):
                done(ServiceUnavailable())
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
        left, total = len(queue.physical), Counts(0, 0, 0)
        failed: Fault | None = None

        def counted(part: Counts | StoreError) -> None:
            nonlocal left, total, failed
            left -= 1
            if isinstance(part, StoreError):
                failed = ServiceUnavailable()
            else:
                total = Counts(
                    total.visible + part.visible, total.in_flight + part.in_flight, total.delayed + part.delayed
                )
            if not left:
                done(failed or total)

        for physical in queue.physical:
            physical.count(counted)

    def oldest(self, queue: Queue, done: Callable[[int | Fault | None], None]) -> None:
        """When the oldest message was sent, over all physical queues; None: there is none."""
        left = len(queue.physical)
        oldest_us: int | None = None
        failed: Fault | None = None

        def told(sent_us: int | StoreError | None) -> None:
            nonlocal left, oldest_us, failed
            left -= 1
            if isinstance(sent_us, StoreError):
                failed = ServiceUnavailable()
            elif sent_us is not None:
                oldest_us = sent_us if oldest_us is None else min(sent_us, oldest_us)
            if not left:
                done(failed or oldest_us)

        for physical in queue.physical:
            physical.oldest(told)


def parts_of(queue: Queue, drafts: Sequence[Draft]) -> list[tuple[Physical, list[int]]]:
    """Which physical queue gets which of the drafts."""
    parts: dict[int, tuple[Physical, list[int]]] = {}
    firsts: dict[str, Physical] = {}
    for at, draft in enumerate(drafts):
        extra, key = draft.message.extra, draft.deduplication_key
        physical = queue.route(None if extra is None else extra.group_id)
        if key is not None:
            # A duplicate goes along with its first copy, whatever its group: else it might overtake it.
            physical = firsts.setdefault(key, physical)
        parts.setdefault(physical.record.number, (physical, []))[1].append(at)
    return list(parts.values())


def _given_back(queue: Queue, number: int, outcome: StoreError | None) -> None:
    # If the store failed, the messages come back by themselves when their visibility timeout is over.
    queue.wake(number)


def _removed(queue: Queue, done: Finished, outcome: bool | StoreError) -> None:
    if isinstance(outcome, StoreError):
        done(ServiceUnavailable())
        return
    queue.deleted += outcome
    done(None)


def _not_available(handle: str) -> InvalidParameterValue:
    return InvalidParameterValue(
        f"Value {handle} for parameter ReceiptHandle is invalid. "
        "Reason: Message does not exist or is not available for visibility timeout change."
    )
