"""A topic as it is kept, with its subscriptions; the attributes of both, and what they may be."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from rockdove.core import filter as filters
from rockdove.core import limits, policy
from rockdove.core.arn import parse_arn
from rockdove.core.errors import InvalidAttributeValue, InvalidParameterValue, OverLimit
from rockdove.core.permission import TOPICS

SQS = "sqs"

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_FIFO = ".fifo"
_CONTROL = re.compile("[\x00-\x1f\x7f]")

Check = Callable[[str, str], None]


class Subscription(Struct, frozen=True, omit_defaults=True):
    """A queue that gets what is published. ``attributes`` holds only what was set, with SNS's names."""

    uid: str
    # The account that has subscribed.
    owner: str
    # The ARN of the queue.
    endpoint: str
    created_us: int
    attributes: dict[str, str] = field(default_factory=dict)


class TopicRecord(Struct, frozen=True, kw_only=True):
    """A topic. ``attributes`` holds only what was set, with SNS's names and as strings."""

    uid: str
    account: str
    name: str
    created_us: int
    attributes: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    subscriptions: list[Subscription] = field(default_factory=list)

    @property
    def fifo(self) -> bool:
        return self.name.endswith(_FIFO)


def wrong(name: str, reason: str = "") -> InvalidParameterValue:
    return InvalidParameterValue(f"Invalid parameter: {name}" + (f" Reason: {reason}" if reason else ""))


def check_name(name: str, fifo: bool) -> None:
    plain = name.removesuffix(_FIFO)
    if (
        not _NAME.fullmatch(plain)
        or len(name) > limits.MAX_TOPIC_NAME_LENGTH
        or ("." in plain)
        or (plain != name) != fifo
    ):
        kind = (
            "The name of a FIFO topic must end in .fifo, and the attribute FifoTopic must be true"
            if fifo or plain != name
            else "Topic names must be made up of letters, digits, hyphens and underscores"
        )
        raise wrong("Topic Name", f"{kind}. They can be {limits.MAX_TOPIC_NAME_LENGTH} characters long.")


# Attributes of topics.


def _boolean(name: str, value: str) -> None:
    if value not in ("true", "false"):
        raise wrong(name, "Must be true or false.")


def _choice(*values: str) -> Check:
    def check(name: str, value: str) -> None:
        if value not in values:
            raise wrong(name, f"Must be one of {', '.join(values)}.")

    return check


def _display_name(name: str, value: str) -> None:
    if len(value) > limits.MAX_DISPLAY_NAME_LENGTH or _CONTROL.search(value):
        raise wrong(
            name, f"Must be at most {limits.MAX_DISPLAY_NAME_LENGTH} characters long, without control characters."
        )


def _text(name: str, value: str) -> None:
    if len(value) > 2048:
        raise wrong(name, "Must be at most 2048 characters long.")


def _document(name: str, value: str) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(value)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise wrong(name, "Must be a JSON object.")
    return document


def _delivery_policy(name: str, value: str) -> None:
    if len(value) > policy.MAX_POLICY_BYTES:
        raise wrong(name, f"Must be at most {policy.MAX_POLICY_BYTES} characters long.")
    if value:
        _document(name, value)


def _policy(name: str, value: str) -> None:
    try:
        if value:
            policy.check(value, TOPICS)
    except (InvalidAttributeValue, OverLimit) as fault:
        raise wrong(name, fault.message) from None


_TOPIC: dict[str, Check] = {
    "DisplayName": _display_name,
    "Policy": _policy,
    "DeliveryPolicy": _delivery_policy,
    "KmsMasterKeyId": _text,
    "SignatureVersion": _choice("1", "2"),
    "TracingConfig": _choice("PassThrough", "Active"),
}
_FIFO_TOPIC: dict[str, Check] = {
    "ContentBasedDeduplication": _boolean,
    "FifoThroughputScope": _choice("Topic", "MessageGroup"),
}
# Of no use once they are empty.
_REMOVABLE = frozenset(("DisplayName", "Policy", "DeliveryPolicy", "KmsMasterKeyId", "FilterPolicy", "RedrivePolicy"))
_FIFO_DEFAULTS = {"FifoTopic": "true", "ContentBasedDeduplication": "false", "FifoThroughputScope": "Topic"}


def is_fifo(attributes: Mapping[str, str]) -> bool:
    """What FifoTopic says."""
    value = attributes.get("FifoTopic", "false")
    _boolean("FifoTopic", value)
    return value == "true"


