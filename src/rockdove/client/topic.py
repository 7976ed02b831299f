"""The operations on topics, as steps. A topic is given by its name or its ARN, a queue by its name, URL or ARN."""

from collections.abc import Iterable, Mapping
from itertools import count

from rockdove.client.outgoing import Attributes, Outgoing, cut, wire_attributes
from rockdove.client.step import Names, Steps, ask, tell
from rockdove.core.arn import parse_topic_arn
from rockdove.core.errors import TopicNotFound
from rockdove.core.limits import MAX_NOTIFICATION_BYTES
from rockdove.core.topic import SQS
from rockdove.wire import topic as shape


def create_topic(
    names: Names, name: str, *, attributes: Mapping[str, str] | None = None, tags: Mapping[str, str] | None = None
) -> Steps[str]:
    """Create a topic, or find the one that is there with the same attributes; gives its ARN."""
    request = shape.CreateTopic(
        name=name,
        attributes=dict(attributes) if attributes else None,
        tags=_tags(tags) if tags else None,
    )
    answer = yield from ask(request, shape.CreateTopicResult)
    names.topics[name] = answer.topic_arn
    return answer.topic_arn


def list_topics(names: Names) -> Steps[list[str]]:
    """The ARNs of all topics of this account, however many."""
    arns: list[str] = []
    token: str | None = None
    while True:
        answer = yield from ask(shape.ListTopics(next_token=token), shape.ListTopicsResult)
        arns += [topic.topic_arn for topic in answer.topics]
        token = answer.next_token
        if token is None:
            return arns


def topic_arn(names: Names, topic: str) -> Steps[str]:
    """The ARN of a topic of this account, by its name. Raises `TopicNotFound`."""
    if topic.startswith("arn:"):
        return topic
    if topic not in names.topics:
        for arn in (yield from list_topics(names)):
            key = parse_topic_arn(arn)
            if key is not None and key[1] == topic:
                names.topics[topic] = arn
                break
        else:
            raise TopicNotFound(f"Topic {topic} does not exist")
    return names.topics[topic]


def delete_topic(names: Names, topic: str) -> Steps[None]:
    """Delete a topic with its subscriptions; the queues stay."""
    arn = yield from topic_arn(names, topic)
    yield from tell(shape.DeleteTopic(topic_arn=arn))
    names.topics = {name: known for name, known in names.topics.items() if known != arn}


def topic_attributes(names: Names, topic: str) -> Steps[dict[str, str]]:
    """All attributes of a topic."""
    arn = yield from topic_arn(names, topic)
    answer = yield from ask(shape.GetTopicAttributes(topic_arn=arn), shape.GetTopicAttributesResult)
    return answer.attributes


def set_topic_attribute(names: Names, topic: str, attribute: str, value: str) -> Steps[None]:
    """Change one attribute of a topic; an empty value takes a policy away."""
    arn = yield from topic_arn(names, topic)
    yield from tell(shape.SetTopicAttributes(topic_arn=arn, attribute_name=attribute, attribute_value=value))


def topic_tags(names: Names, topic: str) -> Steps[dict[str, str]]:
    """The tags of a topic."""
    arn = yield from topic_arn(names, topic)
    answer = yield from ask(shape.ListTagsForResource(resource_arn=arn), shape.ListTagsForResourceResult)
    return {tag.key: tag.value for tag in answer.tags}


def tag_topic(names: Names, topic: str, tags: Mapping[str, str]) -> Steps[None]:
    """Add tags, or give them other values."""
    arn = yield from topic_arn(names, topic)
    yield from tell(shape.TagResource(resource_arn=arn, tags=_tags(tags)))


def untag_topic(names: Names, topic: str, keys: Iterable[str]) -> Steps[None]:
    """Remove tags."""
    arn = yield from topic_arn(names, topic)
    yield from tell(shape.UntagResource(resource_arn=arn, tag_keys=list(keys)))


def add_topic_permission(
    names: Names, topic: str, label: str, accounts: Iterable[str], actions: Iterable[str]
) -> Steps[None]:
    """Allow other accounts some actions."""
    arn = yield from topic_arn(names, topic)
    request = shape.AddTopicPermission(
        topic_arn=arn, label=label, aws_account_id=list(accounts), action_name=list(actions)
    )
    yield from tell(request)


def remove_topic_permission(names: Names, topic: str, label: str) -> Steps[None]:
    """Take back what `add_topic_permission` gave under this label."""
    arn = yield from topic_arn(names, topic)
    yield from tell(shape.RemoveTopicPermission(topic_arn=arn, label=label))


