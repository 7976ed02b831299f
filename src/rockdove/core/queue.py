"""A logical queue as it is kept: its attributes, tags and the physical queues that carry its messages."""

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct, field


class PhysicalState(StrEnum):
    """What a physical queue takes part in: everything, nothing, or receives alone."""

    UP = "up"
    DOWN = "down"
    DRAINING = "draining"


class PhysicalRecord(Struct, frozen=True, omit_defaults=True):
    """One physical queue. Its number is never used by two at a time; the prefix makes its message ids unique.

    Of several, each gets messages by its share of all weights.
    """

    number: int
    prefix: str
    weight: float = 1
    state: PhysicalState = PhysicalState.UP


class QueueRecord(Struct, kw_only=True):
    """A logical queue. ``attributes`` holds only what was set, with SQS's names and as strings."""

    uid: str
    account: str
    name: str
    fifo: bool
    created_us: int
    modified_us: int
    physical: list[PhysicalRecord]
    attributes: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    purged_us: int = 0


# A record in little memory: there may be very many of queues that nobody uses.
_PackedPart = tuple[int, str, int | float, PhysicalState]
_Packed = tuple[str, str, str, bool, int, int, list[_PackedPart], dict[str, str], dict[str, str], int]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode


def pack(record: QueueRecord) -> bytes:
    physical = [(part.number, part.prefix, part.weight, part.state) for part in record.physical]
    names, times = (record.account, record.name, record.fifo), (record.created_us, record.modified_us)
    rest = (physical, record.attributes, record.tags, record.purged_us)
    return _encode((record.uid, *names, *times, *rest))


class Glance(NamedTuple):
    """What a packed record says without being unpacked: quicker, for who looks at all."""

    uid: str
    account: str
    name: str
    physical: int
    attributes: dict[str, str]


def glance(packed: bytes) -> Glance:
    uid, account, name, _, _, _, physical, attributes, _, _ = _decode(packed)
    return Glance(uid, account, name, len(physical), attributes)


def unpack(packed: bytes) -> QueueRecord:
    uid, account, name, fifo, created_us, modified_us, physical, attributes, tags, purged_us = _decode(packed)
    return QueueRecord(
        uid=uid,
        account=account,
        name=name,
        fifo=fifo,
        created_us=created_us,
        modified_us=modified_us,
        physical=[PhysicalRecord(*part) for part in physical],
        attributes=attributes,
        tags=tags,
        purged_us=purged_us,
    )


class DeletedQueue(Struct, frozen=True):
    """Remembers a deleted queue for as long as its name may not be used again."""

    account: str
    name: str
    deleted_us: int


class MoveTask(Struct, kw_only=True):
    """A message move task, kept so that it survives a restart. ``status`` has SQS's values."""

    task_id: str
    account: str
    source_arn: str
    destination_arn: str | None
    max_per_second: int | None
    status: str
    started_us: int
    moved: int = 0
    to_move: int = 0
    failure: str | None = None
