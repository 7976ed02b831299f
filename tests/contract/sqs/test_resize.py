"""The number of physical queues, changed while a queue is used: nothing is lost, doubled, stranded or out of order."""

import threading
import time
from collections import defaultdict
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.contract.sqs.conftest import QueueMaker
from tests.contract.sqs.test_physical import change, described, numbers
from tests.support.longpoll import LongPoll
from tests.support.raw import Web
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue

GROUPS = [f"group-{number}" for number in range(8)]


def resize(queue: SqsQueue, number: int) -> None:
    queue.set(RockdovePhysicalQueues=str(number))
    assert queue.attributes("RockdovePhysicalQueues") == {"RockdovePhysicalQueues": str(number)}


def states(web: Web, queue: SqsQueue) -> list[str]:
    return [part["State"] for part in described(web, queue.url)]


def drain(queue: SqsQueue) -> list[str]:
    """Receive and delete all there is."""
    found: list[str] = []
    while messages := queue.receive():
        for message in messages:
            found.append(message["Body"])
            queue.delete(message)
    return found


def test_more_take_their_share(web: Web, make_json: QueueMaker) -> None:
    queue = make_json()
    queue.send_all(*"ab")
    resize(queue, 4)
    queue.send_all(*"cdefghij")
    assert numbers(web, queue.url) == [4, 2, 2, 2]
    assert states(web, queue) == ["up"] * 4
    assert sorted(drain(queue)) == list("abcdefghij")


def test_fewer_leave_when_they_are_empty(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="4")
    queue.send_all(*"abcdefgh")
    resize(queue, 2)
    assert states(web, queue) == ["up", "up", "leaving", "leaving"]
    queue.send_all(*"ij")
    assert numbers(web, queue.url) == [3, 3, 2, 2]
    service.let_go()
    assert states(web, queue) == ["up", "up", "leaving", "leaving"]
    assert queue.counts() == (10, 0, 0)
    assert sorted(drain(queue)) == list("abcdefghij")
    service.let_go()
    assert states(web, queue) == ["up", "up"]


def test_what_is_in_flight_or_delayed_stays_until_it_is_done_with(
    service: RunningService, web: Web, make_json: QueueMaker
) -> None:
    queue = make_json(RockdovePhysicalQueues="2", VisibilityTimeout="30")
    queue.send("a")
    queue.send("b", DelaySeconds=60)
    messages = queue.receive()
    resize(queue, 1)
    service.let_go()
    assert len(states(web, queue)) == 2
    service.advance(61)
    # In flight before, visible again now; and what was delayed.
    assert sorted(body for _ in range(3) for body in queue.bodies()) == ["a", "b"]
    # A handle from before is still good.
    for message in messages:
        queue.delete(message)
    assert queue.counts() == (0, 1, 0)
    service.advance(31)
    assert drain(queue) == ["b"]
    service.let_go()
    assert states(web, queue) == ["up"]


def test_those_that_leave_come_back_if_there_are_to_be_more(
    service: RunningService, web: Web, make_json: QueueMaker
) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    change(web, queue.url, 2, Weight=5)
    queue.send_all(*"abcdefg")
    resize(queue, 1)
    resize(queue, 3)
    assert states(web, queue) == ["up"] * 3
    assert [part["Weight"] for part in described(web, queue.url)] == [1, 1, 5]
    service.let_go()
    assert sorted(drain(queue)) == list("abcdefg")


def test_those_that_leave_cannot_be_set(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="2")
    queue.send_all("a", "b")
    resize(queue, 1)
    reply = change(web, queue.url, 1, State="up")
    assert (reply.status, "has the physical queues 0 to 0" in reply.json["message"]) == (400, True)
    assert change(web, queue.url, 0, State="leaving").status == 400


