"""The clients: each does what its queue is for, over and over, and records every call."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, cast

from bench.error import BenchError
from bench.history.call import Call, Got, History, Outcome
from rockdove.client import Client, Unreachable
from rockdove.client.error import UnexpectedAnswer
from rockdove.core.errors import Fault, ServiceUnavailable, Throttling
from rockdove.core.publication import Winner
from rockdove.wire.shape import Message

# Seconds for which a receive hides its messages: short, so that many come back.
TIMEOUTS_S = (1, 2, 4)
MAX_RECEIVES = 2
# Messages of a FIFO group: then its sender begins another, so that some are free whatever happens to the clock.
GROUP = 25
# How long the service may need until it answers again, and to give back what is in flight.
HEAL_S = 60.0
# The longest that anything is hidden.
_SETTLE_S = max(TIMEOUTS_S) + 1.5

STANDARD, FAST, FAIR, FIFO, FAILING, DEAD, LEASED, PUBLISHED, PURGED = (
    "standard",
    "fast",
    "fair",
    "fifo.fifo",
    "failing",
    "dead",
    "leased",
    "published",
    "purged",
)
QUEUES = (STANDARD, FAST, FAIR, FIFO, FAILING, DEAD, LEASED, PUBLISHED, PURGED)


class Recorder:
    """Calls, of all threads."""

    def __init__(self) -> None:
        self.history = History(fifo={FIFO}, renaming={FAILING, DEAD}, max_receives={FAILING: MAX_RECEIVES})
        self._bodies = count()

    def body(self, queue: str) -> str:
        return f"{queue}/{next(self._bodies)}"

    @contextlib.contextmanager
    def call(self, op: str, queue: str, **fields: object) -> Iterator[Call]:
        """Records what is done inside; ``outcome`` is what the error, or its absence, says."""
        made = Call(op, queue, time.monotonic(), 0.0, Outcome.DONE, **fields)  # type: ignore[arg-type]
        try:
            yield made
        except (ServiceUnavailable, Throttling) as fault:
            # By their definition nothing has been done.
            made.outcome, made.error = Outcome.REFUSED, repr(fault)
        except Fault as fault:
            made.outcome = Outcome.UNKNOWN if fault.status >= 500 else Outcome.REFUSED
            made.error = repr(fault)
        except (Unreachable, UnexpectedAnswer) as error:
            made.outcome, made.error = Outcome.UNKNOWN, repr(error)
        made.end_s = time.monotonic()
        self.history.calls.append(made)


def gotten(messages: Sequence[Message]) -> list[Got]:
    return [Got(message.body, message.message_id) for message in messages]


class _AnyOf:
    """Clients of several services as one: each call asks another."""

    def __init__(self, clients: Sequence[Client], rng: random.Random) -> None:
        self._clients = clients
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng.choice(self._clients), name)


@contextlib.contextmanager
def _any_of(endpoints: Sequence[str], rng: random.Random) -> Iterator[Client]:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(endpoint, retry=None, timeout_s=10)) for endpoint in endpoints]
        yield cast(Client, _AnyOf(clients, rng))


class Clients:
    """Threads, each with clients that ask once only."""

    def __init__(self, endpoints: Sequence[str], seed: int, recorder: Recorder) -> None:
        self._endpoints = endpoints
        self._seed = seed
        self._recorder = recorder
        self._over = threading.Event()
        self._errors: list[BaseException] = []
        # Of the next lease; there is one consumer.
        self._sequence = 0
        roles: list[Callable[[Client, random.Random], None]] = [
            *[self._send(STANDARD)] * 2,
            *[self._consume(STANDARD)] * 2,
            self._send(FAST),
            *[self._consume(FAST)] * 2,
            *[self._send_fair] * 2,
            *[self._consume(FAIR)] * 2,
            *[self._send_fifo(f"sender-{number}") for number in range(3)],
            *[self._consume(FIFO)] * 3,
            self._send(FAILING),
            self._fail,
            self._redrive,
            self._send(LEASED),
            self._lease,
            self._publish,
            self._publish_whole,
            self._send(PURGED),
            self._consume(PURGED),
            self._purge,
            self._resize,
        ]
        self._threads = [
            threading.Thread(target=self._run, args=(number, role), name=f"client-{number}")
            for number, role in enumerate(roles)
        ]

    def make_queues(self, attributes: dict[str, str]) -> None:
        """With these attributes, but for the one that takes what the store does by default."""
        with Client(self._endpoints[0]) as client:
            for name in QUEUES:
                own = {"FifoQueue": "true"} if name == FIFO else {} if name == FAST else attributes
                client.create_queue(name, attributes=own)
            arn = client.attributes(DEAD, ["QueueArn"])["QueueArn"]
            policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVES})
            client.set_attributes(FAILING, {"RedrivePolicy": policy})

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _run(self, number: int, role: Callable[[Client, random.Random], None]) -> None:
        rng = random.Random(f"{self._seed} {number}")
        try:
            with _any_of(self._endpoints, rng) as client:
                while not self._over.is_set():
                    before = len(self._recorder.history.calls)
                    role(client, rng)
                    # The service that is away is not asked thousands of times a second.
                    calls = self._recorder.history.calls[before:]
                    troubled = any(call.outcome is not Outcome.DONE for call in calls)
                    self._over.wait(rng.uniform(0.05, 0.2) if troubled else rng.uniform(0, 0.01))
        except BaseException as error:
            self._errors.append(error)

    # Roles.

    def _send(self, queue: str) -> Callable[[Client, random.Random], None]:
        def send(client: Client, rng: random.Random) -> None:
            bodies = [self._recorder.body(queue) for _ in range(rng.choice([1, 1, 1, 5]))]
            if len(bodies) == 1:
                with self._recorder.call("send", queue, bodies=bodies):
                    client.send(queue, bodies[0])
                return
            failed: list[str] = []
            with self._recorder.call("send", queue, bodies=bodies) as call:
                answer = client.send_batch(queue, bodies)
                call.bodies = [bodies[int(entry.id)] for entry in answer.successful]
                failed = [bodies[int(entry.id)] for entry in answer.failed]
            if call.outcome is Outcome.DONE and failed:
                now_s = time.monotonic()
                self._recorder.history.calls.append(Call("send", queue, call.begin_s, now_s, Outcome.UNKNOWN, failed))
            self._over.wait(0.05)

        return send

    def _send_fair(self, client: Client, rng: random.Random) -> None:
        body = self._recorder.body(FAIR)
        with self._recorder.call("send", FAIR, bodies=[body], group=(group := rng.choice("aaab"))):
            client.send(FAIR, body, group_id=group)

    def _send_fifo(self, sender: str) -> Callable[[Client, random.Random], None]:
        sent = count()

        def send(client: Client, rng: random.Random) -> None:
            body, group = self._recorder.body(FIFO), f"{sender}-{next(sent) // GROUP}"
            while not self._over.is_set():
                # Again until it is acknowledged, and at times once more: it is stored once.
                with self._recorder.call("send", FIFO, bodies=[body], group=group) as call:
                    client.send(FIFO, body, group_id=group, deduplication_id=body.replace("/", "-"))
                if call.outcome is Outcome.DONE and rng.random() > 0.1:
                    return
                self._over.wait(0.02 if call.outcome is Outcome.DONE else 0.2)

        return send

    def _consume(self, queue: str) -> Callable[[Client, random.Random], None]:
        def consume(client: Client, rng: random.Random) -> None:
            timeout_s = rng.choice(TIMEOUTS_S)
            messages: list[Message] = []
            with self._recorder.call("receive", queue, timeout_s=timeout_s) as call:
                limit, wait_s = rng.choice([1, 3, 10]), rng.choice([0, 1])
                messages = client.receive(queue, limit=limit, wait_s=wait_s, visibility_s=timeout_s)
                call.got = gotten(messages)
            for message in messages:
                self._finish(client, rng, queue, message)

        return consume

    def _finish(self, client: Client, rng: random.Random, queue: str, message: Message) -> None:
        fate = rng.random()
        if fate < 0.7:
            with self._recorder.call("delete", queue, bodies=[message.body]):
                client.delete(queue, message.receipt_handle)
        elif fate < 0.8:
            timeout_s = rng.choice([0, 0, 3])
            with self._recorder.call("hide", queue, bodies=[message.body], timeout_s=timeout_s):
                client.change_visibility(queue, message.receipt_handle, timeout_s)
        # Else it is forgotten, and comes back.

    def _fail(self, client: Client, rng: random.Random) -> None:
        """Every other message always fails."""
        messages: list[Message] = []
        with self._recorder.call("receive", FAILING, timeout_s=1) as call:
            messages = client.receive(FAILING, limit=10, wait_s=1, visibility_s=1)
            call.got = gotten(messages)
        for message in messages:
            if int(message.body.rpartition("/")[2]) % 2:
                with self._recorder.call("delete", FAILING, bodies=[message.body]):
                    client.delete(FAILING, message.receipt_handle)

    def _redrive(self, client: Client, rng: random.Random) -> None:
        self._over.wait(rng.uniform(2, 6))
        with self._recorder.call("move", DEAD):
            client.start_move(DEAD)

    def _lease(self, client: Client, rng: random.Random) -> None:
        """The leases of one consumer, one after another, each asked for until it is answered, and at times again."""
        sequence = self._sequence
        with self._recorder.call("lease", LEASED, sequence=sequence) as call:
            given = client.lease_batch(LEASED, "reader", 0, sequence, limit=20, wait_s=1)
            call.got = [Got(message.body, message.message_id) for message in given.messages]
        if call.outcome is not Outcome.DONE or rng.random() < 0.2:
            return
        with self._recorder.call("ack", LEASED, sequence=sequence) as ack:
            client.ack_through(LEASED, "reader", sequence, shard=0)
        # Also if nobody knows: a lease that has ended cannot be asked for again.
        if ack.outcome is not Outcome.REFUSED:
            self._sequence = sequence + 1

    def _publish(self, client: Client, rng: random.Random) -> None:
        """One batch: attempts under names of their own until one is told that it is published, or another was."""
        bodies = [self._recorder.body(PUBLISHED) for _ in range(10)]
        batch = int(bodies[0].rpartition("/")[2])
        while not self._over.is_set():
            with self._recorder.call("publish", PUBLISHED, bodies=bodies, batch=batch) as call:
                client.publish_once(PUBLISHED, "history", batch, 0, f"{rng.random()}", bodies)
            if call.outcome is Outcome.DONE and rng.random() > 0.2:
                break
            self._over.wait(0.1)
        self._over.wait(rng.uniform(0.1, 0.5))

    def _publish_whole(self, client: Client, rng: random.Random) -> None:
        """The same batch, staged in other pieces each time, until it is published."""
        bodies = [self._recorder.body(PUBLISHED) for _ in range(rng.choice([1, 50, 900]))]
        batch = int(bodies[0].rpartition("/")[2])
        while not self._over.is_set():
            with self._recorder.call("publish", PUBLISHED, bodies=bodies, batch=batch) as call:
                run, cut = f"{rng.random()}", rng.randint(1, 4)
                for part in range(cut):
                    client.stage_batch(PUBLISHED, "whole", batch, f"{run}/{part}", bodies[part::cut])
                client.publish_batch(
                    PUBLISHED, "whole", batch, [Winner(f"{run}/{part}", 1, part) for part in range(cut)]
                )
            if call.outcome is Outcome.DONE and rng.random() > 0.2:
                break
            self._over.wait(0.1)
        self._over.wait(rng.uniform(0.1, 0.5))

    def _purge(self, client: Client, rng: random.Random) -> None:
        self._over.wait(rng.uniform(1, 4))
        with self._recorder.call("purge", PURGED):
            client.purge(PURGED)

    def _resize(self, client: Client, rng: random.Random) -> None:
        """Any queue gets more physical queues, or fewer, whatever it is used for."""
        queue = rng.choice([*QUEUES, FIFO, FIFO])
        with self._recorder.call("resize", queue):
            client.set_attributes(queue, {"RockdovePhysicalQueues": str(rng.randint(1, 6))})
        self._over.wait(rng.uniform(0.05, 1))


def drain(endpoints: Sequence[str], recorder: Recorder) -> None:
    """When all is quiet: what each queue says that it holds, by the last service, and by the first what it does."""
    with Client(endpoints[0]) as client, Client(endpoints[-1]) as last:
        _heal(client, recorder)
        for queue in QUEUES:
            with contextlib.suppress(Fault):
                client.release_consumer(queue, "reader", forget=True)
        _wait_for_tasks(client)
        # Else a drain would send dead letters away that were counted where they are.
        client.set_attributes(FAILING, {"RedrivePolicy": ""})
        time.sleep(_SETTLE_S)
        for queue in QUEUES:
            recorder.history.counts[queue] = _count(last, queue)
        for queue in QUEUES:
            _empty(client, queue, recorder)


def _empty(client: Client, queue: str, recorder: Recorder) -> None:
    """An empty answer is not yet the end: a server of the store may have been silent for a moment."""
    end_s = time.monotonic() + HEAL_S
    while True:
        while messages := _take(client, queue, recorder):
            _delete(client, queue, [message.receipt_handle for message in messages])
            end_s = time.monotonic() + HEAL_S
        left = _count(client, queue)
        if not left:
            return
        if time.monotonic() > end_s:
            places = "\n".join(map(str, client.physical_queues(queue)))
            raise BenchError(f"{queue} still holds {left} messages that nobody gets\n{places}")
        time.sleep(0.2)


def _take(client: Client, queue: str, recorder: Recorder) -> list[Message]:
    """What a receive has hidden whose answer was lost comes back while there is time for it."""
    messages: list[Message] = []
    with recorder.call("drain", queue) as call:
        messages = client.receive(queue, limit=10, wait_s=0, visibility_s=int(HEAL_S / 3))
        call.got = gotten(messages)
    return messages


def _delete(client: Client, queue: str, handles: list[str]) -> None:
    end_s = time.monotonic() + HEAL_S / 4
    while failed := client.delete_batch(queue, handles).failed:
        if time.monotonic() > end_s:
            raise BenchError(f"{len(failed)} messages of {queue} cannot be deleted: {failed[0].message}")
        handles = [handles[int(entry.id)] for entry in failed]
        time.sleep(0.2)


def _count(client: Client, queue: str) -> int:
    """Counts leave out what cannot be reached: so this waits until all can."""
    end_s = time.monotonic() + HEAL_S
    while time.monotonic() < end_s:
        if _is_reached(client, queue):
            found = client.attributes(queue)
            if _is_reached(client, queue):
                return sum(
                    int(value) for name, value in found.items() if name.startswith("ApproximateNumberOfMessages")
                )
        time.sleep(0.2)
    raise BenchError(f"a physical queue of {queue} cannot be reached")


def _is_reached(client: Client, queue: str) -> bool:
    return all(physical.reachable for physical in client.physical_queues(queue))


def _heal(client: Client, recorder: Recorder) -> None:
    end_s = time.monotonic() + HEAL_S
    while True:
        with recorder.call("send", STANDARD, bodies=[recorder.body(STANDARD)]) as call:
            client.send(STANDARD, call.bodies[0])
        if call.outcome is Outcome.DONE:
            return
        if time.monotonic() > end_s:
            raise BenchError("the service takes no messages any more")
        time.sleep(0.2)


def _wait_for_tasks(client: Client) -> None:
    end_s = time.monotonic() + HEAL_S
    while any(task.status == "RUNNING" for task in client.move_tasks(DEAD)):
        if time.monotonic() > end_s:
            raise BenchError("a move task does not end")
        time.sleep(0.2)
