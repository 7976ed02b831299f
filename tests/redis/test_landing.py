"""Published batches on their way into queues: what a front-end believes of them, and servers that go meanwhile."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rockdove.store.redis.landing import RedisLandings
from rockdove.store.redis.server import Server as StoreServer
from rockdove.store.redis.store import RedisStore
from tests.redis.test_service import create, drain, take_all, until, wait_for_loss
from tests.support.raw import Web
from tests.support.redis import RedisServer, RedisServers
from tests.support.server import Server, ServerFactory
from tests.support.store import Bench

CHUNKS, EACH = 4, 30


def test_what_is_said_right_after_a_look_counts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come in one piece: the front-end goes on with its look only when it has heard all of it."""
    store, landings = _parts(bench)
    uid = bench.queue().record.uid
    call = StoreServer.call_on

    def call_and_tell(server: StoreServer, done: Callable[[Any], None], *rest: Any, **options: Any) -> None:
        def told(reply: Any) -> None:
            done(reply)
            landings.heard(f"{uid} 1".encode())

        call(server, told, *rest, **options)

    monkeypatch.setattr(StoreServer, "call_on", call_and_tell)
    bench.run(landings.is_back(store.servers.home(uid)))
    assert store.servers.landing == {uid}


@pytest.mark.parametrize("look", ["is back", "next"])
def test_what_is_said_while_an_answer_is_on_its_way_counts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    """It comes on a connection of its own, and may overtake the answer, which is from before."""
    store, landings = _parts(bench)
    uid = bench.queue().record.uid
    landings.begin(uid)
    call = StoreServer.call_on

    def tell_and_answer(server: StoreServer, done: Callable[[Any], None], *rest: Any, **options: Any) -> None:
        def told(reply: Any) -> None:
            landings.heard(f"{uid} 1".encode())
            done(reply)

        call(server, told, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(StoreServer, "call_on", tell_and_answer)
        if look == "next":
            assert bench.do(landings.next, None) is None
        else:
            bench.run(landings.is_back(store.servers.home(uid)))
    assert store.servers.landing == {uid}
    # The next look is from after it.
    assert bench.do(landings.next, None) is None
    assert not store.servers.landing


def test_what_others_have_landed_meanwhile_is_forgotten(bench: Bench) -> None:
    """Else each receive that finds nothing would wait for it. Who publishes may have been stopped for a while."""
    store, landings = _parts(bench)
    landings.begin(bench.queue().record.uid)
    assert bench.do(landings.next, None) is None
    assert not store.servers.landing


def _parts(bench: Bench) -> tuple[RedisStore, RedisLandings]:
    store = bench.inner
    assert isinstance(store, RedisStore)
    assert isinstance(store.landings, RedisLandings)
    return store, store.landings


@pytest.fixture
def one(server: ServerFactory, servers: RedisServers) -> Server:
    """A service of one process: nobody else takes over."""
    return server("--workers", "0", store=servers.url)


def test_a_batch_goes_round_a_server_that_is_away(one: Server, servers: RedisServers) -> None:
    sqs = one.client()
    url = create(sqs, 3)
    bodies = _stage(one, url)
    victim = _elsewhere(servers, _home(servers))
    victim.kill()
    wait_for_loss(one, victim)
    assert _publish(one, url)["Landed"]
    assert _number(sqs, url) == len(bodies)
    assert drain(sqs, url) == bodies


def test_what_may_be_on_a_server_that_is_away_waits_for_it_and_nothing_else_does(
    one: Server, servers: RedisServers
) -> None:
    sqs = one.client()
    url, homes = create(sqs, 3), {}
    bodies = _stage(one, url)
    home = _home(servers)
    others = {create(sqs, 1, f"other-{at}"): _home_of(one, servers, f"other-{at}") for at in range(12)}
    victim = _elsewhere(servers, home)
    victim.pause()
    with ThreadPoolExecutor(1) as pool:
        published = pool.submit(_publish, one, url)
        got: set[str] = set()
        # Its share of one chunk has been sent there, and nobody knows what became of it.
        until(lambda: len(_add(got, drain(sqs, url))) >= len(bodies) - EACH // 3)
        assert len(got) < len(bodies)
        until(lambda: _number(sqs, url) == len(bodies) - len(got))
        for other, place in others.items():
            if place is not victim:
                homes[place.port] = _publish(one, other)["Landed"]
        assert list(homes.values()) == [True, True]
        assert not published.result()["Landed"]
    victim.go_on()
    rest = take_all(sqs, url, bodies - got)
    assert rest == bodies - got
    assert _publish(one, url)["Landed"]
    assert _number(sqs, url) == 0


def test_a_batch_goes_round_a_server_that_refuses_messages(one: Server, servers: RedisServers) -> None:
    sqs = one.client()
    url = create(sqs, 3)
    bodies = _stage(one, url)
    victim = _elsewhere(servers, _home(servers))
    victim.say("CONFIG", "SET", "maxmemory", "1")
    for number in range(9):
        sqs.send_message(QueueUrl=url, MessageBody=f"plain {number}")
    # One of these was refused there.
    assert _publish(one, url)["Landed"]
    assert drain(sqs, url) == bodies | {f"plain {number}" for number in range(9)}
    victim.say("CONFIG", "SET", "maxmemory", "0")


def test_a_batch_for_a_fifo_queue_waits_as_a_whole(one: Server, servers: RedisServers) -> None:
    """What comes later does not overtake what may be on a server that is away."""
    sqs = one.client()
    fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true", "RockdovePhysicalQueues": "3"}
    url = sqs.create_queue(QueueName="jobs.fifo", Attributes=fifo)["QueueUrl"]
    bodies = _stage(one, url, groups=list("abcdefghijklmno"))
    victim = _elsewhere(servers, _home(servers))
    victim.pause()
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(_publish, one, url).result()["Landed"]
    victim.go_on()
    assert _publish(one, url)["Landed"]
    got: dict[str, list[int]] = {}
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"]).get("Messages"):
        for message in messages:
            group = message["Attributes"]["MessageGroupId"]
            got.setdefault(group, []).append(int(message["Body"].rpartition(" ")[2]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert sum(map(len, got.values())) == len(bodies)
    assert all(each == sorted(each) for each in got.values())


def _stage(service: Server, url: str, groups: Sequence[str] = ()) -> set[str]:
    web, bodies = Web(service.port), [f"{url} {at}" for at in range(CHUNKS * EACH)]
    for chunk in range(CHUNKS):
        entries = []
        for at, body in enumerate(bodies[chunk * EACH : (chunk + 1) * EACH]):
            group = {"MessageGroupId": groups[at % len(groups)]} if groups else {}
            entries.append({"Id": str(at), "MessageBody": body, **group})
        content = {"QueueUrl": url, "Application": "app", "Batch": 0, "Attempt": "one", "Chunk": chunk}
        reply = web.call("Rockdove.StageBatch", {**content, "Entries": entries})
        assert reply.status == 200, reply
    web.close()
    return set(bodies)


def _publish(service: Server, url: str) -> Any:
    web = Web(service.port)
    attempts = [{"Attempt": "one", "Chunks": CHUNKS}]
    content = {"QueueUrl": url, "Application": "app", "Batch": 0, "Attempts": attempts}
    reply = web.call("Rockdove.PublishBatch", content)
    assert reply.status == 200, reply
    web.close()
    return reply.json


def _home(servers: RedisServers) -> RedisServer:
    """Of the one queue for which something is staged."""
    (home,) = (server for server in servers.all if server.say("SCARD", "rd:publishing"))
    return home


def _home_of(service: Server, servers: RedisServers, name: str) -> RedisServer:
    before = {server.port: server.say("SCARD", "rd:publishing") for server in servers.all}
    _stage(service, f"http://127.0.0.1/000000000000/{name}")
    (home,) = (server for server in servers.all if server.say("SCARD", "rd:publishing") != before[server.port])
    return home


def _elsewhere(servers: RedisServers, home: RedisServer) -> RedisServer:
    return next(server for server in servers.all if server is not home)


def _add(got: set[str], more: set[str]) -> set[str]:
    got |= more
    return got


def _number(sqs: Any, url: str) -> int:
    """As the queue says; of a physical queue that cannot be reached there are none."""
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return sum(int(value) for name, value in found.items() if name.startswith("ApproximateNumberOfMessages"))
