"""What spans servers is whole, or is made whole, whenever a front-end dies: after any of its calls, or during it.

A front-end dies at its k-th call, for every k. Another one then goes on from what it finds.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from rockdove.core.publication import WHOLE, Parcel, PublicationName, Winner
from rockdove.store.base import Draft
from rockdove.store.base.lease import Outcome
from rockdove.store.redis.codec import entry_name
from rockdove.store.redis.server import Server
from rockdove.store.redis.store import RedisStore
from tests.support.store import Bench, Queue, bodies, submit

# Seconds after which others finish what somebody has left, with some to spare.
LATER_S = 20
# More calls than any of these takes.
MOST_CALLS = 60

KINDS = pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
# Whether the server gets the last call, and does what it says.
HEARD = pytest.mark.parametrize("heard", [False, True], ids=["not heard", "heard"])


class Death:
    """Of the front-end under test at its k-th call. From then on it hears nothing, and nobody hears from it."""

    def __init__(self, bench: Bench, at: int, heard: bool) -> None:
        store = bench.inner
        assert isinstance(store, RedisStore)
        self._own = set(store.servers.all)
        self._at = at
        self._heard = heard
        self._calls = 0
        self._call = Server.call_on

    @property
    def has_come(self) -> bool:
        return self._calls >= self._at

    def call(self, server: Server, done: Callable[[Any], None], *rest: Any, **options: Any) -> None:
        if server not in self._own:
            self._call(server, done, *rest, **options)
            return
        self._calls += 1
        if self._calls < self._at:
            self._call(server, lambda reply: None if self.has_come else done(reply), *rest, **options)
        elif self._calls == self._at and self._heard:
            self._call(server, lambda reply: None, *rest, **options)


async def _until_dead(death: Death, function: Callable[..., None], *arguments: Any) -> None:
    work = submit(function, *arguments)
    while not death.has_come and not work.done():
        await asyncio.sleep(0.001)
    # What was heard last is done.
    await asyncio.sleep(0.02)
    if work.done():
        work.result()
    else:
        work.cancel()


def dies(
    bench: Bench, at: int, heard: bool, function: Callable[..., None], *arguments: Any, mends: bool = True
) -> bool:
    """Make a call, and have the front-end die at its k-th call of a server. False: it was done before that."""
    death = Death(bench, at, heard)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Server, "call_on", lambda server, done, *rest, **options: death.call(server, done, *rest, **options)
        )
        bench.run(_until_dead(death, function, *arguments))
        has_come = death.has_come
    bench.reopen()
    bench.advance(LATER_S)
    if mends:
        finish(bench)
    return has_come


def finish(bench: Bench) -> None:
    """What is done every few seconds, and when a lander was not heard of for a while."""
    store, servers = bench.inner, bench.servers
    assert isinstance(store, RedisStore)
    assert servers is not None
    bench.run(store.mender.mend())
    for redis in servers.all:
        for batch in cast(list[bytes], redis.say("KEYS", "rd:q:*}:b:*")):
            redis.say("HSET", batch, "until_us", 0)


def land_all(bench: Bench, queue: Queue) -> None:
    """As the broker does."""
    while (landing := bench.do(bench.landings.next, None)) is not None:
        at_us = bench.now_us
        drafts = [Draft(each.message(at_us), at_us, each.deduplication_key) for each in landing.parcels]
        bench.do(bench.landings.land, landing, drafts, spread(queue, range(len(drafts))))


def spread(queue: Queue, places: Any) -> list[Any]:
    """Each second one to each physical queue; those of a group stay together: there is one for each."""
    parts: list[list[int]] = [[], []]
    for at in places:
        parts[at % 2].append(at)
    return [(queue.physical(index), part) for index, part in enumerate(parts) if part]


def full(bench: Bench, fifo: bool) -> Queue:
    """A queue on both servers, with six messages."""
    queue = bench.queue(fifo=fifo, physical=2)
    assert len({part.number % 2 for part in queue.record.physical}) == 2
    for at in range(6):
        queue.send(str(at), at=at % 2, group=f"g{at}" if fifo else None)
    return queue


def rest(queue: Queue) -> list[str]:
    return sorted(body for at in (0, 1) for body in bodies(queue.take(10, at=at)))


@KINDS
@HEARD
def test_a_lease(bench: Bench, fifo: bool, heard: bool) -> None:
    everything = [str(at) for at in range(6)]
    for at in range(1, MOST_CALLS):
        queue = full(bench, fifo)
        name_and_parts = queue.lease_words(0, limit=5)
        was_cut = dies(bench, at, heard, bench.leases.lease, *name_and_parts)
        again = queue.lease(0, limit=5)
        assert again.outcome in (Outcome.MADE, Outcome.AGAIN)
        assert len(again.entries) == 5
        assert queue.lease(0).entries == again.entries
        assert sorted(bodies(again.entries) + rest(queue)) == everything
        assert {entry.receive_count for entry in again.entries} == {1}
        assert queue.ack(0)[:2] == (1, 5)
        assert sum(queue.count(at)[1] for at in (0, 1)) == 1
        queue.drop()
        if not was_cut:
            return
    raise AssertionError("it has no end")


@KINDS
@HEARD
@pytest.mark.parametrize("how", ["ack", "release"])
def test_the_end_of_a_lease(bench: Bench, fifo: bool, heard: bool, how: str) -> None:
    for at in range(1, MOST_CALLS):
        queue = full(bench, fifo)
        assert len(queue.leased(0, limit=5)) == 5
        uid = queue.record.uid
        if how == "ack":
            was_cut = dies(bench, at, heard, bench.leases.ack, uid, "reader", None, None, False)
            queue.ack()
        else:
            was_cut = dies(bench, at, heard, bench.leases.release, uid, "reader", False)
            queue.give_back()
        assert queue.lease(0).outcome is Outcome.ENDED
        left = 1 if how == "ack" else 6
        assert len(rest(queue)) == left
        assert sum(queue.count(at)[1] for at in (0, 1)) == left
        queue.drop()
        if not was_cut:
            return
    raise AssertionError("it has no end")


@KINDS
@HEARD
def test_a_partition_that_is_published(bench: Bench, fifo: bool, heard: bool) -> None:
    for at in range(1, MOST_CALLS):
        queue = bench.queue(fifo=fifo, physical=2)
        drafts = [queue.draft(str(n), group=f"g{n}" if fifo else None, key=f"k{n}" if fifo else None) for n in range(6)]
        parts = [(physical, [drafts[n] for n in places]) for physical, places in spread(queue, range(6))]
        name = PublicationName(queue.record.uid, "app", 0, 0)
        was_cut = dies(bench, at, heard, bench.publications.publish, name, "one", parts)
        parts = [(physical, [drafts[n] for n in places]) for physical, places in spread(queue, range(6))]
        published = bench.do(bench.publications.publish, name, "two", parts)
        assert published.standing.messages == 6
        land_all(bench, queue)
        assert rest(queue) == [str(n) for n in range(6)]
        queue.drop()
        if not was_cut:
            assert published.standing.winner == "one"
            return
    raise AssertionError("it has no end")


def staged(bench: Bench, queue: Queue, fifo: bool) -> PublicationName:
    """Six messages in two chunks."""
    name = PublicationName(queue.record.uid, "app", 0, WHOLE)
    parcels = [Parcel(str(n), "md5", 0, None, f"k{n}" if fifo else None) for n in range(6)]
    for chunk in range(2):
        bench.do(bench.publications.stage, name, "one", chunk, parcels[3 * chunk : 3 * chunk + 3], 3)
    return name


@KINDS
@HEARD
def test_a_batch_that_is_published(bench: Bench, fifo: bool, heard: bool) -> None:
    for at in range(1, MOST_CALLS):
        queue = bench.queue(fifo=fifo, physical=2)
        name = staged(bench, queue, fifo)

        def commit(done: Any, name: Any = name, queue: Queue = queue) -> None:
            bench.publications.commit(name, [Winner("one", 2, 0)], "match", queue.physical(), done)

        was_cut = dies(bench, at, heard, commit)
        commit_again = bench.do(commit)
        assert commit_again.messages == 6
        land_all(bench, queue)
        assert rest(queue) == [str(n) for n in range(6)]
        queue.drop()
        if not was_cut:
            return
    raise AssertionError("it has no end")


@KINDS
@HEARD
def test_a_chunk_on_its_way(bench: Bench, fifo: bool, heard: bool) -> None:
    for at in range(1, MOST_CALLS):
        queue = bench.queue(fifo=fifo, physical=2)
        name = staged(bench, queue, fifo)
        bench.do(bench.publications.commit, name, [Winner("one", 2, 0)], "match", queue.physical())
        landing = bench.do(bench.landings.next, None)
        drafts = [Draft(each.message(bench.now_us), bench.now_us, each.deduplication_key) for each in landing.parcels]
        was_cut = dies(bench, at, heard, bench.landings.land, landing, drafts, spread(queue, range(3)))
        assert sum(queue.count(at)[0] for at in (0, 1)) in (6, 6 + 1, 6 + 2, 6 + 3), "a chunk may be counted twice"
        land_all(bench, queue)
        assert [queue.count(at)[0] for at in (0, 1)] == [4, 2]
        assert rest(queue) == [str(n) for n in range(6)]
        queue.drop()
        if not was_cut:
            return
    raise AssertionError("it has no end")


@KINDS
@HEARD
@pytest.mark.parametrize("again", ["there", "elsewhere"])
@pytest.mark.parametrize("mends", [False, True], ids=["at once", "later"])
def test_a_transfer(bench: Bench, fifo: bool, heard: bool, again: str, mends: bool) -> None:
    """It is made again to the same physical queue, or to another, which is on the source's own server."""
    for at in range(1, MOST_CALLS):
        source, target = bench.queue(fifo=fifo, physical=2), bench.queue(fifo=fifo, physical=2)
        ids = source.send("a", "b", group="g" if fifo else None)
        there, here = crossing(source, target)

        def words(index: int, source: Queue = source, target: Queue = target, ids: Any = ids) -> Any:
            drafts = [
                target.draft(body, group="g" if fifo else None, key=body if fifo else None) for body in ("a", "b")
            ]
            return source.physical(), ids, target.physical(index), drafts

        was_cut = dies(bench, at, heard, bench.transfers.transfer, *words(there), mends=mends)
        bench.do(bench.transfers.transfer, *words(there if again == "there" else here))
        assert source.count() == (0, 0, 0)
        assert rest(target) == ["a", "b"]
        for queue in (source, target):
            queue.drop()
        if not was_cut:
            return
    raise AssertionError("it has no end")


