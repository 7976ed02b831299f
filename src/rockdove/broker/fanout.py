"""Brings what is published to a topic into the queues of its subscriptions, before the publisher is answered."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from rockdove.broker.broker import Broker
from rockdove.broker.compose import compose
from rockdove.broker.notification import Notification, Parcel
from rockdove.broker.queue import Queue
from rockdove.broker.topic import Subscriber, Topic
from rockdove.core import limits
from rockdove.core.errors import (
    AccessDenied,
    Fault,
    QueueDoesNotExist,
    ServiceInterrupted,
    ServiceUnavailable,
    StoreError,
)
from rockdove.core.message import Attribute
from rockdove.store.base import Appended, Draft

# An outcome for each notification, in their order.
Fanned = Callable[[list[Fault | None]], None]
# Whether what a topic publishes may be sent to a queue, for the account that has subscribed it.
MaySend = Callable[[Topic, str, Queue], bool]
# Is told of a notification that no queue gets: the topic's ARN, the queue's, and why.
Dropped = Callable[[str, str, Fault], None]

# Bytes that the deliveries of one publication have on their way, and one delivery more.
MOST_BYTES = 4 * 1024 * 1024
# These pass: who publishes again later may succeed.
_PASSING = (ServiceUnavailable, ServiceInterrupted)


class Fanout:
    """One for each process. A notification is done when each matching queue, or its dead-letter queue, has it.

    What can be delivered to neither, because queues are gone or refuse it, is dropped, and told to ``dropped``. If the
    store cannot take it at the moment, the publisher is told, and has to publish again.
    """

    def __init__(self, broker: Broker, may_send: MaySend, dropped: Dropped, may_miss: bool) -> None:
        """``may_miss``: other processes may have made queues that this one has not heard of yet."""
        self._broker = broker
        self._directory = broker.directory
        self._clock = broker.clock
        self._may_send = may_send
        self._dropped = dropped
        self._may_miss = may_miss
        self._sequence = 0

    def next_sequence(self) -> int:
        """A number that is larger than those before, also over a restart."""
        self._sequence = max(self._sequence + 1, self._clock.now_us() << 10)
        return self._sequence

    def publish(
        self, topic: Topic, notifications: Sequence[Notification], base_url: str, trace_id: str | None, done: Fanned
    ) -> None:
        """``base_url`` is the service's own, as the publisher sees it."""
        work = _Publication(topic, notifications, base_url, trace_id, done)
        work.go_on = partial(self._go_on, work, iter(topic.subscribers))
        work.go_on()

    def _go_on(self, work: "_Publication", subscribers: Iterator[Subscriber]) -> None:
        """Begin deliveries, until there is as much on its way as may be: each has a copy of the message.

        Those of a FIFO topic all begin at once, so that no other publication comes in between.
        """
        for subscriber in subscribers:
            chosen = work.chosen(subscriber)
            if chosen:
                work.begin()
                self._deliver(work, subscriber, chosen)
                if not work.topic.fifo and work.waits():
                    return
        work.has_begun()

    def _deliver(self, work: "_Publication", subscriber: Subscriber, chosen: list[int], again: bool = False) -> None:
        queue = self._directory.get(*subscriber.endpoint)
        if queue is None:
            if self._may_miss and not again:
                self._catch_up(work, lambda: self._deliver(work, subscriber, chosen, again=True))
            else:
                self._bury(work, subscriber, chosen, QueueDoesNotExist())
            return
        if not self._may_send(work.topic, subscriber.subscription.owner, queue):
            denied = AccessDenied(f"The topic {work.topic.arn} may not send to the queue.")
            self._bury(work, subscriber, chosen, denied)
            return
        parcels = [work.parcel(at, subscriber, queue) for at in chosen]

        def failed(at: int, fault: Fault) -> None:
            work.begin()
            self._bury(work, subscriber, [at], fault)

        def over(sent: list[int], fault: Fault | None) -> None:
            if fault is None:
                work.end()
            else:
                self._bury(work, subscriber, sent, fault)

        self._send(work, queue, chosen, parcels, failed, over)

    def _send(
        self,
        work: "_Publication",
        queue: Queue,
        chosen: Sequence[int],
        parcels: Sequence[Parcel],
        failed: Callable[[int, Fault], None],
        over: Callable[[list[int], Fault | None], None],
    ) -> None:
        """``failed`` is told of those that the queue does not take, ``over`` of what has become of the others."""
        now_us = self._clock.now_us()
        places, drafts = [], []
        for at, parcel in zip(chosen, parcels, strict=True):
            try:
                sender = work.topic.record.account
                drafts.append(compose(queue, parcel, sender, now_us, plain=True, trace_id=work.trace_id))
                places.append(at)
            except Fault as fault:
                failed(at, fault)
        if not drafts:
            over([], None)
            return

        def sent(outcome: list[Appended] | Fault) -> None:
            if not isinstance(outcome, Fault):
                self._trace(queue, drafts, outcome)
            over(places, outcome if isinstance(outcome, Fault) else None)

        self._broker.send(queue, drafts, sent)

    def _trace(self, queue: Queue, drafts: list[Draft], appended: list[Appended]) -> None:
        watch = self._broker.context.watch
        if watch is not None:
            watch.published(queue, list(zip(drafts, appended, strict=True)))

    def _bury(
        self, work: "_Publication", subscriber: Subscriber, chosen: list[int], why: Fault, again: bool = False
    ) -> None:
        """What could not be delivered goes to the dead-letter queue of the subscription."""
        target = subscriber.dead_letters
        queue = None if target is None else self._directory.get(*target)
        if target is not None and queue is None and self._may_miss and not again:
            self._catch_up(work, lambda: self._bury(work, subscriber, chosen, why, again=True))
            return
        if queue is None or not self._may_send(work.topic, subscriber.subscription.owner, queue):
            self._give_up(work, subscriber, chosen, why)
            work.end()
            return
        parcels = [_letter(work.parcel(at, subscriber, queue, is_letter=True), why) for at in chosen]

        def failed(at: int, fault: Fault) -> None:
            self._give_up(work, subscriber, [at], fault)

        def over(sent: list[int], fault: Fault | None) -> None:
            if fault is not None:
                self._give_up(work, subscriber, sent, fault)
            work.end()

        self._send(work, queue, chosen, parcels, failed, over)

    def _give_up(self, work: "_Publication", subscriber: Subscriber, chosen: list[int], why: Fault) -> None:
        if isinstance(why, _PASSING):
            for at in chosen:
                work.outcomes[at] = why
        else:
            self._dropped(work.topic.arn, subscriber.subscription.endpoint, why)

    def _catch_up(self, work: "_Publication", then: Callable[[], None]) -> None:
        """Hear of all that other processes have changed, and go on."""

        def caught_up(outcome: StoreError | None) -> None:
            # If the store cannot be asked, what is known has to do: the store tells the rest when it is sent something.
            then()

        self._broker.store.records.catch_up(caught_up)


