"""What is recorded: each call with its times and its outcome, and each fault."""

from __future__ import annotations

from enum import Enum

import msgspec


class Outcome(Enum):
    """Whether a call was carried out, as far as its client knows."""

    DONE = "done"
    # It was refused: nothing has happened.
    REFUSED = "refused"
    # No answer, or one that leaves it open.
    UNKNOWN = "unknown"


class Got(msgspec.Struct, frozen=True):
    """A message as a client got it. Bodies are never used twice."""

    body: str
    message_id: str


class Call(msgspec.Struct):
    """``begin_s`` and ``end_s`` by the clients' monotonic clock.

    ``op`` is send, receive, delete, hide, lease, ack, publish, purge, resize, or drain: the receives at the end.
    ``bodies`` are those of messages sent, deleted, hidden or published; ``got`` is what came back.
    """

    op: str
    queue: str
    begin_s: float
    end_s: float
    outcome: Outcome
    bodies: list[str] = []
    got: list[Got] = []
    # Of a receive: how long its messages are hidden. Of a hide, the same from then on.
    timeout_s: float = 0.0
    # Of a message sent to a FIFO queue.
    group: str | None = None
    # Of a lease: how many came before it.
    sequence: int = 0
    # Of a publication: which batch.
    batch: int = 0
    # Why it was not done, in words.
    error: str = ""


class Fault(msgspec.Struct, frozen=True):
    """Something that was done to the service. ``jump_s`` is by how much its clock was set."""

    kind: str
    begin_s: float
    end_s: float
    jump_s: float = 0.0


class History(msgspec.Struct):
    """All that happened. ``counts`` is what the service said each queue held before it was drained."""

    calls: list[Call] = []
    faults: list[Fault] = []
    # Lines of the service's log.
    complaints: list[str] = []
    counts: dict[str, int] = {}
    # Names of FIFO queues.
    fifo: set[str] = set()
    # Queues in which messages get new ids, because move tasks bring them back.
    renaming: set[str] = set()
    # Of queues with dead letters: how many deliveries a message has.
    max_receives: dict[str, int] = {}
    # Names of queues that may give a message to two receivers.
    shared: set[str] = set()
    # By how much the clocks of services may differ.
    skew_s: float = 0.0
