"""A logical queue at work: its settings, its physical queues, and the receives that wait for a message."""

import asyncio
import zlib
from collections import OrderedDict
from random import Random
from typing import Protocol

from rockdove.broker.event import Events
from rockdove.broker.share import Rotation
from rockdove.core import attribute, permission
from rockdove.core.arn import queue_arn
from rockdove.core.attribute import Settings
from rockdove.core.clock import SECOND_US, Clock
from rockdove.core.dequeue import DequeuePolicy, PolicyChoice, PolicyName
from rockdove.core.errors import ServiceUnavailable
from rockdove.core.queue import PhysicalRecord, PhysicalState, QueueRecord
from rockdove.store.base import Physical, Store

# Seconds for which a physical queue that could not be reached gets no messages, if others take them.
AWAY_S = 0.5


def slot(group: str, size: int) -> int:
    """Which of so many physical queues of a FIFO queue has a message group."""
    return zlib.crc32(group.encode()) % size if size > 1 else 0


class Waiter(Protocol):
    """A receive that waits for a message; see `rockdove.broker.wait`."""

    def wake(self) -> None:
        """Try again."""

    def give_up(self) -> None:
        """Wait no longer."""


class RefreshedQueue(Protocol):
    """One physical queue of a logical one; see `rockdove.broker.part`."""

    def refresh(self) -> None:
        """The logical queue has changed."""

    def arrived(self, visible: int, next_us: int | None) -> None: ...

    def hears(self, number: int) -> bool: ...

    def close(self) -> None: ...


