"""Which topics there are, and the operations on them and their subscriptions."""

import secrets
import uuid
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

from msgspec.structs import replace

from rockdove.broker.ask import ask
from rockdove.broker.context import Context
from rockdove.broker.feed import Feed
from rockdove.broker.queue import Queue
from rockdove.core import filter as filters
from rockdove.core import limits, permission, policy
from rockdove.core import topic as rules
from rockdove.core.arn import parse_arn, parse_subscription_arn, parse_topic_arn, subscription_arn, topic_arn
from rockdove.core.errors import (
    MissingParameter,
    ServiceUnavailable,
    SubscriptionLimitExceeded,
    TagLimitExceeded,
    TopicLimitExceeded,
    TopicNotFound,
)
from rockdove.core.tag import wrong_key, wrong_tag
from rockdove.core.topic import Subscription, TopicRecord, wrong
from rockdove.store.base import Change, Snapshot, TopicDropped, TopicPut

_FILTERING = frozenset(("FilterPolicy", "FilterPolicyScope"))


class Subscriber:
    """A subscription at work."""

    def __init__(self, subscription: Subscription, topic: str) -> None:
        self.subscription = subscription
        self.arn = subscription_arn(topic, subscription.uid)
        self.endpoint = parse_arn(subscription.endpoint) or ("", "")
        attributes = subscription.attributes
        self.filter: filters.Filter | None = rules.filter_of(attributes)
        self.raw = attributes.get("RawMessageDelivery") == "true"
        redrive = attributes.get("RedrivePolicy")
        # The account and the name of the queue for what cannot be delivered.
        self.dead_letters = rules.redrive_target(redrive) if redrive else None


class Topic:
    """A topic at work; made anew when its record changes."""

    def __init__(self, record: TopicRecord, region: str) -> None:
        self.record = record
        self.arn = topic_arn(region, record.account, record.name)
        self.fifo = record.fifo
        self.content_deduplication = record.attributes.get("ContentBasedDeduplication") == "true"
        self.policy = permission.of(record.attributes.get("Policy"), permission.TOPICS)

    @cached_property
    def subscribers(self) -> list[Subscriber]:
        return [Subscriber(each, self.arn) for each in self.record.subscriptions]

    def subscription(self, uid: str) -> Subscription | None:
        return next((each for each in self.record.subscriptions if each.uid == uid), None)


