"""The operations on queues themselves: create, delete, list, purge, attributes, tags, permissions."""

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from rockdove.broker.ask import ask, need
from rockdove.broker.context import Context
from rockdove.broker.count import count
from rockdove.broker.feed import Feed
from rockdove.broker.queue import Queue
from rockdove.core import attribute, limits, policy
from rockdove.core.arn import queue_arn
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import (
    InvalidParameterValue,
    MissingParameter,
    OverLimit,
    PurgeQueueInProgress,
    QueueDoesNotExist,
    QueueNameExists,
    ServiceUnavailable,
    UnsupportedOperation,
)
from rockdove.core.queue import PhysicalRecord, PhysicalState, QueueRecord
from rockdove.core.tag import wrong_key, wrong_tag
from rockdove.store.base import Counts, OverQuota

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.MAX_QUEUE_NAME_LENGTH}}}")


class Admin:
    """Changes records of queues. If somebody else has changed one meanwhile, it looks again and decides again."""

    def __init__(self, context: Context, feed: Feed) -> None:
        self._directory = context.directory
        self._store = context.store
        self._records = context.store.records
        self._clock = context.clock
        self._feed = feed

    async def create(self, account: str, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Create a queue, unless there is one of that name with the wanted attributes."""
        attributes = attribute.normal(attributes)
        fifo = attribute.is_fifo(attributes)
        _check_name(name, fifo)
        attribute.check(attributes, fifo)
        attribute.check_claim(attributes, fifo, self._store.has_fast_claims)
        _check_tags(tags)

        async def attempt(seen: int) -> None:
            there = self._directory.record(account, name)
            if there is not None:
                differing = attribute.differing(attributes, there.attributes, there.fifo, self._store.has_fast_claims)
                if differing is not None:
                    raise QueueNameExists(
                        f"A queue already exists with the same name and a different value for attribute {differing}"
                    )
                return
            now = self._clock.now_us()
            self._directory.check_rested(account, name, now)
            attribute.check_together({**({"DeduplicationScope": "queue"} if fifo else {}), **attributes})
            self._check_redrive((account, name), attributes, fifo)
            if self._store.full is not None:
                raise ServiceUnavailable(self._store.full)
            parts = int(attributes.get("RockdovePhysicalQueues", "1"))
            self._directory.check_room(account, parts)
            uid = secrets.token_hex(8)
            record = QueueRecord(
                uid=uid,
                account=account,
                name=name,
                fifo=name.endswith(".fifo"),
                created_us=now,
                modified_us=now,
                physical=await self._reserve(parts, uid),
                attributes=attribute.merge({}, dict(attributes)),
                tags=dict(tags),
            )
            await self._put(record, seen)

        await self._feed.write((account, name), attempt)

    async def delete(self, queue: Queue) -> None:
        async def attempt(seen: int) -> None:
            if not queue.alive:
                raise QueueDoesNotExist()
            await ask(partial(self._records.drop_queue, queue.record, self._clock.now_us(), seen))

        await self._feed.write(queue.key, attempt)

    async def purge(self, queue: Queue) -> None:
        """Empty a queue at once, however full: it gets new physical queues, and the old ones are dropped."""

        async def attempt(seen: int) -> None:
            record, now = _living(queue), self._clock.now_us()
            if self._directory.rests(record.purged_us, now):
                raise PurgeQueueInProgress(
                    f"Only one PurgeQueue operation on {record.name} is allowed every {limits.COOL_DOWN_S} seconds."
                )
            fresh = await self._reserve(len(record.staying), record.uid)
            physical = [
                replace(new, weight=old.weight, state=old.state, generation=old.generation)
                for new, old in zip(fresh, record.staying, strict=True)
            ]
            await self._put(replace(record, physical=physical, purged_us=now), seen)

        await self._feed.write(queue.key, attempt)

    async def set_attributes(self, queue: Queue, changes: Mapping[str, str]) -> None:
        if not changes:
            raise MissingParameter("The request must contain the parameter Attribute.Name.")
        changes = attribute.normal(changes)
        attribute.check(changes, queue.fifo)
        delay_us = queue.settings.delay_us
        if queue.fifo and "DelaySeconds" in changes:
            need(self._store.upkeep, "upkeep", self._store.name)

        async def attempt(seen: int) -> None:
            record = _living(queue)
            merged = attribute.merge(record.attributes, changes)
            attribute.check_together(attribute.effective(merged, queue.fifo))
            attribute.check_claim(merged, queue.fifo, self._store.has_fast_claims)
            self._check_redrive(queue.key, changes, queue.fifo)
            physical = await self._resized(record, int(changes.get("RockdovePhysicalQueues", len(record.staying))))
            now_us = self._clock.now_us()
            await self._put(replace(record, attributes=merged, modified_us=now_us, physical=physical), seen)

        await self._feed.write(queue.key, attempt)
        if queue.fifo and queue.settings.delay_us != delay_us:
            upkeep = need(self._store.upkeep, "upkeep", self._store.name)
            for physical in queue.physical:
                await ask(partial(upkeep.retime, physical, queue.settings.delay_us))

    async def _reserve(self, number: int, uid: str) -> list[PhysicalRecord]:
        try:
            return await ask(partial(self._records.reserve, number, uid)) if number else []
        except OverQuota:
            raise self._directory.no_room() from None

    async def _resized(self, record: QueueRecord, number: int) -> list[PhysicalRecord]:
        """Its physical queues if so many are to stay. The others leave, and go when they are empty.

        Those of a FIFO queue are all replaced: most groups have another place among more, or fewer.
        """
        staying, leaving = record.staying, record.leaving
        if number == len(staying):
            return record.physical
        # Before numbers are asked for: who is refused again and again shall not use them up.
        more = number if record.fifo else number - len(record.physical)
        self._directory.check_room(record.account, max(more, 0))
        if record.fifo:
            generation = staying[0].generation + 1
            kept = [replace(new, generation=generation) for new in await self._reserve(number, record.uid)]
            left = [*map(_leave, staying), *leaving]
        elif number < len(staying):
            kept = staying[:number]
            left = [*map(_leave, staying[number:]), *leaving]
        else:
            back = [replace(part, state=PhysicalState.UP) for part in leaving[: number - len(staying)]]
            kept = [*staying, *back, *await self._reserve(number - len(staying) - len(back), record.uid)]
            left = leaving[len(back) :]
        is_over = len(kept) + len(left) > 2 * limits.MAX_PHYSICAL_QUEUES
        if is_over or len({part.generation for part in left}) > limits.MAX_LEAVING_GENERATIONS:
            raise OverLimit(
                f"{len(leaving)} physical queues of this queue are leaving, and still hold messages. Change "
                "RockdovePhysicalQueues again when they are empty."
            )
        return kept + left

    async def drop_empty(self, queue: Queue) -> None:
        """Let physical queues go that leave, and are empty.

        Those of a FIFO queue go with all of their generation: which of them has a group depends on how many there are.
        """
        leaving = queue.physical[queue.staying :]
        await ask(partial(self._store.refresh, leaving))
        # What is believed to be empty is looked at.
        places = [each for each in leaving if not each.hint().may_hold_any]
        counts: list[Counts] = await asyncio.gather(*(ask(each.count) for each in places))
        empty = {each.record.number for each, count in zip(places, counts, strict=True) if not count.total}
        if queue.fifo:
            held = {part.generation for part in queue.record.leaving if part.number not in empty}
            empty -= {part.number for part in queue.record.leaving if part.generation in held}

        def changed(record: QueueRecord) -> QueueRecord:
            kept = [part for part in record.physical if not (part.leaves and part.number in empty)]
            return replace(record, physical=kept)

        if empty:
            await self.change(queue, changed)

    async def set_physical(self, queue: Queue, index: int, weight: float | None, state: PhysicalState | None) -> None:
        """Change what a physical queue takes part in, or its share of new messages."""
        if weight is None and state is None:
            raise MissingParameter("The request must contain the parameter Weight or State.")
        if weight is not None and not 0 <= weight <= limits.MAX_WEIGHT:
            raise InvalidParameterValue(
                f"Value {weight:.12g} for parameter Weight is invalid. "
                f"Reason: Must be between 0 and {limits.MAX_WEIGHT:,}."
            )
        if queue.fifo and (weight is not None or state is PhysicalState.DRAINING):
            raise UnsupportedOperation(
                "Messages of a FIFO queue go by their groups: its physical queues have no weights, and do not drain."
            )

        def changed(record: QueueRecord) -> QueueRecord:
            if not 0 <= index < len(record.staying):
                raise InvalidParameterValue(
                    f"Value {index} for parameter Index is invalid. "
                    f"Reason: The queue has the physical queues 0 to {len(record.staying) - 1}."
                )
            part = record.physical[index]
            new = replace(
                part, weight=part.weight if weight is None else weight, state=part.state if state is None else state
            )
            return replace(record, physical=[*record.physical[:index], new, *record.physical[index + 1 :]])

        await self.change(queue, changed)

    async def attributes(self, queue: Queue, names: list[str]) -> dict[str, str]:
        told = {
            "QueueArn": queue_arn(queue.region, queue.key[0], queue.name),
            "CreatedTimestamp": str(queue.record.created_us // SECOND_US),
            "LastModifiedTimestamp": str(queue.record.modified_us // SECOND_US),
        }
        if "All" in names or not attribute.COUNTED.isdisjoint(names):
            counts = await ask(partial(count, queue))
            told["ApproximateNumberOfMessages"] = str(counts.visible)
            told["ApproximateNumberOfMessagesNotVisible"] = str(counts.in_flight)
            told["ApproximateNumberOfMessagesDelayed"] = str(counts.delayed)
        return attribute.selected(names, queue.record.attributes, queue.fifo, told, self._store.has_fast_claims)

    async def tag(self, queue: Queue, tags: Mapping[str, str]) -> None:
        if not tags:
            raise MissingParameter("The request must contain the parameter Tags.")

        def changed(record: QueueRecord) -> QueueRecord:
            merged = {**record.tags, **tags}
            _check_tags(merged)
            return replace(record, tags=merged)

        await self.change(queue, changed)

    async def untag(self, queue: Queue, keys: list[str]) -> None:
        if not keys:
            raise MissingParameter("The request must contain the parameter TagKeys.")
        wrong = wrong_key(keys)
        if wrong is not None:
            raise InvalidParameterValue(wrong)

        def changed(record: QueueRecord) -> QueueRecord:
            return replace(record, tags={key: value for key, value in record.tags.items() if key not in keys})

        await self.change(queue, changed)

    async def add_permission(self, queue: Queue, label: str, accounts: list[str], actions: list[str]) -> None:
        await self._change_policy(queue, lambda text: policy.grant(text, queue.arn, label, accounts, actions))

    async def remove_permission(self, queue: Queue, label: str) -> None:
        await self._change_policy(queue, lambda text: policy.revoke(text, queue.arn, label))

    async def _change_policy(self, queue: Queue, change: Callable[[str | None], str | None]) -> None:
        def changed(record: QueueRecord) -> QueueRecord:
            text = change(record.attributes.get("Policy"))
            merged = attribute.merge(record.attributes, {"Policy": text or ""})
            return replace(record, attributes=merged, modified_us=self._clock.now_us())

        await self.change(queue, changed)

    async def change(self, queue: Queue, change: Callable[[QueueRecord], QueueRecord]) -> None:
        async def attempt(seen: int) -> None:
            await self._put(change(_living(queue)), seen)

        await self._feed.write(queue.key, attempt)

    async def _put(self, record: QueueRecord, seen: int) -> None:
        try:
            await ask(partial(self._records.put_queue, record, self._directory.max_per_account, seen))
        except OverQuota:
            raise self._directory.no_room() from None

    def _check_redrive(self, key: tuple[str, str], changes: Mapping[str, str], fifo: bool) -> None:
        """A dead-letter queue must exist, be of the same kind and account, and allow it."""
        value = changes.get("RedrivePolicy")
        if not value:
            return
        redrive = attribute.redrive(value)
        target = self._directory.get(*redrive.target)
        start = f"Value {value} for parameter RedrivePolicy is invalid. Reason: "
        # Before anything else, so that nobody learns which queues others have.
        if redrive.target[0] != key[0]:
            raise InvalidParameterValue(f"{start}Dead letter target owner should be same as the source.")
        if target is None:
            fault = InvalidParameterValue(f"{start}Dead letter target does not exist.")
            fault.missed = True
            raise fault
        if target.fifo != fifo:
            raise InvalidParameterValue(f"{start}Dead-letter queue must be same type of queue as the source.")
        allow = target.settings.redrive_allow
        if allow is not None and not allow.allows(key):
            raise InvalidParameterValue(
                f"{start}Queue {key[1]} does not have permission to use {target.key[1]} as a dead letter queue."
            )


def _leave(part: PhysicalRecord) -> PhysicalRecord:
    return replace(part, state=PhysicalState.LEAVING)


def _living(queue: Queue) -> QueueRecord:
    if not queue.alive:
        raise QueueDoesNotExist()
    return queue.record


def _check_name(name: str, fifo: bool) -> None:
    plain = name.removesuffix(".fifo") if fifo else name
    if not _NAME.fullmatch(plain) or len(name) > limits.MAX_QUEUE_NAME_LENGTH or (fifo and plain == name):
        if fifo:
            raise InvalidParameterValue(
                "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end "
                "with .fifo suffix and be 1 to 80 in length."
            )
        raise InvalidParameterValue(
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
        )


def _check_tags(tags: Mapping[str, str]) -> None:
    if len(tags) > limits.MAX_TAGS:
        raise InvalidParameterValue(f"Too many tags added for queue: at most {limits.MAX_TAGS} are allowed.")
    wrong = wrong_tag(tags)
    if wrong is not None:
        raise InvalidParameterValue(wrong)
