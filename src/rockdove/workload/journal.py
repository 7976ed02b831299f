"""What one process of a workload saw: every send, receive and delete that succeeded, and how often something failed."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from rockdove.trace import Event
from rockdove.workload.answer import Answer
from rockdove.workload.payload import Stamp, read

# Where events for a trace go.
Sink = Callable[[Event], None]


class Partition(Struct, frozen=True):
    """A queue of the workload."""

    number: int
    name: str
    url: str

    @property
    def account(self) -> str | None:
        """As in the queue's URL."""
        owner = self.url.rstrip("/").split("/")[-2]
        return owner if owner.isdigit() else None


class Delivery(Protocol):
    """What a journal needs of a received message."""

    message_id: str
    body: str
    attributes: dict[str, str]


class Sent(Struct, array_like=True, gc=False):
    """A message that the service has taken. Times are microseconds since 1970."""

    queue: int
    sender: int
    seq: int
    began_us: int
    ended_us: int
    latency_us: int


class Got(Struct, array_like=True, gc=False):
    """A message that came; ``sender`` and ``seq`` are -1 if its checksum was wrong."""

    queue: int
    sender: int
    seq: int
    message_id: str
    # The service's SentTimestamp; 0 if it gives none.
    sent_ms: int
    ended_us: int
    latency_us: int


class Deleted(Struct, array_like=True, gc=False):
    queue: int
    ended_us: int
    latency_us: int


class Notes(Struct):
    """All that a process hands over."""

    sent: list[Sent] = []
    got: list[Got] = []
    deleted: list[Deleted] = []
    misses: int = 0
    failures: int = 0
    dropped_requests: int = 0
    dropped_responses: int = 0
    crashes: int = 0
    # Events that the trace could not take.
    untraced: int = 0

    def add(self, other: "Notes") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Journal:
    """Writes notes, and the same as events into a trace if there is one."""

    def __init__(self, run: str, sink: Sink | None = None) -> None:
        self.notes = Notes()
        self._run = run
        self.sink = sink

    def sent(self, place: Partition, stamp: Stamp, size: int, message_id: str, answer: Answer[object]) -> None:
        self.notes.sent.append(
            Sent(place.number, stamp.sender, stamp.seq, answer.began_us, answer.ended_us, answer.latency_us)
        )
        if self.sink is not None:
            self.sink(
                _event(
                    place,
                    "send",
                    answer,
                    message_id=message_id,
                    sender=sender_name(place, stamp.sender),
                    seq=stamp.seq,
                    sent_at=answer.began_us,
                    bytes=size,
                )
            )

    def got(self, place: Partition, receiver: str, message: Delivery, answer: Answer[object]) -> Stamp | None:
        """The message's stamp; None if it is not one of this run's, or damaged."""
        found = read(message.body)
        stamp = found[0] if found is not None and self._is_ours(place, found[0]) else None
        sent_ms = int(message.attributes.get("SentTimestamp", 0))
        sender, seq = (stamp.sender, stamp.seq) if stamp is not None else (-1, -1)
        self.notes.got.append(
            Got(place.number, sender, seq, message.message_id, sent_ms, answer.ended_us, answer.latency_us)
        )
        if self.sink is not None:
            attempt = message.attributes.get("ApproximateReceiveCount")
            self.sink(
                _event(
                    place,
                    "receive",
                    answer,
                    message_id=message.message_id,
                    sender=None if stamp is None else sender_name(place, sender),
                    seq=None if stamp is None else seq,
                    receiver=receiver,
                    attempt=None if attempt is None else int(attempt),
                    enqueued_at=sent_ms * 1000 or None,
                    dequeued_at=answer.ended_us,
                    bytes=len(message.body.encode(errors="replace")),
                    checksum_ok=stamp is not None,
                )
            )
        return stamp

    def _is_ours(self, place: Partition, stamp: Stamp) -> bool:
        return stamp.run == self._run and stamp.queue == place.number

    def deleted(self, place: Partition, receiver: str, message_id: str, answer: Answer[object]) -> None:
        self.notes.deleted.append(Deleted(place.number, answer.ended_us, answer.latency_us))
        if self.sink is not None:
            self.sink(_event(place, "delete", answer, message_id=message_id, receiver=receiver))

    def missed(self, place: Partition, receiver: str, answer: Answer[object]) -> None:
        self.notes.misses += 1
        if self.sink is not None:
            self.sink(_event(place, "miss", answer, receiver=receiver))

    def failed(self, place: Partition, op: str, answer: Answer[object]) -> None:
        """A request that was answered with an error, or not at all."""
        self.notes.failures += 1
        self._without_result(place, op, answer)

    def dropped_request(self, place: Partition, op: str, answer: Answer[object]) -> None:
        self.notes.dropped_requests += 1
        self._without_result(place, op, answer)

    def dropped_response(self, place: Partition, op: str, answer: Answer[object]) -> None:
        self.notes.dropped_responses += 1
        self._without_result(place, op, answer)

    def crashed(self) -> None:
        self.notes.crashes += 1

    def _without_result(self, place: Partition, op: str, answer: Answer[object]) -> None:
        if self.sink is not None:
            self.sink(_event(place, op, answer))


def sender_name(place: Partition, number: int) -> str:
    return f"{place.name}/s{number}"


def receiver_name(place: Partition, number: int, life: int) -> str:
    """``life`` counts its crashes: what starts anew is somebody else."""
    return f"{place.name}/r{number}.{life}"


def _event(place: Partition, op: str, answer: Answer[object], **values: str | int | bool | None) -> Event:
    return Event(
        event_time=answer.ended_us,
        account=place.account,
        queue=place.name,
        physical=None,
        op=op,
        latency_us=answer.latency_us,
        status=answer.status,
        **values,  # type: ignore[arg-type]
    )
