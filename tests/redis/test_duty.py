"""Of several processes on the same Redis servers one has a duty."""

import asyncio

from rockdove.store.redis.duty import RedisDuties
from rockdove.store.redis.store import RedisStore
from tests.support.store import Bench, call


def test_one_has_it_until_it_leaves_or_is_silent(bench: Bench) -> None:
    store = bench.inner
    assert isinstance(store, RedisStore)
    one, other = RedisDuties(store.servers), RedisDuties(store.servers)

    async def scenario() -> None:
        assert await call(one.take, "work", 60.0)
        assert await call(one.take, "work", 60.0), "again"
        assert not await call(other.take, "work", 60.0)
        assert await call(other.take, "other work", 60.0)
        other.leave("work")
        assert not await call(other.take, "work", 60.0), "it was not his to leave"
        one.leave("work")
        assert await call(other.take, "work", 0.05)
        await asyncio.sleep(0.1)
        assert await call(one.take, "work", 60.0)

    bench.run(scenario())
