"""What is wrong with Redis servers is told at the start, and what to do."""

import shutil
from pathlib import Path

import pytest

from tests.support.process import Process
from tests.support.redis import RedisServer, RedisServers
from tests.support.server import COMMAND, ServerFactory


def told(folder: Path, store: str) -> tuple[int | None, str]:
    """What `serve` says, and how it ends."""
    name = f"serve-{len(list(folder.iterdir()))}"
    command = [*COMMAND, "serve", "--port", "0", "--workers", "0", "--store", store, "--data", str(folder / "own")]
    with Process(command, folder, name) as process:
        process.wait_for(lambda: process.exit_code is not None, "end", 60)
        return process.exit_code, process.err.read_text()


@pytest.mark.parametrize(
    ("store", "why"),
    [
        ("redis", "write the Redis servers as redis://host:port"),
        ("redis:a:1", "write the Redis servers as redis://host:port"),
        ("redis://a:0", "a port of the Redis servers is a number from 1"),
        ("redis://a:99999", "a port of the Redis servers is a number from 1 to 65,535"),
        ("redis://:se/cret@a", "in a password write / as %2F"),
        ("redis://", "a Redis server has no host"),
        ("redis://a:1,a:1", "each Redis server is named once"),
        ("redis://a:x", "a port of the Redis servers is a number"),
        ("redis://secret@a:1", "before the @ write user:password"),
        ("redis://a:1?copies=2", "there is no setting 'copies'"),
        ("redis://a:1/x", "the database of the Redis servers is a number"),
    ],
)
def test_an_address_that_is_none(tmp_path: Path, store: str, why: str) -> None:
    code, text = told(tmp_path, store)
    assert code == 2
    assert text.startswith("rockdove: --store: ")
    assert why in text
    assert "secret" not in text


def test_nobody_is_there(tmp_path: Path, servers: RedisServers) -> None:
    servers.kill()
    code, text = told(tmp_path, servers.url)
    assert code == 1
    assert "no Redis server can be reached" in text
    assert "connect call failed" in text or "refused" in text


def test_fewer_servers_than_the_store_has(tmp_path: Path, servers: RedisServers, server: ServerFactory) -> None:
    server("--workers", "0", store=servers.url).stop()
    code, text = told(tmp_path, f"redis://{servers.all[0].endpoint},{servers.all[1].endpoint}")
    assert code == 1
    assert "its store has 3 servers, and 2 were named" in text


def test_servers_of_two_stores(tmp_path: Path, server: ServerFactory) -> None:
    pairs = [RedisServers(2, tmp_path / name) for name in ("one", "two")]
    for pair in pairs:
        pair.start()
        server("--workers", "0", store=pair.url).stop()
    mixed = server("--workers", "0", store=f"redis://{pairs[0].all[0].endpoint},{pairs[1].all[0].endpoint}")
    assert "it belongs to another store than the others" in mixed.process.err.read_text()
    mixed.stop()
    for pair in pairs:
        pair.kill()


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (("--appendonly", "no"), "has appendonly no: messages are lost when it ends"),
        (("--appendfsync", "everysec"), "has appendfsync everysec: messages of the last second may be lost"),
        (("--maxmemory-policy", "allkeys-lru"), "has maxmemory-policy allkeys-lru: it throws messages away"),
    ],
)
def test_settings_that_lose_messages_are_warned_about(
    tmp_path: Path, server: ServerFactory, options: tuple[str, ...], warning: str
) -> None:
    redis = RedisServer(tmp_path / "redis")
    redis.begin(*options)
    redis.wait()
    service = server("--workers", "0", store=f"redis://{redis.endpoint}")
    assert warning in service.process.err.read_text()
    service.stop()
    redis.kill()


def test_a_password(tmp_path: Path, server: ServerFactory) -> None:
    redis = RedisServer(tmp_path / "redis")
    redis.begin("--requirepass", "open sesame")
    redis.wait_until_locked()
    code, text = told(tmp_path, f"redis://:wrong@{redis.endpoint}")
    assert code == 1
    assert "WRONGPASS" in text
    service = server("--workers", "0", store=f"redis://:open%20sesame@{redis.endpoint}")
    assert "sesame" not in service.process.out.read_text()
    service.client().create_queue(QueueName="q")
    service.stop()
    redis.kill()
    shutil.rmtree(redis.folder)


@pytest.mark.parametrize("victim", [0, 1, 2])
@pytest.mark.parametrize("runs", [True, False], ids=["runs", "starts"])
def test_a_server_that_has_lost_its_data_is_not_taken_for_a_new_one(
    server: ServerFactory, servers: RedisServers, victim: int, runs: bool
) -> None:
    service = server("--workers", "0", store=servers.url)
    sqs = service.client()
    url = sqs.create_queue(QueueName="jobs", Attributes={"RockdovePhysicalQueues": "6"})["QueueUrl"]
    if not runs:
        service.stop()
    lost = sorted(servers.all, key=lambda each: each.endpoint)[victim]
    lost.kill()
    lost.lose_data()
    lost.begin()
    lost.wait()
    if not runs:
        service.start()
    said = "it is empty, though it is a server of this store: start it with its data"
    service.process.wait_for(lambda: said in service.process.err.read_text(), "warning", 30)
    sqs = service.client()
    for number in range(10):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    sqs.create_queue(QueueName="more")
    service.stop()


def test_a_store_is_made_when_all_servers_are_there(
    tmp_path: Path, server: ServerFactory, servers: RedisServers
) -> None:
    servers.all[1].kill()
    code, text = told(tmp_path, servers.url)
    assert code == 1
    assert "to make a store, all of its servers must be there" in text
    servers.all[1].begin()
    servers.all[1].wait()
    server("--workers", "0", store=servers.url).client().create_queue(QueueName="q")