def subscribe(names: Names, topic: str, queue: str, *, attributes: Mapping[str, str] | None = None) -> Steps[str]:
    """Let a queue get what is published from now on; gives the ARN of the subscription."""
    arn = yield from topic_arn(names, topic)
    endpoint = yield from names.arn(queue)
    request = shape.Subscribe(
        topic_arn=arn, protocol=SQS, endpoint=endpoint, attributes=dict(attributes) if attributes else None
    )
    answer = yield from ask(request, shape.SubscribeResult)
    return answer.subscription_arn


def unsubscribe(names: Names, subscription: str) -> Steps[None]:
    """End a subscription, by its ARN."""
    yield from tell(shape.Unsubscribe(subscription_arn=subscription))


def list_subscriptions(names: Names) -> Steps[list[shape.ListedSubscription]]:
    """All subscriptions of this account, however many."""
    found: list[shape.ListedSubscription] = []
    token: str | None = None
    while True:
        answer = yield from ask(shape.ListSubscriptions(next_token=token), shape.ListSubscriptionsResult)
        found += answer.subscriptions
        token = answer.next_token
        if token is None:
            return found


def topic_subscriptions(names: Names, topic: str) -> Steps[list[shape.ListedSubscription]]:
    """All subscriptions of a topic, however many."""
    arn = yield from topic_arn(names, topic)
    found: list[shape.ListedSubscription] = []
    token: str | None = None
    while True:
        request = shape.ListSubscriptionsByTopic(topic_arn=arn, next_token=token)
        answer = yield from ask(request, shape.ListSubscriptionsByTopicResult)
        found += answer.subscriptions
        token = answer.next_token
        if token is None:
            return found


def subscription_attributes(names: Names, subscription: str) -> Steps[dict[str, str]]:
    """All attributes of a subscription, by its ARN."""
    request = shape.GetSubscriptionAttributes(subscription_arn=subscription)
    answer = yield from ask(request, shape.GetSubscriptionAttributesResult)
    return answer.attributes


def set_subscription_attribute(names: Names, subscription: str, attribute: str, value: str) -> Steps[None]:
    """Change one attribute of a subscription; an empty value takes a policy away."""
    request = shape.SetSubscriptionAttributes(
        subscription_arn=subscription, attribute_name=attribute, attribute_value=value
    )
    yield from tell(request)


def publish(
    names: Names,
    topic: str,
    message: str,
    *,
    subject: str | None = None,
    attributes: Attributes | None = None,
    group_id: str | None = None,
    deduplication_id: str | None = None,
) -> Steps[shape.PublishResult]:
    """Publish one message. When this returns, each queue that is to get it has it."""
    arn = yield from topic_arn(names, topic)
    request = shape.Publish(
        topic_arn=arn,
        message=message,
        subject=subject,
        message_attributes=wire_attributes(attributes),
        message_group_id=group_id,
        message_deduplication_id=deduplication_id,
    )
    return (yield from ask(request, shape.PublishResult))


def publish_to_topic(
    names: Names, topic: str, messages: Iterable[str | Outgoing]
) -> Steps[shape.PublishToTopicBatchResult]:
    """Publish any number of messages, in few requests. The ids in the result are their places, from 0."""
    arn = yield from topic_arn(names, topic)
    result = shape.PublishToTopicBatchResult(successful=[], failed=[])
    places = count()
    outgoing = (each if isinstance(each, Outgoing) else Outgoing(body=each) for each in messages)
    for batch in cut(outgoing, MAX_NOTIFICATION_BYTES):
        entries = [_entry(next(places), message) for message in batch]
        request = shape.PublishToTopicBatch(topic_arn=arn, publish_batch_request_entries=entries)
        answer = yield from ask(request, shape.PublishToTopicBatchResult)
        result.successful += answer.successful
        result.failed += answer.failed
    return result


def _entry(place: int, message: Outgoing) -> shape.PublishBatchRequestEntry:
    return shape.PublishBatchRequestEntry(
        id=str(place),
        message=message.body,
        message_attributes=wire_attributes(message.attributes),
        message_group_id=message.group_id,
        message_deduplication_id=message.deduplication_id,
    )


def _tags(tags: Mapping[str, str]) -> list[shape.Tag]:
    return [shape.Tag(key=key, value=value) for key, value in tags.items()]
