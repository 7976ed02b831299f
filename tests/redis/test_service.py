"""The service on several Redis servers: any number of front-ends, and servers that die, hang and come back."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.raw import Web
from tests.support.redis import RedisServer, RedisServers
from tests.support.server import Server, ServerFactory

# What has not come after so long never will.
PATIENCE_S = 60


def create(sqs: Any, physical: int, name: str = "jobs") -> str:
    """A queue of so many physical ones. boto3 does not know the attribute, and sends it all the same."""
    url: str = sqs.create_queue(QueueName=name, Attributes={"RockdovePhysicalQueues": str(physical)})["QueueUrl"]
    return url


def take_all(sqs: Any, url: str, wanted: set[str]) -> set[str]:
    """Receive and delete until all that is wanted was there, or nothing comes."""
    got: set[str] = set()
    deadline = time.monotonic() + PATIENCE_S
    while not wanted <= got and time.monotonic() < deadline:
        found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        for message in found:
            got.add(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        if not found and not wanted:
            break
    return got


def drain(sqs: Any, url: str) -> set[str]:
    """All that can be had now."""
    got: set[str] = set()
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for message in found:
            got.add(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return got


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_told(service: Server, text: str) -> bool:
    return text in service.process.err.read_text()


def wait_for_loss(service: Server, victim: RedisServer) -> None:
    """Until the service knows that it is gone. What is under way then has an unknown outcome."""
    until(lambda: f"{victim.endpoint} cannot be used" in service.process.err.read_text())


@pytest.fixture(params=["0", "1"], ids=["alone", "front-end"])
def one(request: pytest.FixtureRequest, server: ServerFactory, servers: RedisServers) -> Server:
    return server("--workers", request.param, store=servers.url)


def test_services_share_queues_and_wake_each_other(one: Server, server: ServerFactory, servers: RedisServers) -> None:
    other = server("--workers", "1", store=servers.url)
    here, there = one.client(), other.client()
    url = create(here, 5)
    assert there.get_queue_url(QueueName="jobs")["QueueUrl"].endswith("/jobs")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(there.receive_message, QueueUrl=url, WaitTimeSeconds=20)
        time.sleep(0.5)
        began_s = time.monotonic()
        here.send_message(QueueUrl=url, MessageBody="wake up")
        assert [message["Body"] for message in waiting.result()["Messages"]] == ["wake up"]
        # Not at the end of its wait.
        assert time.monotonic() - began_s < 15
    here.delete_queue(QueueUrl=url)
    with pytest.raises(ClientError, match="does not exist"):
        there.send_message(QueueUrl=url, MessageBody="late")


def test_a_service_that_is_started_again_finds_everything(one: Server) -> None:
    sqs = one.client()
    url = create(sqs, 4)
    sent = {str(number) for number in range(40)}
    for body in sent:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    handle = sqs.receive_message(QueueUrl=url, VisibilityTimeout=600)["Messages"][0]
    one.kill()
    one.start()
    sqs = one.client()
    sqs.delete_message(QueueUrl=url, ReceiptHandle=handle["ReceiptHandle"])
    assert take_all(sqs, url, sent - {handle["Body"]}) == sent - {handle["Body"]}


@pytest.mark.parametrize("way", ["dies", "hangs"])
def test_a_server_that_is_gone_is_routed_around(one: Server, servers: RedisServers, way: str) -> None:
    sqs = one.client()
    url = create(sqs, 6)
    before = {f"before {number}" for number in range(60)}
    for body in before:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    victim = servers.all[1]
    victim.kill() if way == "dies" else victim.pause()
    wait_for_loss(one, victim)
    after = {f"after {number}" for number in range(60)}
    for body in after:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    rest = drain(sqs, url)
    # A third was on the server that has gone.
    assert after <= rest
    assert len(before & rest) == 40
    come_back(victim, way)
    assert take_all(sqs, url, before - rest) == before - rest


def come_back(victim: RedisServer, way: str) -> None:
    if way == "dies":
        victim.begin()
    else:
        victim.go_on()
    victim.wait()


def test_a_queue_that_is_whole_on_a_server_that_has_gone_comes_back(one: Server, servers: RedisServers) -> None:
    sqs = one.client()
    urls = [create(sqs, 1, f"queue-{number}") for number in range(12)]
    for url in urls:
        sqs.send_message(QueueUrl=url, MessageBody="kept")
    servers.all[0].kill()
    wait_for_loss(one, servers.all[0])

    def is_there(url: str) -> bool:
        try:
            return bool(sqs.receive_message(QueueUrl=url, VisibilityTimeout=0).get("Messages"))
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 503:
                raise
            return False

    there = [is_there(url) for url in urls]
    assert any(there)
    assert not all(there)
    come_back(servers.all[0], "dies")
    until(lambda: all(is_there(url) for url in urls))


def status_of_send(sqs: Any, url: str) -> int:
    try:
        answer = sqs.send_message(QueueUrl=url, MessageBody="x")
    except ClientError as error:
        answer = error.response
    status: int = answer["ResponseMetadata"]["HTTPStatusCode"]
    return status


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_records_survive_the_loss_of_any_one_server(server: ServerFactory, servers: RedisServers, victim: int) -> None:
    service = server("--workers", "0", store=servers.url)
    # Each is on a server by chance: with fifty, each server has some.
    names = {f"queue-{number}" for number in range(50)}
    for name in names:
        create(service.client(), 1, name)
    service.stop()
    servers.all[victim].kill()
    service.start()
    sqs = service.client()
    assert {url.rpartition("/")[2] for url in sqs.list_queues()["QueueUrls"]} == names
    # Of queues on the one that was never reached nobody says that they do not exist.
    outcomes: set[int] = set()
    for name in names:
        outcomes.add(status_of_send(sqs, sqs.get_queue_url(QueueName=name)["QueueUrl"]))
        if outcomes == {200, 503}:
            break
    assert outcomes == {200, 503}
    # Two of three are enough to change records, too.
    create(sqs, 2, "one-more")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName="queue-3")["QueueUrl"])
    come_back(servers.all[victim], "dies")
    # The one that was away hears of it: now it is needed.
    versions = [each.say("GET", "rd:version") for each in servers.all]
    newest = max(cast(bytes, version) for version in versions)
    until(lambda: servers.all[victim].say("GET", "rd:version") == newest)
    servers.all[(victim + 1) % 3].kill()
    service.stop()
    service.start()
    found = {url.rpartition("/")[2] for url in service.client().list_queues()["QueueUrls"]}
    assert found == names - {"queue-3"} | {"one-more"}


def test_without_most_servers_messages_go_on_and_records_do_not(one: Server, servers: RedisServers) -> None:
    sqs = one.client()
    url = create(sqs, 6)
    for victim in (servers.all[0], servers.all[2]):
        victim.kill()
        wait_for_loss(one, victim)
    sqs.send_message(QueueUrl=url, MessageBody="still")
    assert drain(sqs, url) == {"still"}
    with pytest.raises(ClientError, match="cannot be changed while most of the store's servers are away") as caught:
        create(sqs, 1, "new")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503


def test_dead_letters_go_to_another_server(one: Server) -> None:
    sqs = one.client()
    dead = create(sqs, 5, "dead")
    url = create(sqs, 5)
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": 1}}'
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
    sent = {str(number) for number in range(30)}
    for body in sent:
        sqs.send_message(QueueUrl=url, MessageBody=body)

    def are_dead() -> bool:
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        counted = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])
        return int(counted["Attributes"]["ApproximateNumberOfMessages"]) == len(sent)

    until(are_dead)
    assert take_all(sqs, dead, sent) == sent
    assert drain(sqs, dead) == set()


def test_dead_letters_wait_for_a_server_that_is_away(one: Server, servers: RedisServers) -> None:
    """A message that has had its deliveries is not delivered again, though its dead-letter queue cannot be reached."""
    sqs = one.client()
    places: dict[int, str] = {}
    while not {0, 1} <= places.keys():
        before = [each.say("SCARD", "rd:physical") for each in servers.all]
        made = create(sqs, 1, f"queue-{len(places)}-{time.monotonic_ns()}")
        owner = next(at for at, each in enumerate(servers.all) if each.say("SCARD", "rd:physical") != before[at])
        places[owner] = made
    url, dead = places[0], places[1]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": redrive, "VisibilityTimeout": "1"})
    sqs.send_message(QueueUrl=url, MessageBody="once")
    assert [each["Body"] for each in sqs.receive_message(QueueUrl=url)["Messages"]] == ["once"]
    servers.all[1].kill()
    wait_for_loss(one, servers.all[1])
    for _ in range(3):
        assert sqs.receive_message(QueueUrl=url, WaitTimeSeconds=2).get("Messages", []) == []
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "0"})
    web = Web(one.port)
    words = {"QueueUrl": url, "Consumer": "reader", "Shard": 0, "Sequence": 0, "Max": 10, "WaitTimeSeconds": 1}
    assert web.call("Rockdove.LeaseBatch", words).json.get("Messages", []) == []
    web.close()
    come_back(servers.all[1], "dies")
    until(partial(is_told, one, f"{servers.all[1].endpoint} is back"))
    until(lambda: not sqs.receive_message(QueueUrl=url).get("Messages") and drain(sqs, dead) == {"once"})


def test_many_physical_queues_of_a_fifo_queue_share_deduplication(one: Server) -> None:
    sqs = one.client()
    url = sqs.create_queue(QueueName="jobs.fifo", Attributes={"FifoQueue": "true", "RockdovePhysicalQueues": "6"})[
        "QueueUrl"
    ]
    ids = {
        sqs.send_message(
            QueueUrl=url, MessageBody="x", MessageGroupId=f"group-{number}", MessageDeduplicationId=str(number % 4)
        )["MessageId"]
        for number in range(40)
    }
    assert len(ids) == 4
    counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    assert counted["Attributes"]["ApproximateNumberOfMessages"] == "4"


def test_a_move_task_goes_on_in_another_service(server: ServerFactory, servers: RedisServers) -> None:
    """One of them does it. If that one dies, another goes on, and also if a Redis server is away for a while."""
    services = [server("--workers", "0", store=servers.url) for _ in range(2)]
    sqs = services[1].client()
    dead, url = create(sqs, 5, "dead"), create(sqs, 5)
    arns = [
        sqs.get_queue_attributes(QueueUrl=each, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        for each in (dead, url)
    ]
    policy = f'{{"deadLetterTargetArn": "{arns[0]}", "maxReceiveCount": 1}}'
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})
    sent = {str(number) for number in range(150)}
    for body in sent:
        sqs.send_message(QueueUrl=dead, MessageBody=body)
    services[0].client().start_message_move_task(
        SourceArn=arns[0], DestinationArn=arns[1], MaxNumberOfMessagesPerSecond=50
    )
    time.sleep(0.3)
    services[0].kill()
    servers.all[0].kill()
    wait_for_loss(services[1], servers.all[0])
    come_back(servers.all[0], "dies")

    def is_over() -> bool:
        (task,) = sqs.list_message_move_tasks(SourceArn=arns[0])["Results"]
        assert task["Status"] in ("RUNNING", "COMPLETED"), task
        return bool(task["Status"] == "COMPLETED")

    until(is_over)
    assert take_all(sqs, url, sent) == sent
    assert drain(sqs, url) | drain(sqs, dead) == set()


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_queues_are_changed_and_described_while_one_server_is_gone(
    server: ServerFactory, servers: RedisServers, victim: int
) -> None:
    """Whichever server decides for a queue: what does not need it goes on without it."""
    service = server("--workers", "0", store=servers.url)
    sqs = service.client()
    urls = [create(sqs, 3, f"queue-{number}") for number in range(6)]
    servers.all[victim].kill()
    wait_for_loss(service, servers.all[victim])
    web = Web(service.port)
    for url in urls:
        sqs.tag_queue(QueueUrl=url, Tags={"team": "birds"})
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "7"})
        assert web.call("Rockdove.SetPhysicalQueue", {"QueueUrl": url, "Index": 1, "Weight": 3}).status == 200
        parts = web.call("Rockdove.DescribePhysicalQueues", {"QueueUrl": url}).json["PhysicalQueues"]
        assert [part["Weight"] for part in parts] == [1, 3, 1]
        away = [part for part in parts if not part.get("Reachable", True)]
        assert len(away) == 1
        assert "ApproximateNumberOfMessages" not in away[0]
        assert all(part["ApproximateNumberOfMessages"] == 0 for part in parts if part not in away)
    web.close()
    # It goes on without that server, so it is ready.
    assert requests_status(service, "/ready") == 200


def requests_status(service: Server, path: str) -> int:
    with contextlib.closing(HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


@pytest.mark.parametrize("way", ["functions are flushed", "memory is full", "it follows another"])
def test_a_server_that_refuses_is_gone_round(one: Server, servers: RedisServers, way: str) -> None:
    sqs = one.client()
    url = create(sqs, 3)
    victim, other = servers.all[1], servers.all[0]
    if way == "functions are flushed":
        victim.say("FUNCTION", "FLUSH")
    elif way == "memory is full":
        victim.say("CONFIG", "SET", "maxmemory", "1")
    else:
        victim.say("REPLICAOF", "127.0.0.1", str(other.port))
    for number in range(30):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    victim.say("CONFIG", "SET", "maxmemory", "0")
    got = take_all(sqs, url, {str(number) for number in range(30)})
    assert got == {str(number) for number in range(30)}


def test_accounts_that_a_front_end_cannot_read_lock_the_door(
    one: Server, server: ServerFactory, servers: RedisServers, tmp_path: Path
) -> None:
    """`rockdove account add --store` seals secrets under a key file, of which each front-end needs a copy."""
    url = create(one.client(), 1)
    program = Path(sys.executable).parent / "rockdove"
    where = ("--store", servers.url, "--data", str(tmp_path / "made"))
    command = [str(program), "account", "add", "ann", *where, "--json"]
    made = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "copy that file into the --data folder of each front-end" in made.stderr
    key = json.loads(made.stdout)
    until(lambda: "accounts cannot be used here" in one.process.err.read_text())
    with pytest.raises(ClientError) as caught:
        one.client().send_message(QueueUrl=url, MessageBody="unknown")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert requests_status(one, "/ready") == 503
    one.data.mkdir(exist_ok=True)
    shutil.copy(tmp_path / "made" / "account.key", one.data / "account.key")
    session = boto3.Session(key["access_key"], key["secret_key"], region_name="us-east-1")
    signed = session.client("sqs", endpoint_url=one.endpoint)
    until(lambda: status_of_send(signed, url) == 200)
    assert requests_status(one, "/ready") == 200


@pytest.mark.parametrize("policy", ["wake", "rds", "pms"])
def test_receives_are_held_while_a_server_is_gone(one: Server, servers: RedisServers, policy: str) -> None:
    sqs = one.client()
    url = create(sqs, 6)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RockdoveDequeuePolicy": policy})
    servers.all[0].kill()
    wait_for_loss(one, servers.all[0])
    began_s = time.monotonic()
    assert sqs.receive_message(QueueUrl=url, WaitTimeSeconds=2).get("Messages", []) == []
    assert time.monotonic() - began_s > 1.5


def test_sends_go_where_no_weight_is_if_all_with_a_weight_are_gone(one: Server, servers: RedisServers) -> None:
    sqs = one.client()
    url = create(sqs, 3)
    web = Web(one.port)
    for index in range(3):
        web.call("Rockdove.SetPhysicalQueue", {"QueueUrl": url, "Index": index, "Weight": 5 if index == 0 else 0})
    sqs.send_message(QueueUrl=url, MessageBody="there")
    parts = web.call("Rockdove.DescribePhysicalQueues", {"QueueUrl": url}).json["PhysicalQueues"]
    assert [part["ApproximateNumberOfMessages"] for part in parts] == [1, 0, 0]
    for victim in servers.all:
        victim.kill()
        wait_for_loss(one, victim)
        parts = web.call("Rockdove.DescribePhysicalQueues", {"QueueUrl": url}).json["PhysicalQueues"]
        if not parts[0].get("Reachable", True):
            break
        come_back(victim, "dies")
        until(partial(is_told, one, f"{victim.endpoint} is back"))
    assert status_of_send(sqs, url) == 200
    web.close()


def test_who_listens_is_not_cut_off_for_large_answers(one: Server, servers: RedisServers) -> None:
    """By default Redis cuts off a connection that listens when 32 MiB of answers wait for it."""
    for each in servers.all:
        each.say("CONFIG", "SET", "client-output-buffer-limit", "pubsub 100kb 100kb 1")
    sqs = one.client()
    with contextlib.closing(Web(one.port)) as web:
        _lease_while_listening(web, sqs)


def _lease_while_listening(web: Web, sqs: Any) -> None:
    quiet, large = web.create("quiet"), web.create("large", RockdovePhysicalQueues="3")
    for _ in range(12):
        sqs.send_message(QueueUrl=large, MessageBody="x" * 1_000_000)
    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(sqs.receive_message, QueueUrl=quiet, WaitTimeSeconds=20)
        for sequence in range(2):
            lease = {"QueueUrl": large, "Consumer": "c", "Shard": 0, "Sequence": sequence, "Max": 6}
            reply = web.call("Rockdove.LeaseBatch", lease)
            assert reply.status == 200, reply.text
            assert len(reply.json["Messages"]) == 6
        web.call("SendMessage", {"QueueUrl": quiet, "MessageBody": "woken"})
        assert [message["Body"] for message in held.result()["Messages"]] == ["woken"]
