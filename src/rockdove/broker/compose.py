"""From what a sender gives to a message that can be stored: checks, sizes, digests, deduplication."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Protocol

from rockdove.broker.queue import Queue
from rockdove.core import limits
from rockdove.core.clock import SECOND_US
from rockdove.core.digest import attributes_md5, body_md5
from rockdove.core.errors import InvalidMessageContents, InvalidParameterValue, MissingParameter
from rockdove.core.message import FORBIDDEN, Attribute, Extra, Message
from rockdove.core.publication import Parcel
from rockdove.store.base import Draft

_ATTRIBUTE_NAME = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
_RESERVED_NAME = re.compile(r"(aws|amazon)\.", re.IGNORECASE)
_DATA_TYPE = re.compile(r"(String|Number|Binary)(\..+)?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_SMALLEST_NUMBER, _LARGEST_NUMBER = Decimal("1e-128"), Decimal("1e126")
# Group and deduplication ids: letters, digits and ASCII punctuation.
_TOKEN = re.compile(rf"[!-~]{{1,{limits.MAX_ID_LENGTH}}}")
_TRACE_HEADER = "AWSTraceHeader"
# Of a request: what is longer, or has other characters, is none.
_TRACE_ID = re.compile(rf"[ -~]{{1,{limits.MAX_TRACE_HEADER_LENGTH}}}")


class SentContent(Protocol):
    """What a sender gives: a SendMessage request, or an entry of a batch."""

    message_body: str
    delay_seconds: int | None
    message_attributes: dict[str, Attribute] | None
    message_system_attributes: dict[str, Attribute] | None
    message_deduplication_id: str | None
    message_group_id: str | None


def compose(
    queue: Queue, parcel: SentContent, sender: str, now_us: int, plain: bool = False, trace_id: str | None = None
) -> Draft:
    """Raises the fault that SQS has for what is wrong with a message.

    ``plain``: the caller knows that there is no control character in it. ``trace_id`` is the request's, for a message
    that has no trace header of its own.
    """
    body = parcel.message_body
    if not body:
        raise MissingParameter("The request must contain the parameter MessageBody.")
    if not (plain and body.isascii()):
        check_characters(body)
    raw = body.encode()
    delay_us = queue.settings.delay_us
    if parcel.delay_seconds is not None:
        delay_us = _delay_us(queue, parcel.delay_seconds)
    if (
        queue.fifo
        or parcel.message_group_id is not None
        or parcel.message_attributes
        or parcel.message_deduplication_id is not None
        or parcel.message_system_attributes
        or trace_id is not None
        or sender != queue.key[0]
    ):
        return _compose_rich(queue, parcel, sender, now_us, raw, delay_us, trace_id)
    size = len(raw)
    if size > queue.settings.max_message_bytes:
        raise _too_long(queue)
    md5 = hashlib.md5(raw, usedforsecurity=False).hexdigest()
    return Draft(Message(now_us, raw, md5), now_us + delay_us, None, size)


def check_characters(body: str) -> None:
    """Refuse what SQS does not take."""
    found = FORBIDDEN.search(body)
    if found:
        raise InvalidMessageContents(
            f"Invalid binary character '#x{ord(found[0]):X}' was found in the message body, the set of allowed "
            "characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]."
        )


def _compose_rich(
    queue: Queue, parcel: SentContent, sender: str, now_us: int, raw: bytes, delay_us: int, trace_id: str | None
) -> Draft:
    attributes = parcel.message_attributes or None
    size = len(raw) + (_attributes_size(attributes) if attributes else 0)
    if size > queue.settings.max_message_bytes:
        raise _too_long(queue)
    trace_header = _system(parcel.message_system_attributes)
    if trace_header is None and trace_id and _TRACE_ID.fullmatch(trace_id):
        trace_header = Attribute("String", trace_id)
    _check_ids(queue, parcel)
    deduplication_id = parcel.message_deduplication_id
    if queue.fifo and deduplication_id is None:
        deduplication_id = hashlib.sha256(raw).hexdigest()
    extra = Extra(
        attributes=attributes,
        attributes_md5=attributes_md5(attributes) if attributes else None,
        trace_header=trace_header,
        group_id=parcel.message_group_id,
        deduplication_id=deduplication_id if queue.fifo else None,
        sender_id=sender if sender != queue.record.account else None,
    )
    message = Message(now_us, raw, body_md5(raw), extra)
    key = _deduplication_key(queue, extra) if queue.fifo else None
    return Draft(message, now_us + delay_us, key, size)


def _deduplication_key(queue: Queue, extra: Extra) -> str:
    if queue.settings.deduplicate_by_group:
        # No id holds a space.
        return f"{extra.group_id} {extra.deduplication_id}"
    return extra.deduplication_id or ""


def unpack(queue: Queue, parcels: Sequence[Parcel], at_us: int) -> list[Draft]:
    """What was staged, as if sent at a time. The delay of a FIFO queue is the one that it has now."""
    delay_us = queue.settings.delay_us if queue.fifo else None
    return [
        Draft(
            parcel.message(at_us),
            at_us + (parcel.delay_us if delay_us is None else delay_us),
            parcel.deduplication_key,
        )
        for parcel in parcels
    ]


def _delay_us(queue: Queue, delay_s: int) -> int:
    if not 0 <= delay_s <= limits.MAX_DELAY_S:
        raise InvalidParameterValue(
            f"Value {delay_s} for parameter DelaySeconds is invalid. "
            f"Reason: DelaySeconds must be >= 0 and <= {limits.MAX_DELAY_S}."
        )
    if queue.fifo:
        if delay_s == 0:
            # The delay is the queue's.
            return queue.settings.delay_us
        raise InvalidParameterValue(
            f"Value {delay_s} for parameter DelaySeconds is invalid. "
            "Reason: The request include parameter that is not valid for this queue type."
        )
    return delay_s * SECOND_US


def _too_long(queue: Queue) -> InvalidParameterValue:
    return InvalidParameterValue(
        f"One or more parameters are invalid. Reason: Message must be shorter than "
        f"{queue.settings.max_message_bytes} bytes."
    )


def _check_ids(queue: Queue, parcel: SentContent) -> None:
    if parcel.message_group_id is not None:
        check_token("MessageGroupId", parcel.message_group_id)
    elif queue.fifo:
        raise MissingParameter("The request must contain the parameter MessageGroupId.")
    if parcel.message_deduplication_id is not None:
        if not queue.fifo:
            raise InvalidParameterValue(
                f"Value {parcel.message_deduplication_id} for parameter MessageDeduplicationId is invalid. "
                "Reason: The request include parameter that is not valid for this queue type."
            )
        check_token("MessageDeduplicationId", parcel.message_deduplication_id)
    elif queue.fifo and not queue.settings.content_deduplication:
        raise _not_deduplicated()


def check_groups(queue: Queue, parcel: SentContent) -> None:
    """What fails a whole batch to a FIFO queue, and not only its entry."""
    if parcel.message_group_id is None:
        raise InvalidParameterValue("The request must contain the parameter MessageGroupId.")
    if parcel.message_deduplication_id is None and not queue.settings.content_deduplication:
        raise _not_deduplicated()


def _not_deduplicated() -> InvalidParameterValue:
    return InvalidParameterValue(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )


def check_token(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(value):
        raise InvalidParameterValue(
            f"Value {value} for parameter {name} is invalid. Reason: {name} can only include alphanumeric and "
            f"punctuation characters. 1 to {limits.MAX_ID_LENGTH} in length."
        )


def _attributes_size(attributes: Mapping[str, Attribute]) -> int:
    """Checks the attributes, and tells how many bytes they count."""
    if len(attributes) > limits.MAX_MESSAGE_ATTRIBUTES:
        raise InvalidParameterValue(
            f"Number of message attributes [{len(attributes)}] exceeds the allowed maximum "
            f"[{limits.MAX_MESSAGE_ATTRIBUTES}]."
        )
    return sum(attribute_size(name, attribute) for name, attribute in attributes.items())


def attribute_size(name: str, attribute: Attribute) -> int:
    """Checks an attribute, and tells how many bytes it counts."""
    _check_name(name)
    return len(name.encode()) + len(attribute.data_type.encode()) + _value_size(name, attribute)


def _check_name(name: str) -> None:
    if not name:
        raise InvalidParameterValue("The request must contain non-empty message attribute names.")
    if len(name) > limits.MAX_ATTRIBUTE_NAME_LENGTH:
        raise InvalidParameterValue(
            f"Message (user) attribute name '{name}' is invalid. "
            f"It must be at most {limits.MAX_ATTRIBUTE_NAME_LENGTH} characters long."
        )
    if _RESERVED_NAME.match(name):
        raise InvalidParameterValue(
            f"Message (user) attribute name '{name}' is invalid. It must not start with AWS. or Amazon."
        )
    if not _ATTRIBUTE_NAME.fullmatch(name):
        raise InvalidParameterValue(
            f"Message (user) attribute name '{name}' is invalid. It can contain letters, digits, hyphens, underscores, "
            "and single periods that are neither first nor last."
        )


def _value_size(name: str, attribute: Attribute) -> int:
    kind = _DATA_TYPE.fullmatch(attribute.data_type)
    too_long = len(attribute.data_type) > limits.MAX_ATTRIBUTE_NAME_LENGTH
    if kind is None or too_long or FORBIDDEN.search(attribute.data_type):
        raise InvalidParameterValue(
            f"The type of message (user) attribute '{name}' is invalid. You must use only the following supported type "
            "prefixes: Binary, Number, String."
        )
    binary = kind[1] == "Binary"
    value = attribute.binary_value if binary else attribute.string_value
    other = attribute.string_value if binary else attribute.binary_value
    if other is not None:
        raise InvalidParameterValue(
            f"Message (user) attribute '{name}' must carry its value as {'BinaryValue' if binary else 'StringValue'} "
            f"and nothing else, for type '{attribute.data_type}'."
        )
    if not value:
        raise InvalidParameterValue(
            f"Message (user) attribute '{name}' must contain a non-empty value of type '{kind[1]}'."
        )
    if isinstance(value, bytes):
        return len(value)
    if FORBIDDEN.search(value):
        raise InvalidParameterValue(f"Invalid binary character in message (user) attribute '{name}' value.")
    if kind[1] == "Number" and not _is_number(value):
        raise InvalidParameterValue(f"Can't cast the value of message (user) attribute '{name}' to a number.")
    return len(value.encode())


def _is_number(text: str) -> bool:
    """Whether it is a number of as many digits, and as large or small, as SQS takes."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return False
    digits = match[1].replace(".", "").strip("0")
    if len(digits) > limits.MAX_NUMBER_DIGITS:
        return False
    return not digits or _SMALLEST_NUMBER <= Decimal(text).copy_abs() <= _LARGEST_NUMBER


