"""The requests and results of topics, with SNS's names; see `rockdove.wire.shape`."""

from typing import ClassVar

from msgspec import field

from rockdove.core.message import Attribute
from rockdove.wire.shape import BatchResultErrorEntry, Request, Result


class TopicRequest(Request):
    """What a client asks for."""

    # Query writes lists and maps another way than for queues; see `rockdove.wire.member`.
    wraps: ClassVar[bool] = True


class TopicResult(Result):
    """What it is answered."""

    wraps: ClassVar[bool] = True


class Tag(TopicResult, kw_only=True):
    key: str
    value: str


# Topics.


class CreateTopic(TopicRequest, kw_only=True):
    name: str
    attributes: dict[str, str] | None = None
    tags: list[Tag] | None = None
    # There are none here: one that is given must not be passed over.
    data_protection_policy: str | None = None


class CreateTopicResult(TopicResult, kw_only=True):
    topic_arn: str


class DeleteTopic(TopicRequest, kw_only=True):
    topic_arn: str


class ListTopics(TopicRequest, kw_only=True):
    next_token: str | None = None


class ListedTopic(TopicResult, kw_only=True):
    topic_arn: str


class ListTopicsResult(TopicResult, kw_only=True):
    topics: list[ListedTopic]
    next_token: str | None = None


class GetTopicAttributes(TopicRequest, kw_only=True):
    topic_arn: str


class GetTopicAttributesResult(TopicResult, kw_only=True):
    attributes: dict[str, str]


class SetTopicAttributes(TopicRequest, kw_only=True):
    topic_arn: str
    attribute_name: str
    attribute_value: str | None = None


class TagResource(TopicRequest, kw_only=True):
    resource_arn: str
    tags: list[Tag]


class TagResourceResult(TopicResult, kw_only=True):
    """Nothing, which SNS tells in so many words."""


class UntagResource(TopicRequest, kw_only=True):
    resource_arn: str
    tag_keys: list[str]


class UntagResourceResult(TopicResult, kw_only=True):
    """Nothing, either."""


class ListTagsForResource(TopicRequest, kw_only=True):
    resource_arn: str


class ListTagsForResourceResult(TopicResult, kw_only=True):
    tags: list[Tag]


class AddTopicPermission(TopicRequest, kw_only=True):
    topic_arn: str
    label: str
    aws_account_id: list[str] = field(name="AWSAccountId")
    action_name: list[str]


class RemoveTopicPermission(TopicRequest, kw_only=True):
    topic_arn: str
    label: str


# Subscriptions.


class Subscribe(TopicRequest, kw_only=True):
    topic_arn: str
    protocol: str
    endpoint: str | None = None
    attributes: dict[str, str] | None = None
    # A subscription is confirmed at once, so that its ARN is always told.
    return_subscription_arn: bool | None = None


class SubscribeResult(TopicResult, kw_only=True):
    subscription_arn: str


class Unsubscribe(TopicRequest, kw_only=True):
    subscription_arn: str


class ListedSubscription(TopicResult, kw_only=True):
    subscription_arn: str
    owner: str
    protocol: str
    endpoint: str
    topic_arn: str


class ListSubscriptions(TopicRequest, kw_only=True):
    next_token: str | None = None


class ListSubscriptionsResult(TopicResult, kw_only=True):
    subscriptions: list[ListedSubscription]
    next_token: str | None = None


class ListSubscriptionsByTopic(TopicRequest, kw_only=True):
    topic_arn: str
    next_token: str | None = None


class ListSubscriptionsByTopicResult(TopicResult, kw_only=True):
    subscriptions: list[ListedSubscription]
    next_token: str | None = None


class GetSubscriptionAttributes(TopicRequest, kw_only=True):
    subscription_arn: str


class GetSubscriptionAttributesResult(TopicResult, kw_only=True):
    attributes: dict[str, str]


class SetSubscriptionAttributes(TopicRequest, kw_only=True):
    subscription_arn: str
    attribute_name: str
    attribute_value: str | None = None


# Messages.


class Publish(TopicRequest, kw_only=True):
    topic_arn: str | None = None
    # The same, in other words; and one that there is not here.
    target_arn: str | None = None
    phone_number: str | None = None
    message: str
    subject: str | None = None
    message_structure: str | None = None
    message_attributes: dict[str, Attribute] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class PublishResult(TopicResult, kw_only=True):
    message_id: str
    sequence_number: str | None = None


class PublishBatchRequestEntry(TopicRequest, kw_only=True):
    id: str
    message: str
    subject: str | None = None
    message_structure: str | None = None
    message_attributes: dict[str, Attribute] | None = None
    message_deduplication_id: str | None = None
    message_group_id: str | None = None


class PublishToTopicBatch(TopicRequest, kw_only=True):
    """SNS's PublishBatch."""

    topic_arn: str
    # Absent counts as empty, which has a fault of its own.
    publish_batch_request_entries: list[PublishBatchRequestEntry] = []


class PublishBatchResultEntry(TopicResult, kw_only=True):
    id: str
    message_id: str
    sequence_number: str | None = None


class PublishToTopicBatchResult(TopicResult, kw_only=True):
    successful: list[PublishBatchResultEntry]
    failed: list[BatchResultErrorEntry]
