"""Messages as ReceiveMessage, LeaseBatch and Peek show them: which attributes were asked for, and their digests."""

from collections.abc import Collection

from msgspec import Struct

from rockdove.broker.deadletter import message_id, receive_count
from rockdove.broker.queue import Queue
from rockdove.broker.receive import Delivery
from rockdove.core import ids, limits
from rockdove.core.digest import attributes_md5
from rockdove.core.errors import InvalidAttributeName, InvalidParameterValue
from rockdove.core.lease import LEASED_US
from rockdove.core.message import Attribute, Extra
from rockdove.core.receipt import Receipts
from rockdove.wire.extension import PeekedMessage
from rockdove.wire.lease import LeasedMessage
from rockdove.wire.shape import Message

_SYSTEM = frozenset(
    (
        "All",
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SequenceNumber",
        "MessageDeduplicationId",
        "MessageGroupId",
        "AWSTraceHeader",
        "DeadLetterQueueSourceArn",
    )
)
_NONE = Extra()


class Selection(Struct, frozen=True, gc=False):
    """Which system and message attributes a receive wants."""

    system: frozenset[str]
    names: frozenset[str]
    prefixes: tuple[str, ...]

    def pick(self, attributes: dict[str, Attribute]) -> dict[str, Attribute]:
        if "" in self.prefixes:
            return attributes
        return {
            name: value
            for name, value in attributes.items()
            if name in self.names or (self.prefixes and name.startswith(self.prefixes))
        }


NOTHING = Selection(frozenset(), frozenset(), ())


def select(system: list[str] | None, also: list[str] | None, names: list[str] | None) -> Selection:
    if not (system or also or names):
        return NOTHING
    for asked in (system, also, names):
        _check_names(asked or ())
    wanted = frozenset((*(system or ()), *(also or ())))
    for name in wanted - _SYSTEM:
        raise InvalidAttributeName(f"Unknown Attribute {name}.")
    exact, prefixes = [], []
    for name in names or ():
        if not name:
            raise InvalidParameterValue("The request must contain non-empty message attribute names.")
        if name in ("All", ".*", "*"):
            prefixes.append("")
        elif name.endswith(".*"):
            prefixes.append(name[:-2])
        else:
            exact.append(name)
    return Selection(_SYSTEM if "All" in wanted else wanted, frozenset(exact), tuple(prefixes))


def _check_names(asked: Collection[str]) -> None:
    if len(asked) > limits.MAX_ASKED_NAMES or sum(map(len, asked)) > limits.MAX_ASKED_LENGTH:
        raise InvalidParameterValue(
            f"The request must contain at most {limits.MAX_ASKED_NAMES} names of attributes, with "
            f"{limits.MAX_ASKED_LENGTH} characters together. Use All, or a prefix."
        )


def received(queue: Queue, delivery: Delivery, selection: Selection, receipts: Receipts) -> Message:
    entry = delivery.entry
    content = entry.message
    message = Message(
        message_id=message_id(delivery.physical, entry),
        receipt_handle=receipts.write(queue.uid, entry.id, delivery.claimed_us, entry.receive_count),
        md5_of_body=content.md5,
        body=content.text,
    )
    if selection is not NOTHING:
        _add_attributes(message, queue, delivery, selection)
    return message


def peeked(queue: Queue, index: int, delivery: Delivery, selection: Selection, now_us: int) -> PeekedMessage:
    entry = delivery.entry
    visible, is_leased = entry.visible_us <= now_us, entry.visible_us == LEASED_US
    hidden = "leased" if is_leased else "in-flight" if entry.receive_count else "delayed"
    message = PeekedMessage(
        message_id=message_id(delivery.physical, entry),
        md5_of_body=entry.message.md5,
        body=entry.message.text,
        state="visible" if visible else hidden,
        visible_from=None if is_leased else entry.visible_us / 1_000_000,
        physical_queue=index,
    )
    _add_attributes(message, queue, delivery, selection)
    return message


def leased(queue: Queue, delivery: Delivery, selection: Selection) -> LeasedMessage:
    physical, entry = delivery.physical, delivery.entry
    index = 0 if len(queue.physical) == 1 else queue.index(physical.record.number)
    message = LeasedMessage(
        message_id=message_id(physical, entry),
        md5_of_body=entry.message.md5,
        body=entry.message.text,
        physical_queue=index or 0,
    )
    if selection is not NOTHING:
        _add_attributes(message, queue, delivery, selection)
    return message


def _add_attributes(
    message: Message | PeekedMessage | LeasedMessage, queue: Queue, delivery: Delivery, selection: Selection
) -> None:
    extra = delivery.entry.message.extra
    if selection.system:
        message.attributes = _system(queue, delivery, selection.system)
    if extra is not None and extra.attributes is not None and (selection.names or selection.prefixes):
        picked = selection.pick(extra.attributes)
        if picked:
            message.message_attributes = picked
            message.md5_of_message_attributes = (
                extra.attributes_md5 if len(picked) == len(extra.attributes) else attributes_md5(picked)
            )


def _system(queue: Queue, delivery: Delivery, wanted: frozenset[str]) -> dict[str, str]:
    entry = delivery.entry
    extra = entry.message.extra or _NONE
    known = {
        "SenderId": extra.sender_id or queue.record.account,
        "SentTimestamp": str(entry.message.sent_us // 1000),
        "ApproximateReceiveCount": str(receive_count(entry)),
        "ApproximateFirstReceiveTimestamp": str(entry.first_received_us // 1000) if entry.first_received_us else None,
        "SequenceNumber": ids.sequence_number(entry.id) if queue.fifo else None,
        "MessageDeduplicationId": extra.deduplication_id,
        "MessageGroupId": extra.group_id,
        "AWSTraceHeader": extra.trace_header.string_value if extra.trace_header else None,
        "DeadLetterQueueSourceArn": extra.dead_letter_source,
    }
    return {name: value for name, value in known.items() if value is not None and name in wanted}
