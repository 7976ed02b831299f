"""A logical queue as it is kept: its attributes, tags and the physical queues that carry its messages."""

from msgspec import Struct, field


class PhysicalRecord(Struct, frozen=True):
    """One physical queue. Its number is never used by two at a time; the prefix makes its message ids unique."""

    number: int
    prefix: str


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