def check_topic(changes: Mapping[str, str], fifo: bool) -> None:
    """Refuse attributes that cannot be set on such a topic, and values that they cannot have."""
    checks = _TOPIC | (_FIFO_TOPIC if fifo else {})
    for name, value in changes.items():
        if name not in checks:
            raise wrong("AttributeName", f"There is no attribute {name} that could be set on this topic.")
        if not (value == "" and name in _REMOVABLE):
            checks[name](name, value)


def merge(attributes: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Attributes with changes applied; an empty value takes away what can be taken away."""
    merged = {**attributes, **changes}
    return {name: value for name, value in merged.items() if value != "" or name not in _REMOVABLE}


def topic_differs(wanted: Mapping[str, str], record: TopicRecord) -> bool:
    """Whether a topic has another value for an attribute than is wanted."""
    have = {**(_FIFO_DEFAULTS if record.fifo else {"FifoTopic": "false"}), **record.attributes}
    return any(_differs(value, have.get(name, "")) for name, value in wanted.items())


def _differs(one: str, other: str) -> bool:
    return one != other and _plain(one) != _plain(other)


def _plain(text: str) -> Any:
    """A document is the same however it is written."""
    if not text.startswith("{"):
        return text
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


def told_of_topic(record: TopicRecord, arn: str) -> dict[str, str]:
    """All attributes, as GetTopicAttributes gives them."""
    return {
        "TopicArn": arn,
        "Owner": record.account,
        "DisplayName": "",
        "Policy": policy.default(arn, record.account),
        "SubscriptionsConfirmed": str(len(record.subscriptions)),
        "SubscriptionsPending": "0",
        "SubscriptionsDeleted": "0",
        **(_FIFO_DEFAULTS if record.fifo else {}),
        **record.attributes,
    }


# Attributes of subscriptions.


def redrive_target(value: str) -> tuple[str, str]:
    """The queue of a RedrivePolicy."""
    document = _document("RedrivePolicy", value)
    arn = document.get("deadLetterTargetArn")
    target = parse_arn(arn) if isinstance(arn, str) else None
    if target is None or len(document) > 1:
        raise wrong("RedrivePolicy", "Must have one member, deadLetterTargetArn, with the ARN of a queue.")
    return target


def _redrive(name: str, value: str) -> None:
    if value:
        redrive_target(value)


_SUBSCRIPTION: dict[str, Check] = {
    "RawMessageDelivery": _boolean,
    "FilterPolicy": lambda name, value: None,
    "FilterPolicyScope": _choice(*filters.SCOPES),
    "RedrivePolicy": _redrive,
    "DeliveryPolicy": _delivery_policy,
}


def check_subscription(attributes: Mapping[str, str]) -> None:
    """Refuse attributes that a subscription cannot have, alone or together."""
    for name, value in attributes.items():
        if name not in _SUBSCRIPTION:
            raise wrong("AttributeName", f"There is no attribute {name[:64]} that could be set on a subscription.")
        if not (value == "" and name in _REMOVABLE):
            _SUBSCRIPTION[name](name, value)
    filter_of(attributes)


def filter_of(attributes: Mapping[str, str]) -> filters.Filter | None:
    """None: everything goes through."""
    text = attributes.get("FilterPolicy", "")
    if not text:
        return None
    try:
        return filters.read(text, attributes.get("FilterPolicyScope", filters.ATTRIBUTES))
    except filters.FilterError as error:
        raise wrong("FilterPolicy", f"{error}.") from None


def subscription_differs(wanted: Mapping[str, str], subscription: Subscription) -> bool:
    """Whether it has another value for an attribute than is wanted."""
    have = {"RawMessageDelivery": "false", "FilterPolicyScope": filters.ATTRIBUTES, **subscription.attributes}
    return any(_differs(value, have.get(name, "")) for name, value in wanted.items())


def told_of_subscription(subscription: Subscription, arn: str, topic: str) -> dict[str, str]:
    """All attributes, as GetSubscriptionAttributes gives them."""
    attributes = subscription.attributes
    return {
        "SubscriptionArn": arn,
        "TopicArn": topic,
        "Owner": subscription.owner,
        "Protocol": SQS,
        "Endpoint": subscription.endpoint,
        "ConfirmationWasAuthenticated": "true",
        "PendingConfirmation": "false",
        "RawMessageDelivery": "false",
        **({"FilterPolicyScope": filters.ATTRIBUTES} if "FilterPolicy" in attributes else {}),
        **attributes,
    }
