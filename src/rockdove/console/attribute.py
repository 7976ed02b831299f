"""What each attribute of a queue is, in which range, and what it is for: the forms are made of it."""

from typing import Final

from msgspec import Struct

from rockdove.core import limits

# Of the two that stand for RedrivePolicy in forms.
DEAD_LETTER_QUEUE: Final = "DeadLetterQueue"
MAX_RECEIVES: Final = "MaxReceiveCount"


class Attribute(Struct, frozen=True):
    """An input. ``only``: "standard" or "fifo", if it is for one kind of queue."""

    name: str
    label: str
    help: str
    default: str = ""
    unit: str = ""
    low: int | None = None
    high: int | None = None
    # What may be instead of a number.
    words: tuple[str, ...] = ()
    # Values, with what they mean.
    choices: tuple[tuple[str, str], ...] = ()
    long: bool = False
    example: str = ""
    # Whether it names a queue.
    queues: bool = False
    only: str = ""

    @property
    def range(self) -> str:
        if self.high is None:
            return ""
        text = f"{self.low:,} to {self.high:,}"
        return " or ".join([text, *self.words]) + "."


class Group(Struct, frozen=True):
    """Attributes that belong together."""

    title: str
    text: str
    attributes: tuple[Attribute, ...]
    open: bool = False


def _number(name: str, label: str, low: int, high: int, default: int, text: str, unit: str = "") -> Attribute:
    return Attribute(name, label, text, str(default), unit, low, high)


_BASIC = Group(
    "Messages",
    "timeout, delay, retention",
    (
        _number(
            "VisibilityTimeout",
            "Visibility timeout",
            0,
            limits.MAX_VISIBILITY_TIMEOUT_S,
            30,
            "How long a received message is hidden from others. Longer than the work on it takes; it can be extended.",
            "seconds",
        ),
        _number(
            "DelaySeconds",
            "Delay",
            0,
            limits.MAX_DELAY_S,
            0,
            "How long a new message waits before it can be received, unless the sender says otherwise.",
            "seconds",
        ),
        _number(
            "MessageRetentionPeriod",
            "Retention",
            limits.MIN_RETENTION_S,
            limits.MAX_RETENTION_S,
            345_600,
            "After this time a message is removed, received or not.",
            "seconds",
        ),
        _number(
            "ReceiveMessageWaitTimeSeconds",
            "Receive wait",
            0,
            limits.MAX_WAIT_S,
            0,
            "How long a receive waits for a message if it does not say so itself. With 20, consumers ask less often.",
            "seconds",
        ),
        _number(
            "MaximumMessageSize",
            "Largest message",
            limits.MIN_MESSAGE_SIZE_BYTES,
            limits.MAX_MESSAGE_BYTES,
            limits.MAX_MESSAGE_BYTES,
            "Body and attributes together. Larger messages are refused.",
            "bytes",
        ),
    ),
    open=True,
)

_DEAD = Group(
    "Dead letters",
    "where messages go that nobody can handle",
    (
        Attribute(
            DEAD_LETTER_QUEUE,
            "Dead-letter queue",
            "A queue of the same type, which exists. Without one, messages are tried until their retention is over.",
            example="none",
            queues=True,
        ),
        Attribute(
            MAX_RECEIVES,
            "After so many receives",
            "A message that was received so often, and never deleted, goes to the dead-letter queue.",
            default="5",
            low=1,
            high=limits.MAX_RECEIVE_COUNT,
        ),
        Attribute(
            "RedriveAllowPolicy",
            "Who may use this queue for dead letters",
            "JSON. Without it, all queues of the account may.",
            long=True,
            example='{"redrivePermission": "denyAll"}',
        ),
    ),
)

_FIFO = Group(
    "FIFO",
    "deduplication; for FIFO queues",
    (
        Attribute(
            "ContentBasedDeduplication",
            "Deduplication by content",
            "A message without a deduplication id gets one from its body: the same body within five minutes is one "
            "message.",
            default="false",
            choices=(("true", ""), ("false", "")),
            only="fifo",
        ),
        Attribute(
            "DeduplicationScope",
            "Deduplication scope",
            "Whether deduplication ids count for each group, or for the whole queue.",
            default="queue",
            choices=(("queue", ""), ("messageGroup", "")),
            only="fifo",
        ),
        Attribute(
            "FifoThroughputLimit",
            "Throughput limit",
            "Kept for SDKs; the service has no such limit. perMessageGroupId needs the scope messageGroup.",
            default="perQueue",
            choices=(("perQueue", ""), ("perMessageGroupId", "")),
            only="fifo",
        ),
    ),
)