class Topics:
    """All topics of this service. If somebody else has changed one meanwhile, it looks again and decides again."""

    def __init__(self, context: Context, feed: Feed, region: str) -> None:
        self._context = context
        self._records = context.store.records
        self._feed = feed
        self._region = region
        self._topics: dict[tuple[str, str], Topic] = {}
        # The names of each account's topics, in order.
        self._names: dict[str, list[str]] = {}

    # Records, see `rockdove.broker.feed.RecordFollower`.

    def load(self, snapshot: Snapshot) -> None:
        self._topics.clear()
        self._names.clear()
        for record in snapshot.topics:
            self._put(record)

    def apply(self, change: Change) -> None:
        match change:
            case TopicPut(topic=record):
                self._put(record)
            case TopicDropped(uid=uid, account=account, name=name):
                there = self._topics.get((account, name))
                if there is not None and there.record.uid == uid:
                    del self._topics[account, name]
                    self._names[account].remove(name)

    def _put(self, record: TopicRecord) -> None:
        key = record.account, record.name
        if key not in self._topics:
            insort(self._names.setdefault(record.account, []), record.name)
        self._topics[key] = Topic(record, self._region)

    # Looking.

    def find(self, account: str, name: str) -> Topic | None:
        return self._topics.get((account, name))

    def by_arn(self, arn: str) -> Topic:
        """Raises the fault of an ARN that is none, and of a topic that is not there."""
        key = parse_topic_arn(arn)
        if key is None:
            raise wrong("TopicArn", f"{arn} is not the ARN of a topic.")
        topic = self._topics.get(key)
        if topic is None:
            raise TopicNotFound("Topic does not exist")
        return topic

    def by_subscription(self, arn: str) -> tuple[Topic, Subscription]:
        """The same of the ARN of a subscription."""
        topic = self.of_subscription(arn)
        key = parse_subscription_arn(arn)
        subscription = None if topic is None or key is None else topic.subscription(key[2])
        if topic is None or subscription is None:
            raise TopicNotFound("Subscription does not exist")
        return topic, subscription

    def of_subscription(self, arn: str) -> Topic | None:
        key = parse_subscription_arn(arn)
        if key is None:
            raise wrong("SubscriptionArn", f"{arn} is not the ARN of a subscription.")
        return self._topics.get(key[:2])

    def names_of(self, account: str) -> list[str]:
        """The names of an account's topics, in order."""
        return list(self._names.get(account, ()))

    def page(self, account: str, after: str) -> tuple[list[Topic], str | None]:
        """Topics of an account in the order of their names, and after which the next page begins, if there is one."""
        names = self._names.get(account, [])
        first = bisect_right(names, after)
        page = names[first : first + limits.MAX_LISTED_TOPICS]
        more = first + len(page) < len(names)
        return [self._topics[account, name] for name in page], page[-1] if more else None

    def subscriptions(self, account: str) -> Iterator[tuple[Topic, Subscription]]:
        """Those that an account has made."""
        for topic in self._topics.values():
            for each in topic.record.subscriptions:
                if each.owner == account:
                    yield topic, each

    # Topics.

    async def create(self, account: str, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> Topic:
        """Create a topic, unless there is one of that name with the wanted attributes and tags."""
        fifo = rules.is_fifo(attributes)
        rules.check_name(name, fifo)
        given = {each: value for each, value in attributes.items() if each != "FifoTopic"}
        rules.check_topic(given, fifo)
        _check_tags(tags)

        async def attempt(seen: int) -> None:
            there = self.find(account, name)
            if there is not None:
                if rules.topic_differs(given, there.record):
                    raise wrong("Attributes", "Topic already exists with different attributes")
                if tags and tags != there.record.tags:
                    raise wrong("Tags", "Topic already exists with different tags")
                return
            if len(self._names.get(account, ())) >= limits.MAX_TOPICS:
                raise TopicLimitExceeded(f"An account may have {limits.MAX_TOPICS} topics; delete some first.")
            if self._context.store.full is not None:
                raise ServiceUnavailable(self._context.store.full)
            record = TopicRecord(
                uid=secrets.token_hex(8),
                account=account,
                name=name,
                created_us=self._context.clock.now_us(),
                attributes=rules.merge({}, given),
                tags=dict(tags),
            )
            await ask(partial(self._records.put_topic, record, seen))

        await self._feed.write(("topic", account, name), attempt)
        return self._named(account, name)

    def _named(self, account: str, name: str) -> Topic:
        topic = self.find(account, name)
        if topic is None:
            raise TopicNotFound("Topic does not exist")
        return topic

    async def delete(self, arn: str) -> None:
        """Delete a topic with its subscriptions; one that is not there is gone already."""
        key = parse_topic_arn(arn)
        if key is None:
            raise wrong("TopicArn", f"{arn} is not the ARN of a topic.")

        async def attempt(seen: int) -> None:
            topic = self.find(*key)
            if topic is not None:
                await ask(partial(self._records.drop_topic, topic.record, seen))

        await self._feed.write(("topic", *key), attempt)

    async def _change(self, topic: Topic, change: Callable[[TopicRecord], TopicRecord | None]) -> None:
        """``change`` gives None where there is nothing to do."""
        account, name, uid = topic.record.account, topic.record.name, topic.record.uid

        async def attempt(seen: int) -> None:
            now = self._named(account, name)
            if now.record.uid != uid:
                raise TopicNotFound("Topic does not exist")
            changed = change(now.record)
            if changed is not None:
                await ask(partial(self._records.put_topic, changed, seen))

        await self._feed.write(("topic", account, name), attempt)

    async def set_attribute(self, arn: str, name: str, value: str) -> None:
        topic = self.by_arn(arn)
        rules.check_topic({name: value}, topic.fifo)
        await self._change(
            topic, lambda record: replace(record, attributes=rules.merge(record.attributes, {name: value}))
        )

    async def add_permission(self, arn: str, label: str, accounts: list[str], actions: list[str]) -> None:
        grant = partial(policy.grant, label=label, accounts=accounts, actions=actions, vocabulary=permission.TOPICS)
        await self._change_policy(arn, grant)

    async def remove_permission(self, arn: str, label: str) -> None:
        await self._change_policy(arn, partial(policy.revoke, label=label, vocabulary=permission.TOPICS))

    async def _change_policy(self, arn: str, change: Callable[[str | None, str], str | None]) -> None:
        topic = self.by_arn(arn)

        def changed(record: TopicRecord) -> TopicRecord:
            text = change(record.attributes.get("Policy"), topic.arn)
            return replace(record, attributes=rules.merge(record.attributes, {"Policy": text or ""}))

        await self._change(topic, changed)

    async def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        if not tags:
            raise MissingParameter("The request must contain the parameter Tags.")

        def changed(record: TopicRecord) -> TopicRecord:
            merged = {**record.tags, **tags}
            _check_tags(merged)
            return replace(record, tags=merged)

        await self._change(self.by_arn(arn), changed)

    async def untag(self, arn: str, keys: list[str]) -> None:
        reason = wrong_key(keys)
        if reason is not None:
            raise wrong("TagKeys", reason)

        def changed(record: TopicRecord) -> TopicRecord:
            return replace(record, tags={key: value for key, value in record.tags.items() if key not in keys})

        await self._change(self.by_arn(arn), changed)

    # Subscriptions.

    async def subscribe(self, account: str, arn: str, endpoint: str, attributes: Mapping[str, str]) -> str:
        """Let a queue get what is published; the ARN of the subscription, which may be there already."""
        topic = self.by_arn(arn)
        rules.check_subscription(attributes)
        self._check_endpoint(topic, endpoint, attributes)
        uid = str(uuid.uuid4())
        found: list[str] = []

        def changed(record: TopicRecord) -> TopicRecord | None:
            key = parse_arn(endpoint)
            there = next((each for each in record.subscriptions if parse_arn(each.endpoint) == key), None)
            found[:] = [uid if there is None else there.uid]
            if there is not None:
                if rules.subscription_differs(attributes, there):
                    raise wrong("Attributes", "Subscription already exists with different attributes")
                return None
            most = limits.MAX_FIFO_SUBSCRIPTIONS if record.fifo else limits.MAX_SUBSCRIPTIONS
            if len(record.subscriptions) >= most:
                raise SubscriptionLimitExceeded(f"This topic may have {most} subscriptions; remove some first.")
            made = Subscription(uid, account, endpoint, self._context.clock.now_us(), rules.merge({}, dict(attributes)))
            return replace(record, subscriptions=[*record.subscriptions, made])

        await self._change(topic, changed)
        return subscription_arn(topic.arn, found[0])

    async def unsubscribe(self, arn: str) -> None:
        """One that is not there is gone already."""
        topic, key = self.of_subscription(arn), parse_subscription_arn(arn)
        if topic is None or key is None:
            return

        def changed(record: TopicRecord) -> TopicRecord | None:
            left = [each for each in record.subscriptions if each.uid != key[2]]
            return None if len(left) == len(record.subscriptions) else replace(record, subscriptions=left)

        try:
            await self._change(topic, changed)
        except TopicNotFound:
            return

    async def set_subscription_attribute(self, arn: str, name: str, value: str) -> None:
        topic, subscription = self.by_subscription(arn)
        if name == "FilterPolicy" and value == "{}":
            value = ""
        uid = subscription.uid

        def changed(record: TopicRecord) -> TopicRecord:
            at = next((at for at, each in enumerate(record.subscriptions) if each.uid == uid), None)
            if at is None:
                raise TopicNotFound("Subscription does not exist")
            there = record.subscriptions[at]
            merged = rules.merge(there.attributes, {name: value})
            # All together: a filter policy is read by its scope.
            rules.check_subscription(merged if name in _FILTERING else {name: value})
            if name == "RedrivePolicy":
                self._check_redrive(there.endpoint, merged)
            new = replace(there, attributes=merged)
            return replace(record, subscriptions=[*record.subscriptions[:at], new, *record.subscriptions[at + 1 :]])

        await self._change(topic, changed)

    def _check_endpoint(self, topic: Topic, endpoint: str, attributes: Mapping[str, str]) -> None:
        queue = self._queue(endpoint)
        if parse_arn(endpoint) is None:
            raise wrong("Endpoint", "SQS endpoint ARN: it must be the ARN of a queue.")
        if queue is None:
            fault = wrong("Endpoint", f"The queue {endpoint} does not exist.")
            fault.missed = True
            raise fault
        if queue.fifo and not topic.fifo:
            raise wrong("Endpoint", "FIFO SQS Queues can not be subscribed to standard SNS topics")
        self._check_redrive(endpoint, attributes)

    def _check_redrive(self, endpoint: str, attributes: Mapping[str, str]) -> None:
        text = attributes.get("RedrivePolicy")
        if not text:
            return
        target = self._context.directory.get(*rules.redrive_target(text))
        if target is None:
            fault = wrong("RedrivePolicy", "The queue of deadLetterTargetArn does not exist.")
            fault.missed = True
            raise fault
        queue = self._queue(endpoint)
        if queue is not None and target.fifo != queue.fifo:
            raise wrong("RedrivePolicy", "The dead-letter queue must be of the same type as the subscribed queue.")

    def _queue(self, arn: str) -> Queue | None:
        return self._context.directory.by_arn(arn)


def _check_tags(tags: Mapping[str, str]) -> None:
    reason = wrong_tag(tags)
    if reason is not None:
        raise wrong("Tags", reason)
    if len(tags) > limits.MAX_TAGS:
        raise TagLimitExceeded(f"A topic may have {limits.MAX_TAGS} tags.")
