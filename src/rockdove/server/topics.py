"""The operations on topics: from a request to the broker, and from its outcome to the result."""

import base64
from functools import partial

from rockdove.broker.fanout import Fanned, Fanout
from rockdove.broker.notification import Notification
from rockdove.broker.topic import Topic, Topics
from rockdove.core import limits
from rockdove.core import topic as rules
from rockdove.core.arn import subscription_arn
from rockdove.core.clock import Clock
from rockdove.core.errors import (
    BatchRequestTooLong,
    Fault,
    InvalidParameterValue,
    MissingParameter,
    ResourceNotFound,
    TopicNotFound,
)
from rockdove.core.topic import SQS, Subscription, wrong
from rockdove.server import batch
from rockdove.server.call import Call
from rockdove.wire import topic as shape
from rockdove.wire.query import topic_code


class TopicOperations:
    """One method for each operation; those that publish answer the call, at once or later."""

    def __init__(self, topics: Topics, fanout: Fanout, clock: Clock) -> None:
        self._topics = topics
        self._fanout = fanout
        self._clock = clock

    # Topics.

    async def create_topic(self, call: Call, request: shape.CreateTopic) -> shape.CreateTopicResult:
        if request.data_protection_policy:
            raise wrong("DataProtectionPolicy", "This service has no data protection policies.")
        tags = _tags(request.tags or [])
        topic = await self._topics.create(call.account, request.name, request.attributes or {}, tags)
        return shape.CreateTopicResult(topic_arn=topic.arn)

    async def delete_topic(self, call: Call, request: shape.DeleteTopic) -> None:
        await self._topics.delete(request.topic_arn)

    async def list_topics(self, call: Call, request: shape.ListTopics) -> shape.ListTopicsResult:
        page, after = self._topics.page(call.account, _place(request.next_token))
        topics = [shape.ListedTopic(topic_arn=topic.arn) for topic in page]
        return shape.ListTopicsResult(topics=topics, next_token=_token(after))

    async def get_topic_attributes(
        self, call: Call, request: shape.GetTopicAttributes
    ) -> shape.GetTopicAttributesResult:
        topic = self._topics.by_arn(request.topic_arn)
        return shape.GetTopicAttributesResult(attributes=rules.told_of_topic(topic.record, topic.arn))

    async def set_topic_attributes(self, call: Call, request: shape.SetTopicAttributes) -> None:
        await self._topics.set_attribute(request.topic_arn, request.attribute_name, request.attribute_value or "")

    async def add_topic_permission(self, call: Call, request: shape.AddTopicPermission) -> None:
        await self._topics.add_permission(request.topic_arn, request.label, request.aws_account_id, request.action_name)

    async def remove_topic_permission(self, call: Call, request: shape.RemoveTopicPermission) -> None:
        await self._topics.remove_permission(request.topic_arn, request.label)

    async def tag_resource(self, call: Call, request: shape.TagResource) -> shape.TagResourceResult:
        with _Resource():
            await self._topics.tag(request.resource_arn, _tags(request.tags))
        return shape.TagResourceResult()

    async def untag_resource(self, call: Call, request: shape.UntagResource) -> shape.UntagResourceResult:
        with _Resource():
            await self._topics.untag(request.resource_arn, request.tag_keys)
        return shape.UntagResourceResult()

    async def list_tags_for_resource(
        self, call: Call, request: shape.ListTagsForResource
    ) -> shape.ListTagsForResourceResult:
        with _Resource():
            tags = self._topics.by_arn(request.resource_arn).record.tags
        return shape.ListTagsForResourceResult(tags=[shape.Tag(key=key, value=value) for key, value in tags.items()])

    # Subscriptions.

    async def subscribe(self, call: Call, request: shape.Subscribe) -> shape.SubscribeResult:
        if request.protocol != SQS:
            raise wrong("Protocol", f"{request.protocol} is not supported: subscribe a queue, with the protocol {SQS}.")
        if not request.endpoint:
            raise MissingParameter("Invalid parameter: Endpoint Reason: It must be the ARN of a queue.")
        arn = await self._topics.subscribe(call.account, request.topic_arn, request.endpoint, request.attributes or {})
        return shape.SubscribeResult(subscription_arn=arn)

    async def unsubscribe(self, call: Call, request: shape.Unsubscribe) -> None:
        await self._topics.unsubscribe(request.subscription_arn)

    async def list_subscriptions(self, call: Call, request: shape.ListSubscriptions) -> shape.ListSubscriptionsResult:
        own = self._topics.subscriptions(call.account)
        page, token = _page([_listed(*each) for each in own], request.next_token)
        return shape.ListSubscriptionsResult(subscriptions=page, next_token=token)

    async def list_subscriptions_by_topic(
        self, call: Call, request: shape.ListSubscriptionsByTopic
    ) -> shape.ListSubscriptionsByTopicResult:
        topic = self._topics.by_arn(request.topic_arn)
        page, token = _page([_listed(topic, each) for each in topic.record.subscriptions], request.next_token)
        return shape.ListSubscriptionsByTopicResult(subscriptions=page, next_token=token)

    async def get_subscription_attributes(
        self, call: Call, request: shape.GetSubscriptionAttributes
    ) -> shape.GetSubscriptionAttributesResult:
        topic, subscription = self._topics.by_subscription(request.subscription_arn)
        told = rules.told_of_subscription(subscription, subscription_arn(topic.arn, subscription.uid), topic.arn)
        return shape.GetSubscriptionAttributesResult(attributes=told)

    async def set_subscription_attributes(self, call: Call, request: shape.SetSubscriptionAttributes) -> None:
        await self._topics.set_subscription_attribute(
            request.subscription_arn, request.attribute_name, request.attribute_value or ""
        )

    # Messages.

    def publish(self, call: Call, request: shape.Publish) -> None:
        topic = self._topics.by_arn(target_of(request))
        notification = self._notification(topic, request)
        self._fan_out(call, topic, [notification], partial(self._published, call, notification))

    def _published(self, call: Call, notification: Notification, outcomes: list[Fault | None]) -> None:
        (fault,) = outcomes
        if fault is not None:
            call.fail(fault)
            return
        call.answer(
            shape.PublishResult(message_id=notification.message_id, sequence_number=notification.sequence_number)
        )

    def publish_to_topic_batch(self, call: Call, request: shape.PublishToTopicBatch) -> None:
        topic = self._topics.by_arn(request.topic_arn)
        entries = request.publish_batch_request_entries
        batch.check(entries, "PublishBatchRequestEntry")
        good: list[tuple[str, Notification]] = []
        result = shape.PublishToTopicBatchResult(successful=[], failed=[])
        for entry in entries:
            try:
                good.append((entry.id, self._notification(topic, entry)))
            except Fault as fault:
                result.failed.append(batch.failed(entry.id, fault, topic_code(fault)))
        if sum(notification.size for _, notification in good) > limits.MAX_NOTIFICATION_BYTES:
            raise BatchRequestTooLong(
                f"The messages of a batch must be at most {limits.MAX_NOTIFICATION_BYTES} bytes long together."
            )
        done = partial(self._batch_published, call, good, result)
        self._fan_out(call, topic, [notification for _, notification in good], done)

    def _batch_published(
        self,
        call: Call,
        good: list[tuple[str, Notification]],
        result: shape.PublishToTopicBatchResult,
        outcomes: list[Fault | None],
    ) -> None:
        for (id, notification), fault in zip(good, outcomes, strict=True):
            if fault is not None:
                result.failed.append(batch.failed(id, fault, topic_code(fault)))
                continue
            result.successful.append(
                shape.PublishBatchResultEntry(
                    id=id, message_id=notification.message_id, sequence_number=notification.sequence_number
                )
            )
        call.answer(result)

    def _notification(self, topic: Topic, content: shape.Publish | shape.PublishBatchRequestEntry) -> Notification:
        return Notification(topic, content, self._clock.now_us(), self._fanout.next_sequence())

    def _fan_out(self, call: Call, topic: Topic, notifications: list[Notification], done: Fanned) -> None:
        self._fanout.publish(topic, notifications, call.base_url(), call.trace_id, done)