_PHYSICAL = Group(
    "Physical queues and order",
    "how the queue is spread, and how receives look for messages",
    (
        _number(
            "RockdovePhysicalQueues",
            "Physical queues",
            1,
            limits.MAX_PHYSICAL_QUEUES,
            1,
            "How many physical queues carry this queue. More spread the load over machines, and loosen the order.",
        ),
        Attribute(
            "RockdoveOrderHint",
            "Order hint K",
            "A receive draws from the first n + K - 1 visible messages. 1 is the best order; more means fewer "
            "collisions between receivers. FIFO queues take only 1.",
            default="1",
            low=1,
            high=limits.MAX_ORDER_HINT,
            words=("none", "auto"),
            only="standard",
        ),
        Attribute(
            "RockdoveClaim",
            "Claim",
            "strict: a message has one receiver at a time. fast (Cassandra only): services do not ask each other, and "
            "now and then deliver a message twice.",
            choices=(("strict", ""), ("fast", "")),
            only="standard",
        ),
        Attribute(
            "RockdoveDraw",
            "Draw",
            "Whether a fast receive draws among visible messages, or draws first and then looks.",
            default="visible",
            choices=(("visible", ""), ("literal", "")),
            only="standard",
        ),
        Attribute(
            "RockdoveDequeuePolicy",
            "Dequeue policy",
            "Which physical queues a receive visits, and what it does when it finds nothing.",
            default="wake",
            choices=(
                ("wake", "visits all, and waits to be woken"),
                ("conventional", "visits some, and replies at once"),
                ("rds", "visits some, sleeps, and tries others"),
                ("pms", "visits those that had messages lately"),
            ),
        ),
        _number(
            "RockdoveMaxVisits",
            "Visits at a time",
            1,
            limits.MAX_PHYSICAL_QUEUES,
            3,
            "conventional, rds, pms: how many physical queues a receive visits at most.",
        ),
        Attribute(
            "RockdoveRetrySleepMs",
            "Retry sleep",
            "rds: how long a receive that found nothing sleeps before it looks again.",
            "100",
            "ms",
            1,
            limits.MAX_RETRY_SLEEP_MS,
            words=("auto",),
        ),
        _number(
            "RockdoveMonitorMs",
            "Monitor period",
            1,
            limits.MAX_MONITOR_MS,
            100,
            "pms: how old the numbers of messages may be that a receive goes by.",
            "ms",
        ),
        Attribute(
            "RockdoveMonitorSpread",
            "Monitor spread",
            "pms: whether receives draw lots by the numbers of messages, instead of all going to the fullest.",
            default="true",
            choices=(("true", ""), ("false", "")),
        ),
        Attribute(
            "RockdoveElastic",
            "Elastic",
            "JSON: how many workers the queue may have, and by which rule. {} has all defaults. The page Elastic shows "
            "what comes of it.",
            long=True,
            example='{"minWorkers": 1, "maxWorkers": 10}',
            only="standard",
        ),
    ),
)

_ACCESS = Group(
    "Access and encryption words",
    "policy, and what SDKs expect to be kept",
    (
        Attribute(
            "Policy",
            "Policy",
            "JSON: who else may use the queue. Without it, its own account alone.",
            long=True,
            example='{"Statement": [...]}',
        ),
        Attribute(
            "KmsMasterKeyId", "KMS key", "Kept and returned; nothing is encrypted. Switches SqsManagedSseEnabled off."
        ),
        _number("KmsDataKeyReusePeriodSeconds", "KMS key reuse", 60, 86_400, 300, "Kept and returned.", unit="seconds"),
        Attribute(
            "SqsManagedSseEnabled",
            "SQS-managed encryption",
            "Kept and returned; nothing is encrypted.",
            default="true",
            choices=(("true", ""), ("false", "")),
        ),
    ),
)

GROUPS: Final = (_BASIC, _DEAD, _FIFO, _PHYSICAL, _ACCESS)
NAMES: Final = frozenset(attribute.name for group in GROUPS for attribute in group.attributes)
