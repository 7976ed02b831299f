"""How much the servers of a store hold, as its metrics tell."""

from tests.support.metrics import scrape
from tests.support.raw import Web
from tests.support.redis import RedisServers
from tests.support.server import ServerFactory

LARGE = 500_000


def test_the_size_is_that_of_all_servers(server: ServerFactory, servers: RedisServers) -> None:
    service = server("--workers", "1", store=servers.url)
    before = scrape(service.port)("rockdove_store_bytes")
    assert before is not None
    web = Web(service.port)
    url = web.create("jobs", RockdovePhysicalQueues="3")
    for _ in range(12):
        assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x" * LARGE}).status == 200
    web.close()
    after = scrape(service.port)("rockdove_store_bytes")
    assert after is not None
    assert after - before > 12 * LARGE