def test_a_purge_leaves_none_that_leaves(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    queue.send_all(*"abc")
    resize(queue, 2)
    queue.sqs.purge_queue(QueueUrl=queue.url)
    assert (states(web, queue), queue.counts()) == (["up", "up"], (0, 0, 0))


@pytest.mark.parametrize("number", ["0", "1001", "x", ""])
def test_what_is_refused(make_json: QueueMaker, number: str) -> None:
    queue = make_json()
    with pytest.raises(ClientError, match="RockdovePhysicalQueues"):
        queue.set(RockdovePhysicalQueues=number)


def test_peek_shows_what_is_in_those_that_leave(web: Web, make_json: QueueMaker) -> None:
    queue = make_json(RockdovePhysicalQueues="3")
    queue.send_all(*"abcdef")
    resize(queue, 2)
    seen: list[str] = []
    for index in range(2):
        token: str | None = ""
        while token is not None:
            asked = {"QueueUrl": queue.url, "PhysicalQueue": index, "Order": "sent"}
            reply = web.call("Rockdove.Peek", {**asked, "NextToken": token} if token else asked)
            assert reply.status == 200, reply
            seen += [message["Body"] for message in reply.json.get("Messages", [])]
            token = reply.json.get("NextToken")
    assert sorted(seen) == list("abcdef")


# FIFO.


def test_a_group_moves_when_none_of_it_is_left(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue = make_json.fifo(RockdovePhysicalQueues="2")
    for group in GROUPS:
        queue.post(group, f"{group} 0", f"{group} 1")
    held = queue.receive()
    resize(queue, 5)
    for group in GROUPS:
        queue.post(group, f"{group} 2")
    # All groups are where they were.
    assert numbers(web, queue.url)[:5] == [0] * 5
    order = defaultdict(list)
    for message in held:
        queue.hide(message, 0)
    for body in drain(queue):
        group, _, number = body.partition(" ")
        order[group].append(number)
    assert order == {group: ["0", "1", "2"] for group in GROUPS}
    for group in GROUPS:
        queue.post(group, f"{group} 3")
    assert sum(numbers(web, queue.url)[:5]) == len(GROUPS)
    service.let_go()
    assert states(web, queue) == ["up"] * 5


def test_what_was_sent_before_a_change_is_a_duplicate_after_it(make_json: QueueMaker) -> None:
    queue = make_json.fifo(ContentBasedDeduplication="false")
    sent = {"MessageGroupId": "g", "MessageDeduplicationId": "once"}
    first = queue.send("a", **sent)
    assert drain(queue) == ["a"]
    resize(queue, 3)
    again = queue.send("a", **sent)
    assert again["MessageId"] == first["MessageId"]
    assert drain(queue) == []


def test_several_changes_one_after_another(service: RunningService, web: Web, make_json: QueueMaker) -> None:
    queue = make_json.fifo()
    for round_, number in enumerate((3, 1, 4, 2)):
        for group in GROUPS:
            queue.post(group, f"{group} {round_}")
        resize(queue, number)
    order = defaultdict(list)
    for body in drain(queue):
        group, _, at = body.partition(" ")
        order[group].append(at)
    assert order == {group: ["0", "1", "2", "3"] for group in GROUPS}
    service.let_go()
    assert states(web, queue) == ["up"] * 2


def test_it_cannot_be_changed_for_ever_while_messages_are_left(make_json: QueueMaker) -> None:
    queue = make_json.fifo()
    held = []
    for at in range(8):
        queue.post(f"group-{at}", f"{at}")
        held += queue.receive()
        resize(queue, 1 + (at + 1) % 2)
    with pytest.raises(ClientError, match="physical queues of this queue are leaving"):
        resize(queue, 2)
    for message in held:
        queue.delete(message)


def test_sequence_numbers_grow_through_a_change(make_json: QueueMaker) -> None:
    queue = make_json.fifo()
    before = queue.send("a", MessageGroupId="g")
    assert drain(queue) == ["a"]
    resize(queue, 4)
    after = queue.send("b", MessageGroupId="g")
    assert int(after["SequenceNumber"]) > int(before["SequenceNumber"])


def test_dead_letters_and_move_tasks_go_where_the_group_is(service: RunningService, make_json: QueueMaker) -> None:
    dead, queue = make_json.fifo(), make_json.fifo(VisibilityTimeout="0")
    dead.post("g", "first")
    resize(dead, 4)
    queue.redrive_to(dead, 1)
    queue.post("g", "second")
    assert queue.bodies() == ["second"]
    service.advance(1)
    assert queue.bodies() == []
    assert drain(dead) == ["first", "second"]


# While others work.


def test_who_waits_is_woken_by_a_physical_queue_that_is_new(live: RunningService, make_live: QueueMaker) -> None:
    queue = make_live()
    poll = LongPoll(live.port, queue.url)
    assert poll.is_waiting()
    resize(queue, 3)
    queue.send("a")
    assert poll.bodies() == ["a"]


@pytest.mark.parametrize("fifo", [False, True])
def test_under_load(live: RunningService, make_live: QueueMaker, fifo: bool) -> None:
    """Senders and receivers go on while the number changes all the time."""
    queue = make_live.fifo(VisibilityTimeout="600") if fifo else make_live(VisibilityTimeout="600")
    sent: dict[str, list[str]] = {}
    received: list[str] = []
    failures: list[BaseException] = []
    over = threading.Event()
    all_sent = threading.Event()

    def send(group: str) -> None:
        mine = SqsQueue(live.client(), queue.url)
        bodies = sent.setdefault(group, [])
        while not over.is_set():
            body = f"{group} {len(bodies)}"
            mine.send(body, **({"MessageGroupId": group} if fifo else {}))
            bodies.append(body)

    def receive() -> None:
        mine = SqsQueue(live.client(), queue.url)
        while True:
            was_all = all_sent.is_set()
            messages = mine.receive(3, WaitTimeSeconds=0 if was_all else 1)
            for message in messages:
                received.append(message["Body"])
                mine.delete(message)
            if was_all and not messages:
                return

    def guarded(work: Any, *arguments: Any) -> threading.Thread:
        def run() -> None:
            try:
                work(*arguments)
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    senders = [guarded(send, group) for group in GROUPS[:3]]
    # One receiver: the order of what two receive at the same time is nobody's to tell.
    receivers = [guarded(receive) for _ in range(1 if fifo else 2)]
    random = Random(5)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        try:
            queue.set(RockdovePhysicalQueues=str(random.randint(1, 5)))
        except ClientError as refused:
            # Too often for messages to leave: the next one comes later.
            if "are leaving" not in str(refused):
                raise
        time.sleep(random.choice([0, 0.05, 0.3]))
    over.set()
    for thread in senders:
        thread.join()
    all_sent.set()
    for thread in receivers:
        thread.join()
    assert not failures
    assert sorted(received) == sorted(body for bodies in sent.values() for body in bodies)
    if fifo:
        for group, bodies in sent.items():
            assert [body for body in received if body.startswith(group + " ")] == bodies


def test_a_restart_goes_on_with_what_leaves(services: Services) -> None:
    service = services("sqlite")
    url = service.client().create_queue(QueueName="q", Attributes={"RockdovePhysicalQueues": "3"})["QueueUrl"]
    queue = SqsQueue(service.client(), url)
    queue.send_all(*"abcdef")
    resize(queue, 1)
    service.restart()
    queue = SqsQueue(service.client(), f"{service.endpoint}/000000000000/q")
    web = Web(service.port)
    assert states(web, queue) == ["up", "leaving", "leaving"]
    assert sorted(drain(queue)) == list("abcdef")
    service.let_go()
    assert states(web, queue) == ["up"]
    web.close()
