"""A service of several processes, any of which may die: what was answered is kept, and all goes on by itself."""

import json
import os
import random
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.faults.test_kill import VISIBILITY_S, World, crowd, drain, judge_last, total
from tests.support.crowd import Client, Gone, Work
from tests.support.family import children, front_ends_of, kill, owner_of, wait_for_number, wait_until_gone
from tests.support.longpoll import LongPoll
from tests.support.patience import wait_until
from tests.support.port import free_port
from tests.support.process import Process
from tests.support.raw import Reply, Web, Wire
from tests.support.server import COMMAND, Server, ServerFactory

KILLS = 50
FRONT_ENDS = 2
# Moments between two kills, in seconds.
LIFE_S = (0.05, 0.5)
# Whatever the service does by itself, it has done by then on any machine.
PATIENCE_S = 120


class PatientClient(Client):
    """Knows that a service whose store is away says so, and that it comes back."""

    def ask(self, operation: str, **content: object) -> Reply:
        reply = super().ask(operation, **content)
        if reply.status == 503 or (reply.status == 200 and reply.body and reply.json.get("Failed")):
            raise Gone
        return reply


@pytest.fixture
def several(server: ServerFactory) -> Server:
    return server("--workers", str(FRONT_ENDS), "--log-level", "error")


def persist(work: Work, port: int, rng: random.Random, wrong: list[str], stop: threading.Event) -> None:
    """Do it again and again, on a new connection whenever the last one was lost."""
    while not stop.is_set():
        call = PatientClient(port, rng)
        try:
            while not stop.is_set():
                work(call)
        except Gone:
            # Its process was killed, or the store is away for a moment.
            stop.wait(0.05)
        except Exception as error:
            wrong.append(repr(error))
            return
        finally:
            call.close()


