"""Queue attributes: which there are, what they may be, and what they mean to the broker."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from rockdove.core import elastic, limits, policy
from rockdove.core.arn import parse_arn
from rockdove.core.clock import SECOND_US
from rockdove.core.dequeue.choice import PolicyChoice, PolicyName
from rockdove.core.dequeue.conventional import MAX_VISITS
from rockdove.core.dequeue.pms import MONITOR_S
from rockdove.core.dequeue.rds import SLEEP_S
from rockdove.core.errors import InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue

Check = Callable[[str, str], None]


def _invalid(name: str, reason: str) -> InvalidAttributeValue:
    return InvalidAttributeValue(f"Invalid value for the parameter {name}. Reason: {reason}.")


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def _integer(low: int, high: int, *words: str) -> Check:
    """``words`` are what may be instead."""

    def check(name: str, value: str) -> None:
        if value not in words and not (_INTEGER.fullmatch(value) and low <= int(value) <= high):
            raise _invalid(name, " or ".join([f"Must be an integer from {low} to {high}", *words]))

    return check


def _choice(*values: str) -> Check:
    def check(name: str, value: str) -> None:
        if value not in values:
            raise _invalid(name, f"Must be one of {', '.join(values)}")

    return check


def _text(longest: int) -> Check:
    def check(name: str, value: str) -> None:
        if len(value) > longest:
            raise _invalid(name, f"Must have at most {longest} characters")

    return check


def _policy(name: str, value: str) -> None:
    if value:
        policy.check(value)


def _document(name: str, value: str) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(value)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidParameterValue(
            f"Value {value} for parameter {name} is invalid. Reason: Redrive policy is not a valid JSON map."
        )
    return document


class Redrive(Struct, frozen=True):
    """A RedrivePolicy: after so many receives, off to that queue."""

    target: tuple[str, str]
    target_arn: str
    max_receives: int


def redrive(value: str) -> Redrive:
    """Read a RedrivePolicy."""
    document = _document("RedrivePolicy", value)
    for member in ("deadLetterTargetArn", "maxReceiveCount"):
        if member not in document:
            raise InvalidParameterValue(
                f"Value {value} for parameter RedrivePolicy is invalid. "
                f"Reason: Redrive policy does not contain mandatory attribute: {member}."
            )
    unknown = document.keys() - {"deadLetterTargetArn", "maxReceiveCount"}
    if unknown:
        raise InvalidParameterValue(
            f"Value {value} for parameter RedrivePolicy is invalid. "
            f"Reason: Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount]."
        )
    arn, count = document["deadLetterTargetArn"], str(document["maxReceiveCount"])
    target = parse_arn(arn) if isinstance(arn, str) else None
    if target is None:
        raise InvalidParameterValue(
            f"Value {value} for parameter RedrivePolicy is invalid. Reason: Invalid value for deadLetterTargetArn."
        )
    if not re.fullmatch("[0-9]{1,9}", count) or not 1 <= int(count) <= limits.MAX_RECEIVE_COUNT:
        raise InvalidParameterValue(
            f"Value {value} for parameter RedrivePolicy is invalid. Reason: Invalid value for maxReceiveCount: "
            f"{count}, valid values are from 1 to {limits.MAX_RECEIVE_COUNT} both inclusive."
        )
    return Redrive(target, arn, int(count))


class RedriveAllow(Struct, frozen=True):
    """A RedriveAllowPolicy: who may use this queue for its dead letters."""

    permission: str
    sources: tuple[tuple[str, str], ...] = ()

    def allows(self, source: tuple[str, str]) -> bool:
        return self.permission == "allowAll" or (self.permission == "byQueue" and source in self.sources)


def redrive_allow(value: str) -> RedriveAllow:
    """Read a RedriveAllowPolicy."""
    name = "RedriveAllowPolicy"
    document = _document(name, value)
    permission, arns = document.get("redrivePermission"), document.get("sourceQueueArns")
    if not document.keys() <= {"redrivePermission", "sourceQueueArns"} or permission not in (
        "allowAll",
        "denyAll",
        "byQueue",
    ):
        raise _invalid_redrive_allow(value, "redrivePermission must be one of allowAll, denyAll and byQueue.")
    if (permission == "byQueue") != (arns is not None):
        raise _invalid_redrive_allow(
            value, "sourceQueueArns goes with redrivePermission byQueue, and must then be there."
        )
    if arns is None:
        return RedriveAllow(permission)
    if not isinstance(arns, list) or not 1 <= len(arns) <= limits.MAX_REDRIVE_SOURCES:
        raise _invalid_redrive_allow(value, f"sourceQueueArns must have 1 to {limits.MAX_REDRIVE_SOURCES} entries.")
    sources = [parse_arn(arn) if isinstance(arn, str) else None for arn in arns]
    if None in sources:
        raise _invalid_redrive_allow(value, "sourceQueueArns must hold ARNs of queues.")
    return RedriveAllow(permission, tuple(source for source in sources if source))


def _invalid_redrive_allow(value: str, reason: str) -> InvalidParameterValue:
    return InvalidParameterValue(f"Value {value} for parameter RedriveAllowPolicy is invalid. Reason: {reason}")


def _redrive(name: str, value: str) -> None:
    if value:
        redrive(value)


def _redrive_allow(name: str, value: str) -> None:
    if value:
        redrive_allow(value)


def _elastic(name: str, value: str) -> None:
    try:
        elastic.read(value)
    except elastic.ElasticError as error:
        raise _invalid(name, str(error)) from None


_BOOLEAN = _choice("true", "false")
_BOOLEANS = frozenset(("FifoQueue", "ContentBasedDeduplication", "SqsManagedSseEnabled", "RockdoveMonitorSpread"))

# How receives of a standard queue take messages, on stores that have the choice; and how they draw among them.
CLAIM, FAST, STRICT = "RockdoveClaim", "fast", "strict"
DRAW, VISIBLE, LITERAL = "RockdoveDraw", "visible", "literal"

# How many workers a queue may have, and by which rule.
ELASTIC = "RockdoveElastic"

_KMS_PERIOD = "KmsDataKeyReusePeriodSeconds"

# What can be set on any queue.
_SETTABLE: dict[str, Check] = {
    "DelaySeconds": _integer(0, limits.MAX_DELAY_S),
    "MaximumMessageSize": _integer(limits.MIN_MESSAGE_SIZE_BYTES, limits.MAX_MESSAGE_BYTES),
    "MessageRetentionPeriod": _integer(limits.MIN_RETENTION_S, limits.MAX_RETENTION_S),
    "Policy": _policy,
    "ReceiveMessageWaitTimeSeconds": _integer(0, limits.MAX_WAIT_S),
    "VisibilityTimeout": _integer(0, limits.MAX_VISIBILITY_TIMEOUT_S),
    "RedrivePolicy": _redrive,
    "RedriveAllowPolicy": _redrive_allow,
    "KmsMasterKeyId": _text(2048),
    _KMS_PERIOD: _integer(60, 86_400),
    "SqsManagedSseEnabled": _BOOLEAN,
    "RockdoveOrderHint": _integer(1, limits.MAX_ORDER_HINT, "none", "auto"),
    CLAIM: _choice(FAST, STRICT),
    DRAW: _choice(VISIBLE, LITERAL),
    ELASTIC: _elastic,
    "RockdovePhysicalQueues": _integer(1, limits.MAX_PHYSICAL_QUEUES),
    "RockdoveDequeuePolicy": _choice(*PolicyName),
    "RockdoveMaxVisits": _integer(1, limits.MAX_PHYSICAL_QUEUES),
    "RockdoveMonitorMs": _integer(1, limits.MAX_MONITOR_MS),
    "RockdoveMonitorSpread": _BOOLEAN,
    "RockdoveRetrySleepMs": _integer(1, limits.MAX_RETRY_SLEEP_MS, "auto"),
}
_FIFO_SETTABLE: dict[str, Check] = {
    "ContentBasedDeduplication": _BOOLEAN,
    "DeduplicationScope": _choice("messageGroup", "queue"),
    "FifoThroughputLimit": _choice("perQueue", "perMessageGroupId"),
}
# The service's word, not the user's.
COUNTED = frozenset(
    ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
)
_TOLD = (*COUNTED, "CreatedTimestamp", "LastModifiedTimestamp", "QueueArn")
# An empty value takes these away.
_REMOVABLE = ("Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId", ELASTIC)

_DEFAULTS = {
    "VisibilityTimeout": "30",
    "MaximumMessageSize": str(limits.MAX_MESSAGE_BYTES),
    "MessageRetentionPeriod": "345600",
    "DelaySeconds": "0",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
}
_FIFO_DEFAULTS = {
    "FifoQueue": "true",
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoThroughputLimit": "perQueue",
}
# Ours have defaults too, but appear under All only once set.
_OWN_DEFAULTS = {
    "RockdoveOrderHint": "1",
    DRAW: VISIBLE,
    "RockdovePhysicalQueues": "1",
    "RockdoveDequeuePolicy": PolicyName.WAKE.value,
    "RockdoveMaxVisits": str(MAX_VISITS),
    "RockdoveMonitorMs": str(round(MONITOR_S * 1000)),
    "RockdoveMonitorSpread": "true",
    "RockdoveRetrySleepMs": str(round(SLEEP_S * 1000)),
}
_KNOWN = frozenset(("All", *_TOLD, *_SETTABLE, *_FIFO_SETTABLE, "FifoQueue"))


def normal(changes: Mapping[str, str]) -> dict[str, str]:
    """As they are kept and returned: true and false in lower case, however they were written."""
    return {name: value.lower() if name in _BOOLEANS else value for name, value in changes.items()}


def is_fifo(attributes: Mapping[str, str]) -> bool:
    """What FifoQueue says. Raises `InvalidAttributeValue` where it says neither."""
    value = attributes.get("FifoQueue", "false")
    _BOOLEAN("FifoQueue", value)
    return value == "true"


def check(changes: Mapping[str, str], fifo: bool) -> None:
    """Refuse names that cannot be set on such a queue, and values outside their range."""
    checks = _SETTABLE | (_FIFO_SETTABLE if fifo else {})
    for name, value in changes.items():
        if name == "FifoQueue" and fifo:
            _fifo(value)
            continue
        if name not in checks:
            raise InvalidAttributeName(f"Unknown Attribute {name}.")
        if not (value == "" and name in _REMOVABLE):
            checks[name](name, value)
    if fifo and changes.get("RockdoveOrderHint", "1") != "1":
        raise _invalid("RockdoveOrderHint", "A FIFO queue keeps its order: Must be 1")
    if fifo and changes.get(ELASTIC):
        raise _invalid(ELASTIC, "Messages of a FIFO queue go by their groups: It cannot be elastic")


def _fifo(value: str) -> None:
    """A queue is of one kind for ever. Of one that is not FIFO, SQS does not take the attribute, not even as false."""
    _BOOLEAN("FifoQueue", value)
    if value == "false":
        raise InvalidAttributeValue(
            "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
        )


def check_together(attributes: Mapping[str, str]) -> None:
    """Refuse attributes that do not go together."""
    if attributes.get("KmsMasterKeyId") and attributes.get("SqsManagedSseEnabled") == "true":
        raise InvalidAttributeName(
            "You can use one type of server-side encryption (SSE) at one time. "
            "You can either enable KMS SSE or SQS SSE."
        )
    per_group = attributes.get("FifoThroughputLimit") == "perMessageGroupId"
    if per_group and attributes.get("DeduplicationScope") != "messageGroup":
        raise InvalidAttributeValue(
            "The perMessageGroupId value of FifoThroughputLimit is allowed only when the value of DeduplicationScope "
            "is messageGroup."
        )


def check_claim(attributes: Mapping[str, str], fifo: bool, has_fast: bool) -> None:
    """Refuse ways of receiving that the queue, or its store, does not have."""
    claim = attributes.get(CLAIM, default_claim(fifo, has_fast))
    if claim == FAST and fifo:
        raise _invalid(CLAIM, "A FIFO queue keeps its order: Must be strict")
    if claim == FAST and not has_fast:
        raise _invalid(CLAIM, "This store gives each message to one receiver at a time: Must be strict")
    if claim == STRICT and attributes.get(DRAW) == LITERAL:
        raise _invalid(DRAW, f"Must be visible where {CLAIM} is strict")


def default_claim(fifo: bool, has_fast: bool) -> str:
    return FAST if has_fast and not fifo else STRICT


def merge(attributes: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """Attributes with changes applied; an empty value takes away what can be taken away."""
    merged = {**attributes, **{name: _plain(name, value) for name, value in changes.items()}}
    if changes.get("KmsMasterKeyId") == "":
        merged.pop(_KMS_PERIOD, None)
    if "KmsMasterKeyId" in changes and changes["KmsMasterKeyId"] and "SqsManagedSseEnabled" not in changes:
        merged["SqsManagedSseEnabled"] = "false"
    elif changes.get("SqsManagedSseEnabled") == "true" and not changes.get("KmsMasterKeyId"):
        merged.pop("KmsMasterKeyId", None)
    return {name: value for name, value in merged.items() if value != "" or name not in _REMOVABLE}


def _plain(name: str, value: str) -> str:
    """A number as SQS writes it, without zeros or a sign before it; also within a RedrivePolicy."""
    if name == "RedrivePolicy" and value:
        document = _document(name, value)
        if isinstance(document["maxReceiveCount"], str):
            return msgspec.json.encode({**document, "maxReceiveCount": int(document["maxReceiveCount"])}).decode()
        return value
    return str(int(value)) if name != "KmsMasterKeyId" and _INTEGER.fullmatch(value) else value


def effective(attributes: Mapping[str, str], fifo: bool) -> dict[str, str]:
    """What was set, and the defaults that SQS returns for what was not."""
    have = {**_DEFAULTS, **(_FIFO_DEFAULTS if fifo else {}), _KMS_PERIOD: "300", **attributes}
    if "KmsMasterKeyId" not in attributes:
        # Without a key there is nothing to use again.
        del have[_KMS_PERIOD]
    return have


def differing(
    wanted: Mapping[str, str], attributes: Mapping[str, str], fifo: bool, has_fast: bool = False
) -> str | None:
    """The first attribute that a queue has another value for than is wanted."""
    have = {**_OWN_DEFAULTS, CLAIM: default_claim(fifo, has_fast), **effective(attributes, fifo), **attributes}
    for name, value in wanted.items():
        if have.get(name, "") != value and _canonical(name, have.get(name, "")) != _canonical(name, value):
            return name
    return None


def _canonical(name: str, value: str) -> Any:
    if name in ("Policy", "RedrivePolicy", "RedriveAllowPolicy", ELASTIC) and value:
        document = msgspec.json.decode(value)
        if isinstance(document, dict) and "maxReceiveCount" in document:
            document["maxReceiveCount"] = str(document["maxReceiveCount"])
        return document
    return int(value) if _INTEGER.fullmatch(value) else value


def selected(
    names: list[str], attributes: Mapping[str, str], fifo: bool, told: Mapping[str, str], has_fast: bool = False
) -> dict[str, str]:
    """What GetQueueAttributes returns for these names."""
    for name in names:
        if name not in _KNOWN:
            raise InvalidAttributeName(f"Unknown Attribute {name}.")
    everything = {**told, **effective(attributes, fifo)}
    if "All" in names:
        return everything
    everything = {**_OWN_DEFAULTS, CLAIM: default_claim(fifo, has_fast), **everything}
    return {name: everything[name] for name in names if name in everything}


_DEFAULT_CHOICE = PolicyChoice()


class Settings(Struct, frozen=True):
    """The attributes of a queue that the broker acts on, as numbers."""

    visibility_timeout_us: int
    delay_us: int
    wait_s: int
    retention_us: int
    max_message_bytes: int
    order_hint: int
    content_deduplication: bool
    deduplicate_by_group: bool
    redrive: Redrive | None
    redrive_allow: RedriveAllow | None
    dequeue: PolicyChoice


def settings(attributes: Mapping[str, str], fifo: bool) -> Settings:
    have = effective(attributes, fifo)
    hint = attributes.get("RockdoveOrderHint", "1")
    return Settings(
        visibility_timeout_us=int(have["VisibilityTimeout"]) * SECOND_US,
        delay_us=int(have["DelaySeconds"]) * SECOND_US,
        wait_s=int(have["ReceiveMessageWaitTimeSeconds"]),
        retention_us=int(have["MessageRetentionPeriod"]) * SECOND_US,
        max_message_bytes=int(have["MaximumMessageSize"]),
        # "auto" is for claims that can meet on one message; the others decide one after another.
        order_hint={"none": 0, "auto": 1}[hint] if hint in ("none", "auto") else int(hint),
        content_deduplication=have.get("ContentBasedDeduplication") == "true",
        deduplicate_by_group=have.get("DeduplicationScope") == "messageGroup",
        redrive=redrive(have["RedrivePolicy"]) if have.get("RedrivePolicy") else None,
        redrive_allow=redrive_allow(have["RedriveAllowPolicy"]) if have.get("RedriveAllowPolicy") else None,
        dequeue=_dequeue(attributes),
    )


def _dequeue(attributes: Mapping[str, str]) -> PolicyChoice:
    if "RockdoveDequeuePolicy" not in attributes:
        return _DEFAULT_CHOICE
    have = {**_OWN_DEFAULTS, **attributes}
    sleep_ms = have["RockdoveRetrySleepMs"]
    return PolicyChoice(
        PolicyName(have["RockdoveDequeuePolicy"]),
        int(have["RockdoveMaxVisits"]),
        int(have["RockdoveMonitorMs"]) / 1000,
        have["RockdoveMonitorSpread"] == "true",
        None if sleep_ms == "auto" else int(sleep_ms) / 1000,
    )