class Queue:
    """One logical queue over one or more physical ones. The truth is in the store; this is a cache of it."""

    # Whether it is one physical queue of another, as a queue of its own; see `rockdove.broker.part`.
    is_part = False

    def __init__(self, record: QueueRecord, region: str, store: Store, clock: Clock, events: Events) -> None:
        self.store = store
        self.clock = clock
        self.record = record
        self.region = region
        self.uid = bytes.fromhex(record.uid)
        self.fifo = record.fifo
        self.key = (record.account, record.name)
        self.arn = queue_arn(region, record.account, record.name)
        # False once the queue is deleted, for those who still hold it.
        self.alive = True
        # The longest waiting first, each with its place in the line.
        self.waiters: OrderedDict[Waiter, int] = OrderedDict()
        self._places = 0
        # Those that a dequeue policy has put to sleep.
        self.sleepers: set[Waiter] = set()
        # Requests that wait, or are about to: the store tells of messages for them.
        self.listeners = 0
        self._listened: list[Physical] = []
        # How many policies it has had since the service started: who waits may do so under the one that it began with.
        self.policies = 0
        # How often the store has told of messages.
        self.arrivals = 0
        # The number of the physical queue with something new, while receives are woken for that.
        self.fresh: int | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_us = 0
        self._rotation: Rotation
        # Physical queues that could not be reached, by number, and until when they get no messages.
        self._away: dict[int, float] = {}
        # Those that leave of a FIFO queue, the oldest generation first.
        self.former: list[list[Physical]] = []
        # What receives take messages from, and of that what they visit: all that is not down.
        self.received: list[Physical] = []
        self.visited: list[Physical] = []
        self._received_records: list[PhysicalRecord] = []
        self._next_visit = -1
        self._choice: PolicyChoice | None = None
        self.dequeue: DequeuePolicy
        # Whether receives are held by a line of their own here, and woken from it.
        self.wakes = True
        # How many messages each physical queue had, at the last look of a policy that wants to know.
        self.numbers: list[int] = []
        # When that was, by the loop's clock.
        self.counted_s = 0.0
        self.physical_records: list[PhysicalRecord] = []
        # How many of them stay: the first ones.
        self.staying = 1
        # Whether there is one physical queue, and nothing to choose or to leave out.
        self.is_plain = True
        self.events = events
        # Its physical queues that are used as queues of their own.
        self.parts: dict[int, RefreshedQueue] = {}
        self.update(record)

    def update(self, record: QueueRecord) -> None:
        if record.attributes.get("Policy") != self.record.attributes.get("Policy"):
            # Who waits may have lost the permission to: let everybody ask again.
            self.policies += 1
            for waiter in (*self.waiters, *self.sleepers):
                waiter.give_up()
        self.record = record
        self.settings: Settings = attribute.settings(record.attributes, record.fifo)
        self.policy = permission.of(record.attributes.get("Policy"))
        before = self._received_records
        self.physical: list[Physical] = [self.store.physical(record, part) for part in record.physical]
        also = self._also_received()
        self.received = self.physical + [self.store.physical(record, part) for part in also]
        self.physical_records = list(record.physical)
        self._received_records = self.physical_records + also
        if self._received_records != before:
            self._rotation = Rotation(record.physical)
            pairs = zip(self.received, self._received_records, strict=True)
            self.visited = [physical for physical, part in pairs if part.state is not PhysicalState.DOWN]
            self.is_plain = len(self.received) == 1 and record.physical[0].state is PhysicalState.UP
            self.staying = len(record.staying)
            self.former = self._former() if record.fifo else []
            self.numbers = []
        if self._listened:
            self._unlisten()
            self._listen()
            # What the new ones hold already, nobody tells of.
            self.arrived(len(self.waiters), None)
        self._index = {part.number: at for at, part in enumerate(record.physical)}
        self._by_number = {part.number: physical for part, physical in zip(record.physical, self.physical, strict=True)}
        if self.settings.dequeue != self._choice:
            self._choose(self.settings.dequeue)
        for part in list(self.parts.values()):
            part.refresh()

    def _also_received(self) -> list[PhysicalRecord]:
        """Physical queues that are not its own, and that receives take messages from, too."""
        return []

    def _former(self) -> list[list[Physical]]:
        generations: dict[int, list[Physical]] = {}
        for physical, part in zip(self.physical, self.record.physical, strict=True):
            if part.leaves:
                generations.setdefault(part.generation, []).append(physical)
        return [generations[at] for at in sorted(generations)]

    def _choose(self, choice: PolicyChoice) -> None:
        """Take another dequeue policy. Those who wait by the old one look again, and then wait by the new one."""
        self._choice = choice
        self.dequeue = choice.make(Random())
        self.wakes = choice.name is PolicyName.WAKE
        waiting = (*self.waiters, *self.sleepers)
        self.waiters.clear()
        for waiter in waiting:
            waiter.wake()

    @property
    def whole(self) -> "Queue":
        """The logical queue."""
        return self

    @property
    def name(self) -> str:
        return self.record.name

    def by_number(self, number: int) -> Physical | None:
        return self._by_number.get(number)

    def index(self, number: int) -> int | None:
        """Which of its physical queues has that number; None: none has, any more."""
        return self._index.get(number)

    def route(self, group: str) -> Physical:
        """Where a message goes: its group's place in a FIFO queue, else by the weights of physical queues.

        Not to one that leaves: see `rockdove.broker.route` for groups that are still there.

        Raises `ServiceUnavailable` if that is down. A group does not go elsewhere: its order would be lost.
        """
        if self.fifo:
            at = slot(group, self.staying)
            if self.record.physical[at].state is PhysicalState.DOWN:
                raise ServiceUnavailable("The physical queue of this message group is down. Please try again.")
            return self.physical[at]
        if self._rotation.is_empty:
            raise ServiceUnavailable("No physical queue takes messages: all that could are down. Please try again.")
        place = None
        if self._away:
            now_s = asyncio.get_running_loop().time()
            self._away = {number: until_s for number, until_s in self._away.items() if until_s > now_s}
            place = self._rotation.next_of(self._is_reached)
        return self.physical[self._rotation.next() if place is None else place]

    def _is_reached(self, at: int) -> bool:
        return self.physical_records[at].number not in self._away

    def goes_round(self, physical: Physical) -> bool:
        """A physical queue cannot be reached: whether messages can go to another instead, which they do for a while."""
        if self.fifo:
            return False
        self._away[physical.record.number] = asyncio.get_running_loop().time() + AWAY_S
        return any(map(self._is_reached, (*self._rotation.places, *self._rotation.spare)))

    # The dequeue policy's view.

    @property
    def size(self) -> int:
        return len(self.visited)

    def next_index(self) -> int:
        self._next_visit = (self._next_visit + 1) % max(len(self.visited), 1)
        return self._next_visit

    def fresh_part(self) -> Physical | None:
        """The physical queue that receives are just being woken for."""
        if self.fresh is None:
            return None
        return next((each for each in self.visited if each.record.number == self.fresh), None)

    def may_have_visible(self, index: int) -> bool:
        return index < len(self.visited) and self.visited[index].hint().may_have_visible(self.clock.now_us())

    def next_visible_us(self, after_us: int) -> int | None:
        """When the next message becomes visible that was not yet at that time, as far as is known without I/O."""
        times = [t for physical in self.received if (t := physical.hint().next_us) is not None and t > after_us]
        return min(times, default=None)

    def may_hold_any(self) -> bool:
        """False only if there was no message at all."""
        return any(physical.hint().may_hold_any for physical in self.received)

    def waiting(self, index: int) -> int:
        return self.numbers[index] if index < len(self.numbers) else 0

    # Waiting receives.

    def wake(self, number: int) -> None:
        """So many messages may have become visible: let as many waiting receives try, the longest waiting first."""
        while number > 0 and self.waiters:
            number -= 1
            waiter, _ = self.waiters.popitem(last=False)
            waiter.wake()

    def take_place(self) -> int:
        """In the line of those who wait: kept by who looks once more, and waits again."""
        self._places += 1
        return self._places

    def enlist(self, waiter: Waiter, place: int) -> None:
        waiters = self.waiters
        is_last = not waiters or place > next(reversed(waiters.values()))
        waiters[waiter] = place
        if is_last:
            return
        if place < next(iter(waiters.values())):
            waiters.move_to_end(waiter, last=False)
        else:
            self.waiters = OrderedDict(sorted(waiters.items(), key=lambda item: item[1]))

    def listen(self) -> bool:
        """Somebody is about to wait: have the store tell of messages. Whether it did already."""
        self.listeners += 1
        if self._listened:
            return True
        self._listen()
        return False

    def _listen(self) -> None:
        self._listened = list(self.received)
        for physical in self._listened:
            self.store.listen(physical)

    def _unlisten(self) -> None:
        heard, self._listened = self._listened, []
        for physical in heard:
            if not self.whole.is_heard(physical.record.number):
                self.store.unlisten(physical)

    def hears(self, number: int) -> bool:
        """Whether somebody waits here for that physical queue."""
        return any(physical.record.number == number for physical in self._listened)

    def is_heard(self, number: int) -> bool:
        """The same, also of its parts."""
        return self.hears(number) or any(part.hears(number) for part in self.parts.values())

    def told(self, number: int, visible: int, next_us: int | None) -> None:
        """The store tells of messages in one of its physical queues."""
        self.fresh = number
        self.arrived(visible, next_us)
        self.fresh = None
        for part in list(self.parts.values()):
            if part.hears(number):
                part.arrived(visible, next_us)

    def arrived(self, visible: int, next_us: int | None) -> None:
        """The store tells of messages: so many have become visible, and the next does at that time."""
        if not self.listeners:
            self._unlisten()
            return
        if visible:
            self.arrivals += 1
            self.wake(visible)
        if next_us is not None:
            self.expect(next_us)

    def expect(self, visible_us: int) -> None:
        """A message becomes visible then: if receives are waiting, wake one at that moment."""
        if not self.listeners:
            return
        if self._alarm is not None:
            if self._alarm_us <= visible_us:
                return
            self._alarm.cancel()
        self._alarm_us = visible_us
        delay_s = max(visible_us - self.clock.now_us(), 0) / SECOND_US
        self._alarm = asyncio.get_running_loop().call_later(delay_s, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.arrivals += 1
        self.wake(1)

    def close(self) -> None:
        """The queue is gone: whoever waits for it is told."""
        self.alive = False
        for part in self.parts.values():
            part.close()
        if self._alarm is not None:
            self._alarm.cancel()
        self._unlisten()
        self.wake(len(self.waiters))
        for sleeper in list(self.sleepers):
            sleeper.wake()