def patient(port: int, rng: random.Random, operation: str, **content: object) -> dict[str, str]:
    """Until it succeeds."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        call = PatientClient(port, rng)
        try:
            answer: dict[str, str] = call(operation, **content)
            return answer
        except Gone:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        finally:
            call.close()


def test_fifty_kills_of_a_random_process(several: Server, rng: random.Random) -> None:
    world, port = World(), several.port
    visibility = {"VisibilityTimeout": str(VISIBILITY_S)}
    world.standard = patient(port, rng, "CreateQueue", QueueName="plain", Attributes=visibility)["QueueUrl"]
    fifo = {**visibility, "FifoQueue": "true"}
    world.fifo = patient(port, rng, "CreateQueue", QueueName="ordered.fifo", Attributes=fifo)["QueueUrl"]
    stop = threading.Event()
    threads = [
        threading.Thread(target=persist, args=(work, port, random.Random(rng.random()), world.wrong, stop))
        for work in crowd(world)
    ]
    for thread in threads:
        thread.start()
    killed = {"owner": 0, "front-end": 0}
    try:
        for _ in range(KILLS):
            time.sleep(rng.uniform(*LIFE_S))
            victim = rng.choice(wait_for_number(several, FRONT_ENDS + 1, but=0))
            killed["owner" if victim == owner_of(several) else "front-end"] += 1
            kill(victim)
            wait_for_number(several, FRONT_ENDS + 1, but=victim)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert min(killed.values()) > 5
    assert not world.wrong, json.dumps(world.wrong[:10])
    assert not world.plain.faults + world.ordered.faults, world.plain.faults + world.ordered.faults
    wait_until(lambda: _is_ready(port), "ready again")
    call = Client(port, rng)
    counted = total(call, world.standard), total(call, world.fifo)
    plain = drain(call, world.standard, lambda bodies: None)
    ordered = drain(call, world.fifo, lambda bodies: judge_last(world, bodies))
    call.close()
    assert world.plain.judge(plain)[:10] == []
    assert world.ordered.judge(ordered)[:10] == []
    assert world.wrong[:10] == []
    assert counted == (len(plain), len(ordered))
    assert min(len(world.plain.sent), len(world.plain.deleted), len(world.ordered.deleted)) > KILLS
    assert several.stop() == 0


def _is_ready(port: int) -> bool:
    web = Web(port)
    try:
        return web.request("GET", "/ready").status == 200
    except OSError:
        return False
    finally:
        web.close()


def webs_of_each(service: Server, urls: int = 12) -> list[Web]:
    """Connections that certainly go to all front-ends: they take turns."""
    webs = [Web(service.port) for _ in range(urls)]
    for web in webs:
        assert web.request("GET", "/health").status == 200
    return webs


def test_the_owner_dies_and_connections_stay(several: Server) -> None:
    web = Web(several.port)
    url = web.create("q")
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "kept"}).status == 200
    before, front_ends = owner_of(several), front_ends_of(several)
    # Stopped before it is killed: until then its place is not free, and nobody answers for it.
    os.kill(before, signal.SIGSTOP)
    kill(before)
    statuses = set()
    deadline = time.monotonic() + PATIENCE_S
    while 200 not in statuses or owner_of(several) in (0, before):
        reply = web.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]})
        statuses.add(reply.status)
        assert time.monotonic() < deadline
    assert statuses <= {200, 503}
    # On the same connection, and in the same processes, all goes on.
    messages = web.call("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 5}).json["Messages"]
    assert [message["Body"] for message in messages] == ["kept"]
    assert front_ends_of(several) == front_ends
    web.close()


@pytest.mark.parametrize("policy", ["wake", "rds"])
def test_who_waits_gets_a_message_that_came_after_the_owner_died(
    several: Server, rng: random.Random, policy: str
) -> None:
    web = Web(several.port)
    url = web.create("q", RockdoveDequeuePolicy=policy, RockdoveRetrySleepMs="20")
    polls = [LongPoll(several.port, url) for _ in range(6)]
    before = owner_of(several)
    kill(before)
    wait_until(lambda: owner_of(several) not in (0, before), "another owner")
    for number in range(6):
        patient(several.port, rng, "SendMessage", QueueUrl=url, MessageBody=str(number))
    assert sorted(body for poll in polls for body in poll.bodies()) == [str(number) for number in range(6)]
    web.close()


def test_a_front_end_dies_and_the_others_go_on(several: Server) -> None:
    webs = webs_of_each(several)
    victim = front_ends_of(several)[0]
    kill(victim)
    wait_until_gone([victim])
    alive = 0
    for web in webs:
        try:
            alive += web.request("GET", "/health").status == 200
        except OSError:
            web.close()
    assert 0 < alive < len(webs)
    wait_for_number(several, FRONT_ENDS + 1, but=victim)
    for web in webs:
        web.close()
    for web in webs_of_each(several):
        web.close()
    assert "front-end" in several.process.err.read_text()


def _answer_to_a_bad_key(web: Web) -> str:
    credential = f"{'RDAK' + 'X' * 16}/{time.strftime('%Y%m%d', time.gmtime())}/us-east-1/sqs/aws4_request"
    signature = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    reply = web.call("ListQueues", {}, {"Authorization": signature, "X-Amz-Date": date})
    return str(reply.json["__type"]).partition("#")[2]


def test_a_front_end_that_follows_another_knows_whom_to_refuse(several: Server) -> None:
    web = Web(several.port)
    assert web.call("Rockdove.AddAccount", {"AccountName": "boss"}).status == 200
    wait_until(lambda: _answer_to_a_bad_key(web) == "RequestThrottled", "a client that was refused too often")
    web.close()
    before = front_ends_of(several)
    for victim in before:
        kill(victim)
    wait_until_gone(before)
    wait_for_number(several, FRONT_ENDS + 1, but=before[0])
    wait_until(lambda: _is_ready(several.port), "a service")
    webs = webs_of_each(several)
    assert {_answer_to_a_bad_key(web) for web in webs} == {"RequestThrottled"}
    for web in webs:
        web.close()


def test_a_memory_store_that_is_lost_is_told(server: ServerFactory) -> None:
    service = server("--workers", "1", "--log-level", "error", store="memory")
    web = Web(service.port)
    web.create("q")
    owner = children(service.process.pid)[0]
    kill(owner)
    wait_for_number(service, 2, but=owner)
    wait_until(lambda: "the memory store is empty now" in service.process.err.read_text(), "the line in the log")
    wait_until(lambda: web.call("GetQueueUrl", {"QueueName": "q"}).status == 400, "an empty store")
    web.close()


def test_accounts_that_are_lost_with_the_memory_store_are_lost_for_all(server: ServerFactory) -> None:
    service = server("--workers", "2", "--log-level", "error", store="memory")
    web = Web(service.port)
    assert web.call("Rockdove.AddAccount", {"AccountName": "boss"}).status == 200
    assert web.call("ListQueues", {}).status == 403
    web.close()
    before = children(service.process.pid)
    kill(before[0])
    # No front-end goes on with accounts that others do not have.
    wait_until(lambda: not set(before) & set(children(service.process.pid)), "other processes")
    wait_until(lambda: _is_ready(service.port), "a service")
    webs = webs_of_each(service)
    assert {web.call("ListQueues", {}).status for web in webs} == {200}
    for web in webs:
        web.close()


def _begin(folder: Path) -> Process:
    """A service that starts."""
    data = str(folder / "data")
    command = [*COMMAND, "serve", "--port", str(free_port()), "--data", data, "--workers", "2"]
    return Process(command, folder, "starting")


def test_the_owner_dies_while_the_service_starts(tmp_path: Path) -> None:
    process = _begin(tmp_path)
    wait_until(lambda: len(children(process.pid)) > 1, "a front-end")
    kill(children(process.pid)[0])
    # Either it had started already, and goes on, or it says why it has not.
    wait_until(lambda: process.exit_code is not None or "ready" in process.out.read_text(), "an end of the start")
    if process.exit_code is None:
        assert process.stop() == 0
    else:
        assert process.exit_code == 1
        assert "the owner has died while the service started" in process.err.read_text()


def test_a_service_that_starts_can_be_stopped(tmp_path: Path) -> None:
    process = _begin(tmp_path)
    wait_until(lambda: len(children(process.pid)) > 0, "an owner")
    (owner, *_) = children(process.pid)
    os.kill(owner, signal.SIGSTOP)
    assert process.stop() == 0
    wait_until_gone([owner])


def test_the_parent_dies_and_nobody_stays_behind(several: Server) -> None:
    there = children(several.process.pid)
    assert len(there) == FRONT_ENDS + 1
    several.kill()
    wait_until_gone(there)
    several.start()
    assert _is_ready(several.port)


def test_what_one_front_end_makes_the_others_know(several: Server) -> None:
    webs = webs_of_each(several)
    for number, maker in enumerate(webs):
        url = maker.create(f"made-{number}")
        for other in webs:
            assert other.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}).status == 200
        assert maker.call("DeleteQueue", {"QueueUrl": url}).status == 200
    for web in webs:
        web.close()


def test_a_limit_is_the_whole_services(server: ServerFactory) -> None:
    service = server("--workers", str(FRONT_ENDS), "--max-connections", "12", "--max-connections-per-address", "0")
    wires = [Wire(service.port) for _ in range(30)]
    wait_until(lambda: sum(map(_is_refused, wires)) >= 30 - 12, "refusals")
    # Time for more, which must not come.
    time.sleep(0.2)
    assert sum(map(_is_refused, wires)) == 30 - 12
    for wire in wires:
        wire.close()


def _is_refused(wire: Wire) -> bool:
    try:
        wire.socket.setblocking(False)
        return wire.socket.recv(16, socket.MSG_PEEK).startswith(b"HTTP/1.1 503")
    except BlockingIOError:
        return False


def test_metrics_are_one_sum_that_does_not_fall_with_a_front_end(several: Server) -> None:
    webs = webs_of_each(several)
    url = webs[0].create("counted")
    for web in webs:
        assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}).status == 200
    sums = [_sent(web) for web in webs]
    assert sums == [float(len(webs))] * len(webs)
    for web in webs:
        web.close()
    victim = front_ends_of(several)[0]
    kill(victim)
    wait_for_number(several, FRONT_ENDS + 1, but=victim)
    wait_until(lambda: _is_ready(several.port), "ready")
    web = Web(several.port)
    assert _sent(web) == len(webs)
    web.close()


def _sent(web: Web) -> float:
    text = web.request("GET", "/metrics").text
    (line,) = [line for line in text.splitlines() if line.startswith('rockdove_events_total{event="sent"')]
    return float(line.split()[-1])