def crossing(source: Queue, target: Queue) -> tuple[int, int]:
    """Which physical queue of the target is on another server than the first of the source, and which is on its."""
    other = 1 - source.record.physical[0].number % 2
    there = next(n for n, part in enumerate(target.record.physical) if part.number % 2 == other)
    return there, 1 - there


@KINDS
@HEARD
def test_a_transfer_that_nobody_makes_again(bench: Bench, fifo: bool, heard: bool) -> None:
    """The message is here or there. Until somebody knows which, nobody gets what is here."""
    for at in range(1, MOST_CALLS):
        source, target = bench.queue(fifo=fifo, physical=2), bench.queue(fifo=fifo, physical=2)
        group = "g" if fifo else None
        (id,) = source.send("a", group=group)
        there, _ = crossing(source, target)
        drafts = [target.draft("a", group=group, key="a" if fifo else None)]
        words = (source.physical(), [id], target.physical(there), drafts)
        was_cut = dies(bench, at, heard, bench.transfers.transfer, *words, mends=False)
        assert len(source.read() + rest(target)) <= 1
        bench.advance(LATER_S + 60)
        finish(bench)
        assert sorted(source.read() + rest(target)) == ["a"]
        assert source.count()[1] + sum(target.count(n)[1] for n in (0, 1)) == 1
        for queue in (source, target):
            queue.drop()
        if not was_cut:
            return
    raise AssertionError("it has no end")


