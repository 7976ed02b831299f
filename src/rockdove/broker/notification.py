"""What is published to a topic: its checks, and what each kind of subscription gets of it."""

import hashlib
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from rockdove.broker.compose import attribute_size, check_characters, check_token
from rockdove.core import limits
from rockdove.core.clock import SECOND_US
from rockdove.core.errors import InvalidParameterValue, MissingParameter
from rockdove.core.message import Attribute
from rockdove.core.topic import SQS, wrong

_DEFAULT = "default"
_encode = msgspec.json.Encoder().encode


class PublishedContent(Protocol):
    """What a publisher gives: a Publish request, or an entry of a batch."""

    message: str
    subject: str | None
    message_structure: str | None
    message_attributes: dict[str, Attribute] | None
    message_deduplication_id: str | None
    message_group_id: str | None


class Parcel(Struct, kw_only=True):
    """What a queue is sent; see `rockdove.broker.compose.SentContent`."""

    message_body: str
    message_attributes: dict[str, Attribute] | None = None
    message_group_id: str | None = None
    message_deduplication_id: str | None = None
    delay_seconds: int | None = None
    message_system_attributes: dict[str, Attribute] | None = None


class Published(Protocol):
    """The topic that it is published to."""

    @property
    def arn(self) -> str: ...

    @property
    def fifo(self) -> bool: ...

    @property
    def content_deduplication(self) -> bool: ...


class Notification:
    """One message that was published. Raises the fault of one that cannot be."""

    def __init__(self, topic: Published, content: PublishedContent, now_us: int, sequence: int) -> None:
        self.attributes: Mapping[str, Attribute] = content.message_attributes or {}
        self.size = _check_size(content)
        self.text = _text(content)
        _check_subject(content.subject)
        self.group_id, self.deduplication_id = _ids(topic, content)
        self.message_id = str(uuid.uuid4())
        self.sequence_number = f"{sequence:020d}" if topic.fifo else None
        self._topic = topic
        self._subject = content.subject
        self._now_us = now_us

    @cached_property
    def document(self) -> Any:
        """The message as JSON, for filters; None: it is none."""
        try:
            return msgspec.json.decode(self.text)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def _head(self) -> str:
        """The envelope up to what differs between subscriptions."""
        members: dict[str, str] = {"Type": "Notification", "MessageId": self.message_id}
        if self.sequence_number is not None:
            members["SequenceNumber"] = self.sequence_number
        members["TopicArn"] = self._topic.arn
        if self._subject:
            members["Subject"] = self._subject
        members["Message"] = self.text
        members["Timestamp"] = _timestamp(self._now_us)
        if not self._topic.fifo:
            # Nothing is signed: a message that is in a queue here came from this service.
            members |= {"SignatureVersion": "1", "Signature": "", "SigningCertURL": ""}
        return _encode(members)[:-1].decode()

    @cached_property
    def _tail(self) -> str:
        if not self.attributes:
            return "}"
        told = {name: {"Type": each.data_type, "Value": _value(each)} for name, each in self.attributes.items()}
        return f',"MessageAttributes":{_encode(told).decode()}}}'

    def envelope(self, unsubscribe_url: str) -> str:
        return f'{self._head},"UnsubscribeURL":{_encode(unsubscribe_url).decode()}{self._tail}'

    @property
    def fits_raw(self) -> bool:
        """Whether a queue could hold its attributes."""
        return len(self.attributes) <= limits.MAX_MESSAGE_ATTRIBUTES

    def parcel(self, fifo: bool, raw: bool, unsubscribe_url: str) -> Parcel:
        """What a queue is sent: the message itself, or an envelope that tells of it."""
        return Parcel(
            message_body=self.text if raw else self.envelope(unsubscribe_url),
            message_attributes=dict(self.attributes) if raw and self.attributes else None,
            message_group_id=self.group_id,
            # Only FIFO queues have a word for it.
            message_deduplication_id=self.deduplication_id if fifo else None,
        )


def _value(attribute: Attribute) -> Any:
    if attribute.binary_value is not None:
        return attribute.binary_value
    return attribute.string_value


def _timestamp(now_us: int) -> str:
    time = datetime.fromtimestamp(now_us // 1_000 / 1_000, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{now_us % SECOND_US // 1_000:03d}Z"


def _check_size(content: PublishedContent) -> int:
    size = len(content.message.encode(errors="replace"))
    for name, attribute in (content.message_attributes or {}).items():
        size += attribute_size(name, attribute)
    if size > limits.MAX_NOTIFICATION_BYTES:
        raise wrong("Message", f"Message too long: at most {limits.MAX_NOTIFICATION_BYTES} bytes, with its attributes.")
    return size


def _text(content: PublishedContent) -> str:
    """What queues get of the message."""
    if not content.message:
        raise wrong("Empty message")
    text = content.message
    if content.message_structure is not None:
        if content.message_structure != "json":
            raise wrong("MessageStructure", "Must be json, if it is given.")
        text = _of_structure(text)
        if not text:
            raise wrong("Empty message")
    check_characters(text)
    return text


def _of_structure(text: str) -> str:
    """Of several texts, one for each protocol, that for queues."""
    try:
        texts = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise wrong("Message Structure", "JSON message body failed to parse.") from None
    if not isinstance(texts, dict) or not isinstance(texts.get(_DEFAULT), str):
        raise wrong("Message Structure", "No default entry in JSON message body.")
    chosen = texts.get(SQS, texts[_DEFAULT])
    if not isinstance(chosen, str):
        raise wrong("Message Structure", f"The entry {SQS} must be a text.")
    return chosen


def _check_subject(subject: str | None) -> None:
    if subject is None:
        return
    if len(subject) > limits.MAX_SUBJECT_LENGTH or "\n" in subject or "\r" in subject or not subject.strip():
        raise wrong("Subject", f"Must be 1 to {limits.MAX_SUBJECT_LENGTH} characters in one line.")
    check_characters(subject)


def _ids(topic: Published, content: PublishedContent) -> tuple[str | None, str | None]:
    """The group and the deduplication id."""
    group, deduplication = content.message_group_id, content.message_deduplication_id
    if group is not None:
        check_token("MessageGroupId", group)
    if deduplication is not None:
        check_token("MessageDeduplicationId", deduplication)
    if not topic.fifo:
        if deduplication is not None:
            raise wrong("MessageDeduplicationId", "The request includes a parameter that is not valid for this topic.")
        return group, None
    if group is None:
        raise MissingParameter("Invalid parameter: The MessageGroupId parameter is required for FIFO topics")
    if deduplication is None and not topic.content_deduplication:
        raise InvalidParameterValue(
            "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or "
            "MessageDeduplicationId provided explicitly"
        )
    if deduplication is None:
        deduplication = hashlib.sha256(content.message.encode()).hexdigest()
    return group, deduplication
