"""Many messages through one queue: what has passed leaves nothing behind that a read has to pass over."""

import asyncio

from rockdove.core.clock import SystemClock
from rockdove.store.base import Counts
from tests.support.cassandra import Keyspace, cluster_session, node
from tests.support.fronts import Fronts, with_fronts

MESSAGES = 200_000
AT_ONCE = 50
CLIENTS = 8
BODY = "x" * 200
# Cassandra warns of more.
MOST_TOMBSTONES = 1_000


def test_two_hundred_thousand_messages(keyspace: Keyspace) -> None:
    async def scenario(fronts: Fronts) -> None:
        front = await fronts.open(clock=SystemClock())
        received = 0

        async def client() -> None:
            nonlocal received
            for _ in range(MESSAGES // AT_ONCE // CLIENTS):
                await front.send(*[BODY] * AT_ONCE)
                entries = await front.receive(AT_ONCE)
                assert all(await front.remove(*entries))
                received += len(entries)

        # Some wait all the time, so that there is a head to look for.
        await front.send(*[BODY] * 500)
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        while entries := await front.receive(AT_ONCE):
            assert all(await front.remove(*entries))
            received += len(entries)
        assert received == MESSAGES + 500
        assert await front.count() == Counts(0, 0, 0)
        # Few segments are left: those that are open, or just closed.
        await asyncio.sleep(0.5)
        assert len(front.place.directory.segments) < 10

    with_fronts(keyspace, scenario)
    name = keyspace.address.keyspace
    most = dict(_told("tombstones_per_read", "max", name))
    assert max(most.values()) <= MOST_TOMBSTONES, most
    there = node()
    for command in ("flush", "compact"):
        there.nodetool(command, name)
    size = sum(path.stat().st_size for path in (there.folder / "data" / name).rglob("*-Data.db"))
    # Of 40 MB of bodies nothing is left, but that they were removed.
    assert 0 < size < MESSAGES * len(BODY) / 10


def _told(view: str, column: str, keyspace: str) -> list[tuple[str, float]]:
    rows = cluster_session().execute(
        f"SELECT table_name, {column} FROM system_views.{view} WHERE keyspace_name = %s ALLOW FILTERING", (keyspace,)
    )
    return [tuple(row) for row in rows]