def test_what_several_take_somewhere_is_not_called_back_by_one(bench: Bench) -> None:
    """One cannot reach the target, and would go elsewhere; the other has reached it."""
    source, target = bench.queue(physical=2), bench.queue(physical=2)
    (id,) = source.send("a")
    there, here = crossing(source, target)
    drafts = [target.draft("a")]
    assert bench.servers is not None
    key = f"rd:{{{source.record.physical[0].number}}}"
    server = next(each for each in bench.servers.all if each.say("EXISTS", key))
    # The first says where it is to go.
    words = (bench.now_us, target.record.physical[there].number, "abcd", entry_name(id))
    server.say("FCALL", "rd_send_off", 1, key, *words)
    # The second takes it there, and dies before it is removed here.
    move = (source.physical(), [id], target.physical(there), drafts)
    assert dies(bench, 3, False, bench.transfers.transfer, *move, mends=False)
    assert target.count(there)[0] == 1
    # The first could not reach the target.
    server.say("FCALL", "rd_call_back", 1, key, "abcd", 0, entry_name(id))
    bench.do(bench.transfers.transfer, source.physical(), [id], target.physical(here), drafts)
    assert rest(target) == ["a"]
    assert source.count() == (0, 0, 0)


def test_a_key_is_known_when_its_physical_queue_has_gone(bench: Bench) -> None:
    """Whoever sent by it has died before he told that it is sent."""
    for at in range(1, MOST_CALLS):
        queue = bench.queue(fifo=True, physical=2)
        store = bench.inner
        assert isinstance(store, RedisStore)
        home = store.servers.home(queue.record.uid)
        away = next(n for n in (0, 1) if queue.physical(n).server is not home)  # type: ignore[attr-defined]
        draft = queue.draft("a", group="g", key="k")
        was_cut = dies(bench, at, True, queue.physical(away).append, [draft])
        sent = [entry.id for entry in queue.take(at=away)]
        for id in sent:
            queue.remove(id)
        parts = queue.record.physical
        queue.record.physical = [parts[1 - away]]
        bench.put_queue(queue.record)
        # What is dropped is emptied in the background.
        bench.run(asyncio.sleep(0.05))
        (again,) = queue.append([queue.draft("a", group="g", key="k")])
        assert queue.count()[0] == (0 if sent else 1)
        assert not sent or sent == [again.id]
        queue.drop()
        if not was_cut:
            assert sent
            return
    raise AssertionError("it has no end")