class _Publication:
    """What was published together, and what has become of it so far."""

    # Begins more deliveries.
    go_on: Callable[[], None]

    def __init__(
        self, topic: Topic, notifications: Sequence[Notification], base_url: str, trace_id: str | None, done: Fanned
    ) -> None:
        self.topic = topic
        self.trace_id = trace_id
        self.outcomes: list[Fault | None] = [None] * len(notifications)
        self._notifications = notifications
        self._base_url = base_url
        self._done = done
        self._size = sum(each.size for each in notifications)
        # How many deliveries are not over yet, and whether all have begun.
        self._open = 0
        self._all_begun = False
        self._waits = False

    def chosen(self, subscriber: Subscriber) -> list[int]:
        """Which of the notifications a subscription gets."""
        matches = subscriber.filter
        return [at for at, each in enumerate(self._notifications) if matches is None or matches.matches(each)]

    def waits(self) -> bool:
        """Whether more deliveries must wait until those that have begun are over."""
        self._waits = self._open * self._size > MOST_BYTES
        return self._waits

    def begin(self) -> None:
        self._open += 1

    def end(self) -> None:
        self._open -= 1
        if self._waits and not self._open:
            self._waits = False
            self.go_on()
        else:
            self._end_if_over()

    def has_begun(self) -> None:
        """All deliveries have."""
        self._all_begun = True
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self._all_begun and not self._open:
            self._all_begun = False
            self._done(self.outcomes)

    def parcel(self, at: int, subscriber: Subscriber, queue: Queue, is_letter: bool = False) -> Parcel:
        """``is_letter``: for a dead-letter queue. It gets an envelope of what has too many attributes for a queue."""
        url = f"{self._base_url}/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn={subscriber.arn}"
        notification = self._notifications[at]
        return notification.parcel(queue.fifo, subscriber.raw and (notification.fits_raw or not is_letter), url)


def _letter(parcel: Parcel, why: Fault) -> Parcel:
    """With the reason, if there is room for it among the attributes."""
    told = {
        "ErrorCode": Attribute("String", why.code),
        "ErrorMessage": Attribute("String", why.message or why.code),
    }
    attributes = {**(parcel.message_attributes or {}), **told}
    return parcel if len(attributes) > limits.MAX_MESSAGE_ATTRIBUTES else replace(parcel, message_attributes=attributes)