def message_bytes(message: Message) -> int:
    """A message's size as SQS counts it, body and attributes."""
    body, extra = message.body, message.extra
    size = len(body)
    if extra is not None and extra.attributes:
        for name, attribute in extra.attributes.items():
            value = attribute.binary_value or (attribute.string_value or "").encode()
            size += len(name) + len(attribute.data_type.encode()) + len(value)
    return size


def system_md5(extra: Extra | None) -> str | None:
    """The digest of the system attributes that the sender has set."""
    if extra is None or extra.trace_header is None:
        return None
    return attributes_md5({_TRACE_HEADER: extra.trace_header})


def _system(attributes: dict[str, Attribute] | None) -> Attribute | None:
    """A sender may set one system attribute: AWSTraceHeader, a string."""
    if not attributes:
        return None
    for name, attribute in attributes.items():
        if name != _TRACE_HEADER:
            raise InvalidParameterValue(
                f"Message system attribute name '{name}' is invalid. The only one that can be set is {_TRACE_HEADER}."
            )
        value = attribute.string_value
        if attribute.data_type != "String" or not value or FORBIDDEN.search(value):
            raise InvalidParameterValue(
                f"Message system attribute '{name}' must contain a non-empty value of type 'String'."
            )
        if len(value) > limits.MAX_TRACE_HEADER_LENGTH:
            # It does not count as a part of the message, so it must not be one.
            raise InvalidParameterValue(
                f"Message system attribute '{name}' is invalid. Reason: It must be at most "
                f"{limits.MAX_TRACE_HEADER_LENGTH} characters."
            )
    return attributes[_TRACE_HEADER]
