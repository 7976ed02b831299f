"""A logical queue as it is kept: its attributes, tags and the physical queues that carry its messages."""

from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct, field


class PhysicalState(StrEnum):
    """What a physical queue takes part in: everything, nothing, or receives alone.

    LEAVING is for receives alone, too, and is nobody's choice: the logical queue has fewer physical ones, or others,
    and this one goes when it is empty.
    """

    UP = "up"
    DOWN = "down"
    DRAINING = "draining"
    LEAVING = "leaving"


class PhysicalRecord(Struct, frozen=True, omit_defaults=True):
    """One physical queue. Its number is never used by two at a time; the prefix makes its message ids unique.

    Of several, each gets messages by its share of all weights. The physical queues of a FIFO queue are of one
    ``generation``: if there are to be more or fewer of them, all are replaced, so that each group has one place in each
    generation.
    """

    number: int
    prefix: str
    weight: float = 1
    state: PhysicalState = PhysicalState.UP
    generation: int = 0

    @property
    def leaves(self) -> bool:
        return self.state is PhysicalState.LEAVING


class ElasticRecord(Struct, frozen=True, omit_defaults=True):
    """What the controller of an elastic queue has published, and until when no other may.

    ``state`` is for controllers and who looks at them; the service does not read it.
    """

    holder: str = ""
    held_until_us: int = 0
    state: str = ""
    put_us: int = 0
    paused: bool = False


class QueueRecord(Struct, kw_only=True):
    """A logical queue. ``attributes`` holds only what was set, with SQS's names and as strings.

    Of its physical queues, those that leave are the last.
    """

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
    elastic: ElasticRecord | None = None

    @property
    def staying(self) -> list[PhysicalRecord]:
        return [part for part in self.physical if not part.leaves]

    @property
    def leaving(self) -> list[PhysicalRecord]:
        return [part for part in self.physical if part.leaves]


# A record in little memory: there may be very many of queues that nobody uses.
_PackedPart = tuple[int, str, int | float, PhysicalState, int]
_PackedElastic = tuple[str, int, str, int, bool]
_Packed = tuple[
    str, str, str, bool, int, int, list[_PackedPart], dict[str, str], dict[str, str], int, _PackedElastic | None
]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode


def pack(record: QueueRecord) -> bytes:
    physical = [(part.number, part.prefix, part.weight, part.state, part.generation) for part in record.physical]
    names, times = (record.account, record.name, record.fifo), (record.created_us, record.modified_us)
    each = record.elastic
    elastic = None if each is None else (each.holder, each.held_until_us, each.state, each.put_us, each.paused)
    rest = (physical, record.attributes, record.tags, record.purged_us, elastic)
    return _encode((record.uid, *names, *times, *rest))


class Glance(NamedTuple):
    """What a packed record says without being unpacked: quicker, for who looks at all."""

    uid: str
    account: str
    name: str
    physical: int
    leaves_any: bool
    attributes: dict[str, str]


def glance(packed: bytes) -> Glance:
    uid, account, name, _, _, _, physical, attributes, *_ = _decode(packed)
    # Those that leave are the last.
    leaves_any = bool(physical) and physical[-1][3] is PhysicalState.LEAVING
    return Glance(uid, account, name, len(physical), leaves_any, attributes)


def unpack(packed: bytes) -> QueueRecord:
    uid, account, name, fifo, created_us, modified_us, physical, attributes, tags, purged_us, elastic = _decode(packed)
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
        elastic=None if elastic is None else ElasticRecord(*elastic),
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
