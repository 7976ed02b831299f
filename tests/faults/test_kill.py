"""kill -9 under load, again and again on one folder: what was answered stays, whatever moment it was."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from tests.support.crowd import Client, Work, live
from tests.support.ledger import Ledger, Order
from tests.support.server import ServerFactory

KILLS = 50
GROUPS = 3
VISIBILITY_S = 2
# In the end nothing may come twice, however slow the machine is.
DRAIN_S = 600
# Moments of the kill, in seconds after the service is ready.
LIFE_S = (0.05, 0.9)


@dataclass
class World:
    """Both queues, and what clients know of them."""

    standard: str = ""
    fifo: str = ""
    plain: Ledger = field(default_factory=Ledger)
    ordered: Ledger = field(default_factory=Ledger)
    orders: dict[str, Order] = field(default_factory=lambda: {f"g{n}": Order() for n in range(GROUPS)})
    # Numbers go on over all lives.
    next: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def number(self, name: str) -> int:
        self.next[name] = self.next.get(name, 0) + 1
        return self.next[name]


def send_batches(world: World, name: str) -> Work:
    def work(call: Client) -> None:
        bodies = [f"{name}-{world.number(name)}" for _ in range(call.rng.randint(1, 10))]
        world.plain.try_send(bodies)
        if len(bodies) == 1:
            call("SendMessage", QueueUrl=world.standard, MessageBody=bodies[0])
        else:
            entries = [{"Id": str(at), "MessageBody": body} for at, body in enumerate(bodies)]
            answer = call("SendMessageBatch", QueueUrl=world.standard, Entries=entries)
            assert len(answer["Successful"]) == len(bodies), answer
        world.plain.was_sent(bodies)

    return work


def consume(world: World, call: Client) -> None:
    gone = world.plain.gone()
    answer = call("ReceiveMessage", QueueUrl=world.standard, MaxNumberOfMessages=call.rng.randint(1, 10))
    messages = answer.get("Messages", [])
    bodies = [message["Body"] for message in messages]
    world.plain.got(bodies, gone)
    if not messages:
        return
    handles = [{"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]} for at, message in enumerate(messages)]
    chance = call.rng.random()
    if chance < 0.6:
        world.plain.try_delete(bodies)
        call("DeleteMessageBatch", QueueUrl=world.standard, Entries=handles)
        world.plain.was_deleted(bodies)
    elif chance < 0.8:
        world.plain.try_delete(bodies[:1])
        call("DeleteMessage", QueueUrl=world.standard, ReceiptHandle=messages[0]["ReceiptHandle"])
        world.plain.was_deleted(bodies[:1])
    else:
        entries = [{**handle, "VisibilityTimeout": call.rng.choice([0, 0, 1])} for handle in handles]
        call("ChangeMessageVisibilityBatch", QueueUrl=world.standard, Entries=entries)


def send_in_order(world: World, group: str) -> Work:
    def work(call: Client) -> None:
        number = world.number(group)
        body = f"{group}-{number}"
        world.ordered.try_send([body])
        call(
            "SendMessage",
            QueueUrl=world.fifo,
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=body,
        )
        world.ordered.was_sent([body])
        world.orders[group].was_sent(number)

    return work


def consume_in_order(world: World, call: Client) -> None:
    gone = world.ordered.gone()
    answer = call("ReceiveMessage", QueueUrl=world.fifo, MaxNumberOfMessages=call.rng.randint(1, 10))
    messages = answer.get("Messages", [])
    bodies = [message["Body"] for message in messages]
    world.ordered.got(bodies, gone)
    judge_order(world, bodies)
    for message in messages:
        group, _, number = message["Body"].partition("-")
        if call.rng.random() < 0.1:
            call(
                "ChangeMessageVisibility",
                QueueUrl=world.fifo,
                ReceiptHandle=message["ReceiptHandle"],
                VisibilityTimeout=call.rng.choice([0, 5]),
            )
            return
        world.ordered.try_delete([message["Body"]])
        world.orders[group].try_delete(int(number))
        if call("DeleteMessage", QueueUrl=world.fifo, ReceiptHandle=message["ReceiptHandle"]) is not None:
            world.ordered.was_deleted([message["Body"]])


def judge_order(world: World, bodies: list[str]) -> None:
    for group, order in world.orders.items():
        numbers = [int(body.partition("-")[2]) for body in bodies if body.startswith(f"{group}-")]
        if numbers:
            world.wrong += [f"{group}: {fault}" for fault in order.judge(numbers)]


def crowd(world: World) -> Iterator[Work]:
    yield send_batches(world, "a")
    yield send_batches(world, "b")
    yield partial(consume, world)
    yield partial(consume, world)
    for number in range(GROUPS):
        yield send_in_order(world, f"g{number}")
    yield partial(consume_in_order, world)


def drain(call: Client, url: str, took: Callable[[list[str]], None]) -> list[str]:
    """Receive and delete until the queue is empty, also of what is in flight."""
    found: list[str] = []
    while True:
        wait = {"WaitTimeSeconds": 1, "VisibilityTimeout": DRAIN_S}
        answer = call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, **wait)
        messages = answer.get("Messages", [])
        if messages:
            took([message["Body"] for message in messages])
            found += [message["Body"] for message in messages]
            entries = [{"Id": str(at), "ReceiptHandle": each["ReceiptHandle"]} for at, each in enumerate(messages)]
            call("DeleteMessageBatch", QueueUrl=url, Entries=entries)
        elif not total(call, url):
            return found


def total(call: Client, url: str) -> int:
    names = ["ApproximateNumberOfMessages" + rest for rest in ("", "NotVisible", "Delayed")]
    answer = call("GetQueueAttributes", QueueUrl=url, AttributeNames=names)
    return sum(int(value) for value in answer["Attributes"].values())


def test_fifty_kills_lose_and_undo_nothing(server: ServerFactory, rng: random.Random) -> None:
    service, world = server(), World()
    call = Client(service.port, rng)
    visibility = {"VisibilityTimeout": str(VISIBILITY_S)}
    world.standard = call("CreateQueue", QueueName="plain", Attributes=visibility)["QueueUrl"]
    fifo = {**visibility, "FifoQueue": "true"}
    world.fifo = call("CreateQueue", QueueName="ordered.fifo", Attributes=fifo)["QueueUrl"]
    call.close()
    for life in range(KILLS):
        if life:
            service.start()
        world.wrong += live(service.port, crowd(world), rng, rng.uniform(*LIFE_S), service.kill)
        assert not world.wrong, json.dumps(world.wrong[:10])
        assert not world.plain.faults + world.ordered.faults, world.plain.faults + world.ordered.faults
    service.start()
    call = Client(service.port, rng)
    counted = total(call, world.standard), total(call, world.fifo)
    plain = drain(call, world.standard, lambda bodies: None)
    ordered = drain(call, world.fifo, lambda bodies: judge_last(world, bodies))
    call.close()
    assert world.plain.judge(plain)[:10] == []
    assert world.ordered.judge(ordered)[:10] == []
    assert world.wrong[:10] == []
    assert counted == (len(plain), len(ordered))
    # There was something to lose in every life, on average.
    assert min(len(world.plain.sent), len(world.plain.deleted), len(world.ordered.deleted)) > KILLS
    assert service.stop() == 0


def judge_last(world: World, bodies: list[str]) -> None:
    judge_order(world, bodies)
    for body in bodies:
        group, _, number = body.partition("-")
        world.orders[group].try_delete(int(number))
