"""The operations on queues themselves: create, delete, list, purge, attributes, tags, permissions."""

import asyncio
import re
from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from rockdove.broker.ask import ask
from rockdove.broker.broker import Broker
from rockdove.broker.queue import Queue
from rockdove.core import attribute, limits, policy
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import (
    InvalidParameterValue,
    PurgeQueueInProgress,
    QueueDoesNotExist,
    QueueNameExists,
    ServiceUnavailable,
)
from rockdove.core.queue import QueueRecord

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.MAX_QUEUE_NAME_LENGTH}}}")


class Admin:
    """Changes queues one at a time: two changes of one record never cross."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._directory = broker.directory
        self._store = broker.store
        self._clock = broker.clock
        self._lock = asyncio.Lock()

    async def create(self, account: str, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> Queue:
        """Create a queue, or find the one of that name if its attributes are the wanted ones."""
        fifo = attributes.get("FifoQueue") == "true"
        _check_name(name, fifo)
        attribute.check(attributes, fifo, creating=True)
        _check_tags(tags)
        async with self._lock:
            queue = self._directory.get(account, name)
            if queue is not None:
                differing = attribute.differing(attributes, queue.record.attributes, queue.fifo)
                if differing is not None:
                    raise QueueNameExists(
                        f"A queue already exists with the same name and a different value for attribute {differing}"
                    )
                return queue
            now = self._clock.now_us()
            self._directory.check_rested(account, name, now)
            attribute.check_together({**({"DeduplicationScope": "queue"} if fifo else {}), **attributes})
            self._check_redrive((account, name), attributes, fifo)
            if self._store.full is not None:
                raise ServiceUnavailable(self._store.full)
            record = self._directory.new_record(account, name, dict(attributes), dict(tags), now)
            self._directory.check_room(record)
            await ask(partial(self._store.put_queue, record))
            return self._directory.add(record)

    async def delete(self, queue: Queue) -> None:
        async with self._lock:
            if not queue.alive:
                raise QueueDoesNotExist()
            now = self._clock.now_us()
            remove = partial(self._directory.remove, queue, now)
            await ask(partial(self._store.drop_queue, queue.record, now), at_once=remove)

    async def purge(self, queue: Queue) -> None:
        """Empty a queue at once, however full: it gets new physical queues, and the old ones are dropped."""
        async with self._lock:
            now = self._clock.now_us()
            if self._directory.rests(queue.record.purged_us, now):
                name, pause_s = queue.record.name, limits.COOL_DOWN_S
                raise PurgeQueueInProgress(
                    f"Only one PurgeQueue operation on {name} is allowed every {pause_s} seconds."
                )
            physical = [self._store.new_physical() for _ in queue.record.physical]
            await self._put(queue, replace(queue.record, physical=physical, purged_us=now))

    async def set_attributes(self, queue: Queue, changes: Mapping[str, str]) -> None:
        attribute.check(changes, queue.fifo, creating=False)
        async with self._lock:
            merged = attribute.merge(queue.record.attributes, changes)
            attribute.check_together(attribute.effective(merged, queue.fifo))
            self._check_redrive(queue.key, changes, queue.fifo)
            delay_us = queue.settings.delay_us
            await self._put(queue, replace(queue.record, attributes=merged, modified_us=self._clock.now_us()))
            if queue.fifo and queue.settings.delay_us != delay_us:
                for physical in queue.physical:
                    await ask(partial(physical.retime, queue.settings.delay_us))
                queue.wake(1)

    async def attributes(self, queue: Queue, names: list[str]) -> dict[str, str]:
        told = {
            "QueueArn": queue.arn,
            "CreatedTimestamp": str(queue.record.created_us // SECOND_US),
            "LastModifiedTimestamp": str(queue.record.modified_us // SECOND_US),
        }
        if "All" in names or not attribute.COUNTED.isdisjoint(names):
            counts = await ask(partial(self._broker.count, queue))
            told["ApproximateNumberOfMessages"] = str(counts.visible)
            told["ApproximateNumberOfMessagesNotVisible"] = str(counts.in_flight)
            told["ApproximateNumberOfMessagesDelayed"] = str(counts.delayed)
        return attribute.selected(names, queue.record.attributes, queue.fifo, told)

    async def tag(self, queue: Queue, tags: Mapping[str, str]) -> None:
        async with self._lock:
            merged = {**queue.record.tags, **tags}
            _check_tags(merged)
            await self._put(queue, replace(queue.record, tags=merged))

    async def untag(self, queue: Queue, keys: list[str]) -> None:
        async with self._lock:
            left = {key: value for key, value in queue.record.tags.items() if key not in keys}
            await self._put(queue, replace(queue.record, tags=left))

    async def add_permission(self, queue: Queue, label: str, accounts: list[str], actions: list[str]) -> None:
        async with self._lock:
            text = policy.grant(queue.record.attributes.get("Policy"), queue.arn, label, accounts, actions)
            await self._put_policy(queue, text)

    async def remove_permission(self, queue: Queue, label: str) -> None:
        async with self._lock:
            await self._put_policy(queue, policy.revoke(queue.record.attributes.get("Policy"), queue.arn, label))

    async def _put_policy(self, queue: Queue, text: str | None) -> None:
        changed = attribute.merge(queue.record.attributes, {"Policy": text or ""})
        await self._put(queue, replace(queue.record, attributes=changed, modified_us=self._clock.now_us()))

    async def _put(self, queue: Queue, record: QueueRecord) -> None:
        if not queue.alive:
            raise QueueDoesNotExist()
        await ask(partial(self._store.put_queue, record), at_once=lambda: queue.update(record))

    def dead_letter_sources(self, queue: Queue) -> list[Queue]:
        """The queues that send their dead letters here."""
        return [
            source
            for source in self._directory.of_account(queue.record.account, "")
            if source.settings.redrive is not None and source.settings.redrive.target == queue.key
        ]

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
            raise InvalidParameterValue(f"{start}Dead letter target does not exist.")
        if target.fifo != fifo:
            raise InvalidParameterValue(f"{start}Dead-letter queue must be same type of queue as the source.")
        allow = target.settings.redrive_allow
        if allow is not None and not allow.allows(key):
            raise InvalidParameterValue(
                f"{start}Queue {key[1]} does not have permission to use {target.key[1]} as a dead letter queue."
            )


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
    for key, value in tags.items():
        if not 1 <= len(key) <= limits.MAX_TAG_KEY_LENGTH or key.startswith("aws:"):
            raise InvalidParameterValue(
                f"Tag keys must be between 1 and {limits.MAX_TAG_KEY_LENGTH} characters in length and must not begin "
                "with aws:."
            )
        if len(value) > limits.MAX_TAG_VALUE_LENGTH:
            raise InvalidParameterValue(
                f"Tag values must be between 0 and {limits.MAX_TAG_VALUE_LENGTH} characters in length."
            )
