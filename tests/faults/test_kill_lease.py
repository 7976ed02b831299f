"""kill -9 under leases and publishing: each published message is leased, given again and acknowledged exactly once."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.support.crowd import Client, Work, live
from tests.support.server import ServerFactory

KILLS = 12
APPLICATIONS = ("a", "b")
CONSUMERS = ("r", "s")
# Moments of the kill, in seconds after the service is ready.
LIFE_S = (0.1, 0.9)


@dataclass
class Writer:
    """Publishes batch after batch. An attempt that got no answer is followed by another, which says who has won."""

    url: str
    application: str
    fifo: bool
    batch: int = 0
    attempts: int = 0
    # The messages of every attempt at the batch under way, and of those that have won.
    tried: dict[str, list[str]] = field(default_factory=dict)
    published: list[str] = field(default_factory=list)

    def work(self, call: Client) -> None:
        answer = self._attempt(call)
        won = self.tried[answer["Winner"]]
        assert answer["Messages"] == len(won)
        if call.rng.random() < 0.2:
            again = self._attempt(call)
            assert again == {"Published": False, "Winner": answer["Winner"], "Messages": answer["Messages"]}
        self.published += won
        self.batch += 1
        self.tried = {}

    def _attempt(self, call: Client) -> Any:
        self.attempts += 1
        name, chunks = f"attempt-{self.attempts}", call.rng.randint(1, 3)
        sizes = [call.rng.randint(1, 20) for _ in range(chunks)]
        start = f"{self.application}/{self.batch}/{self.attempts}"
        bodies = [[f"{start}/{chunk}/{place}" for place in range(size)] for chunk, size in enumerate(sizes)]
        self.tried[name] = [body for chunk in bodies for body in chunk]
        for number, chunk in enumerate(bodies):
            final = number == chunks - 1
            answer = call(
                "Rockdove.PublishOnce",
                QueueUrl=self.url,
                Application=self.application,
                Batch=self.batch,
                Partition=0,
                Attempt=name,
                Chunk=number,
                Final=final,
                Entries=[self._entry(place, body) for place, body in enumerate(chunk)],
            )
        return answer

    def _entry(self, place: int, body: str) -> dict[str, str]:
        group = {"MessageGroupId": self.application, "MessageDeduplicationId": body} if self.fifo else {}
        return {"Id": str(place), "MessageBody": body, **group}


@dataclass
class WholeWriter(Writer):
    """Publishes batches as a whole: the same rows, cut into other partitions in each attempt."""

    def work(self, call: Client) -> None:
        rows = [f"{self.application}/{self.batch}/{row}" for row in range(random.Random(self.batch).randint(0, 3_000))]
        answer = self._cut(call, rows)
        assert answer["Messages"] == len(rows)
        if call.rng.random() < 0.2:
            assert self._cut(call, rows) == {"Published": False, "Messages": len(rows), "Landed": True}
        self.published += rows
        self.batch += 1

    def _cut(self, call: Client, rows: list[str]) -> Any:
        self.attempts += 1
        named = {"QueueUrl": self.url, "Application": self.application, "Batch": self.batch}
        cut, attempts = call.rng.randint(1, 5), []
        for partition in range(cut):
            name, own = f"run-{self.attempts}/{partition}", rows[partition::cut]
            chunks = [own[begin : begin + 500] for begin in range(0, len(own), 500)]
            for number, chunk in enumerate(chunks):
                entries = [self._entry(place, body) for place, body in enumerate(chunk)]
                call("Rockdove.StageBatch", **named, Attempt=name, Chunk=number, Entries=entries)
            attempts.append({"Attempt": name, "Chunks": len(chunks)})
        answer = call("Rockdove.PublishBatch", **named, Attempts=attempts)
        while not answer["Landed"]:
            answer = call("Rockdove.PublishBatch", **named, Attempts=attempts)
        return answer


@dataclass
class Reader:
    """Leases under one sequence after the other, asks again for what it holds, and acknowledges now and then."""

    url: str
    consumer: str
    shard: int
    sequence: int = 0
    held: dict[int, list[str]] = field(default_factory=dict)
    # Through which sequence an acknowledgement was asked for, and what it has deleted.
    acking: int | None = None
    deleted: list[str] = field(default_factory=list)

    def work(self, call: Client) -> None:
        if self.acking is not None:
            self._finish_ack(call)
        self._lease_next(call)
        if call.rng.random() < 0.3:
            self.check(call)
        if call.rng.random() < 0.4:
            self.acking = call.rng.choice(sorted(self.held))
            self._finish_ack(call)

    def check(self, call: Client) -> None:
        """All that was answered is answered again."""
        for sequence, bodies in self.held.items():
            assert self._lease(call, sequence, 1) == bodies, (self.consumer, self.shard, sequence)

    def finish(self, call: Client) -> None:
        if self.acking is not None:
            self._finish_ack(call)
        self._lease_next(call)
        self.check(call)

    def _lease_next(self, call: Client) -> None:
        """The sequence is the same until there is an answer."""
        self.held[self.sequence] = self._lease(call, self.sequence, call.rng.randint(1, 60))
        self.sequence += 1

    def _lease(self, call: Client, sequence: int, limit: int) -> list[str]:
        answer = call("Rockdove.LeaseBatch", **self._named(sequence), Max=limit)
        return [message["Body"] for message in answer["Messages"]]

    def _finish_ack(self, call: Client) -> None:
        assert self.acking is not None
        call("Rockdove.AckThrough", **self._named(self.acking))
        for sequence in [sequence for sequence in self.held if sequence <= self.acking]:
            self.deleted += self.held.pop(sequence)
        assert call.ask("Rockdove.LeaseBatch", **self._named(self.acking)).status == 400, "it is over"
        self.acking = None

    def _named(self, sequence: int) -> dict[str, Any]:
        return {"QueueUrl": self.url, "Consumer": self.consumer, "Shard": self.shard, "Sequence": sequence}


def give_back(url: str, call: Client) -> None:
    """A consumer that keeps nothing: what it had, others get."""
    call("Rockdove.LeaseBatch", QueueUrl=url, Consumer="loose", Shard=0, Sequence=0, Max=call.rng.randint(1, 20))
    call("Rockdove.ReleaseConsumer", QueueUrl=url, Consumer="loose", Forget=True)


@dataclass
class World:
    """One queue, and who works on it."""

    url: str
    fifo: bool

    def __post_init__(self) -> None:
        self.writers = [Writer(self.url, application, self.fifo) for application in APPLICATIONS]
        self.writers.append(WholeWriter(self.url, "whole", self.fifo))
        self.readers = [Reader(self.url, consumer, shard) for consumer in CONSUMERS for shard in range(2)]

    def crowd(self) -> Iterator[Work]:
        yield from (writer.work for writer in self.writers)
        yield from (reader.work for reader in self.readers)
        yield partial(give_back, self.url)

    def wrong(self, call: Client) -> list[str]:
        """Finish what is under way, take the rest, and compare."""
        call("Rockdove.ReleaseConsumer", QueueUrl=self.url, Consumer="loose")
        for writer in self.writers:
            writer.work(call)
        for reader in self.readers:
            reader.finish(call)
        found = Counter(body for reader in self.readers for body in reader.deleted)
        assert sum(found.values()) > KILLS, "there was something to lose in every life, on average"
        found.update(body for reader in self.readers for bodies in reader.held.values() for body in bodies)
        for reader in self.readers:
            call("Rockdove.AckThrough", QueueUrl=self.url, Consumer=reader.consumer)
        found.update(_rest(call, self.url))
        sent = Counter(body for writer in self.writers for body in writer.published)
        lost = [f"{body} is lost" for body in sent - found]
        return lost + [f"{body} was never published, or came twice" for body in found - sent]


def _rest(call: Client, url: str) -> Iterator[str]:
    """What nobody has leased so far."""
    sequence = 0
    while True:
        named = {"QueueUrl": url, "Consumer": "last", "Shard": 0, "Sequence": sequence}
        messages = call("Rockdove.LeaseBatch", **named, Max=1_000)["Messages"]
        yield from (message["Body"] for message in messages)
        if not messages:
            return
        call("Rockdove.AckThrough", QueueUrl=url, Consumer="last", Sequence=sequence)
        sequence += 1


def test_kills_neither_lose_nor_double(server: ServerFactory, rng: random.Random) -> None:
    service = server()
    call = Client(service.port, rng)
    ordered = {"FifoQueue": "true"}
    worlds = [
        World(call("CreateQueue", QueueName="plain")["QueueUrl"], False),
        World(call("CreateQueue", QueueName="ordered.fifo", Attributes=ordered)["QueueUrl"], True),
    ]
    call.close()
    for life in range(KILLS):
        if life:
            service.start()
            _check(service.port, worlds, rng)
        crowd = [work for world in worlds for work in world.crowd()]
        assert live(service.port, crowd, rng, rng.uniform(*LIFE_S), service.kill) == []
    service.start()
    call = Client(service.port, rng)
    for world in worlds:
        assert world.wrong(call)[:10] == []
    totals = [call("GetQueueAttributes", QueueUrl=world.url, AttributeNames=["All"])["Attributes"] for world in worlds]
    names = [f"ApproximateNumberOfMessages{rest}" for rest in ("", "NotVisible", "Delayed")]
    assert [total[name] for total in totals for name in names] == ["0"] * 6
    call.close()
    assert service.stop() == 0


def _check(port: int, worlds: list[World], rng: random.Random) -> None:
    """After a restart everybody still has what was answered, unless it may have been acknowledged."""
    call = Client(port, rng)
    for world in worlds:
        for reader in world.readers:
            if reader.acking is None:
                reader.check(call)
    call.close()