class _Resource:
    """The operations on tags have a word of their own for a topic that is not there."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TopicNotFound):
            raise ResourceNotFound(error.message) from None


def target_of(request: shape.Publish) -> str:
    """The ARN of the topic that a message is published to."""
    arns = {arn for arn in (request.topic_arn, request.target_arn) if arn is not None}
    if request.phone_number is not None:
        raise wrong("PhoneNumber", "This service publishes to topics only.")
    if len(arns) != 1:
        raise wrong("TopicArn or TargetArn", "One of them must be given." if not arns else "They must be the same.")
    return arns.pop()


def _tags(tags: list[shape.Tag]) -> dict[str, str]:
    found = {tag.key: tag.value for tag in tags}
    if len(found) < len(tags):
        raise wrong("Tags", "A key is there twice.")
    return found


def _listed(topic: Topic, subscription: Subscription) -> shape.ListedSubscription:
    return shape.ListedSubscription(
        subscription_arn=subscription_arn(topic.arn, subscription.uid),
        owner=subscription.owner,
        protocol=SQS,
        endpoint=subscription.endpoint,
        topic_arn=topic.arn,
    )


def _page(
    listed: list[shape.ListedSubscription], token: str | None
) -> tuple[list[shape.ListedSubscription], str | None]:
    """Those that come after the last one given, in the order of their ARNs."""
    after = _place(token)
    left = sorted((each for each in listed if each.subscription_arn > after), key=lambda each: each.subscription_arn)
    page = left[: limits.MAX_LISTED_TOPICS]
    return page, _token(page[-1].subscription_arn if len(page) < len(left) else None)


def _token(after: str | None) -> str | None:
    return None if after is None else base64.urlsafe_b64encode(after.encode()).decode()


def _place(token: str | None) -> str:
    if not token:
        return ""
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError:
        raise InvalidParameterValue("Invalid parameter: NextToken") from None
