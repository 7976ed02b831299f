"""Leases that take long, and messages that were claimed for a lease of which nobody knows yet whether it is made."""

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest

from rockdove.core.errors import StoreError
from rockdove.core.lease import LeaseName
from rockdove.store.base.lease import Leased, Outcome
from rockdove.store.redis import lease
from rockdove.store.redis.lease import RedisLeases
from rockdove.store.redis.server import Server, ServerAway
from rockdove.store.redis.store import RedisStore
from tests.redis.test_cut import dies, finish, full, rest
from tests.support.store import Bench, Queue, bodies, call

# A lease asks its home to begin, claims from both physical queues, and then asks the home to make it.
MAKES = 4


def test_one_that_takes_long_is_made(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others look after what is unfinished, and its name is not theirs."""
    queue = bench.queue(physical=4)
    for at in range(8):
        queue.send(str(at), at=at % 4)
    claim = RedisLeases.claim_some

    async def slow(self: RedisLeases, *words: Any) -> Any:
        claimed = await claim(self, *words)
        bench.advance(2)
        store = bench.inner
        assert isinstance(store, RedisStore)
        await store.mender.mend()
        return claimed

    monkeypatch.setattr(RedisLeases, "claim_some", slow)
    monkeypatch.setattr(lease, "RENEW_S", 0.0)
    made = queue.lease(0)
    assert made.outcome is Outcome.MADE
    assert sorted(bodies(made.entries)) == [str(at) for at in range(8)]
    assert queue.ack(0)[:2] == (1, 8)


def test_a_server_that_goes_away_between_two_pieces_takes_nothing_along(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was claimed of it before is in the lease that the client gets, or in none."""
    queue = full(bench, fifo=False)
    claim, claims = RedisLeases.claim_some, 0

    async def goes_away(self: RedisLeases, *words: Any) -> Any:
        nonlocal claims
        claims += 1
        if claims == 3:
            raise ServerAway("it has gone")
        return await claim(self, *words)

    with monkeypatch.context() as patch:
        patch.setattr(lease, "AT_ONCE", 1)
        patch.setattr(RedisLeases, "claim_some", goes_away)
        made = queue.lease(0)
    # Two of the first physical queue, and all three of the second.
    assert len(made.entries) == made.number == 5
    assert queue.ack(0)[:2] == (1, 5)
    assert len(rest(queue)) == 1


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_a_group_goes_on_in_the_next_piece(bench: Bench, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(lease, "AT_ONCE", at_once)
    queue = bench.queue(fifo=True)
    for group, texts in (("a", "12345"), ("b", "678")):
        queue.send(*texts, group=group)
    assert queue.leased(0, limit=7) == list("1234567")
    assert queue.leased(1) == []
    assert queue.ack(1)[:2] == (2, 7)
    assert queue.leased(2) == ["8"]


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_a_group_goes_on_as_far_as_nobody_has_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(lease, "AT_ONCE", at_once)
    queue = bench.queue(fifo=True)
    queue.send(*"12345", group="a")
    taken = queue.take(3, timeout_s=100)
    for entry in taken[:2]:
        queue.move(entry, 0, 1)
    assert queue.leased(0) == ["1", "2"]
    queue.remove(taken[2].id)
    # The lease has the first of the group.
    assert queue.leased(1) == []
    queue.ack(1)
    assert queue.leased(2) == ["4", "5"]


def test_a_server_is_asked_for_messages_of_one_lease_at_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several large answers together would take it so long that it seems to be dead."""
    queue = bench.queue(physical=4)
    for at in range(8):
        queue.send(str(at), at=at % 4)
    ask, asked, at_once = Server.ask, Counter[Server](), 0

    async def counts(self: Server, function: str, *words: Any) -> Any:
        nonlocal at_once
        if function not in ("rd_lease_claim", "rd_leased"):
            return await ask(self, function, *words)
        asked[self] += 1
        at_once = max(at_once, asked[self])
        try:
            return await ask(self, function, *words)
        finally:
            asked[self] -= 1

    monkeypatch.setattr(Server, "ask", counts)

    async def scenario() -> list[Leased]:
        lease, want = bench.leases.lease, queue.want(2, room_bytes=10_000)
        parts = [queue.physical(at) for at in range(4)]
        names = [LeaseName(queue.record.uid, "reader", shard, 0) for shard in (0, 1, 2, 3)]
        # The second ones ask for what there is.
        calls = [call(partial(lease, name, parts, want, True)) for name in names + names]
        answers: list[Leased] = await asyncio.gather(*calls)
        return answers

    assert sum(len(leased.entries) for leased in bench.run(scenario())) == 16
    assert at_once == 1


def test_none_is_made_empty_while_others_may_give_messages_back(bench: Bench) -> None:
    queue = _in_limbo(bench)
    assert queue.lease(0, consumer="other", even_empty=False).outcome is Outcome.NOTHING
    # It is found out within a few seconds that the first one died.
    made = queue.lease(0, consumer="other")
    assert made.outcome is Outcome.MADE
    assert sorted(bodies(made.entries)) == [str(at) for at in range(6)]


def test_what_waits_for_a_server_that_is_away_holds_nothing_else_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home of one queue is away, and what was claimed of it comes first."""
    waits, goes_on = _in_limbo(bench), _in_limbo(bench)
    at_home = RedisLeases._at_home

    async def away(self: RedisLeases, queue: str, function: str, *words: Any) -> Any:
        if queue == waits.record.uid:
            raise ServerAway("its server is away")
        return await at_home(self, queue, function, *words)

    with monkeypatch.context() as patch:
        patch.setattr(RedisLeases, "_at_home", away)
        finish(bench)
        assert sorted(rest(goes_on)) == [str(at) for at in range(6)]
        assert rest(waits) == []
    finish(bench)
    assert sorted(rest(waits)) == [str(at) for at in range(6)]


def test_who_cannot_find_out_makes_none(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "MOST_S", 0.0)

    async def mend(self: RedisLeases, *words: Any) -> None: ...

    with monkeypatch.context() as nobody_mends:
        nobody_mends.setattr(RedisLeases, "finish", mend)
        queue = _in_limbo(bench)
        with pytest.raises(StoreError, match="others are leasing the messages of the queue"):
            queue.lease(0, consumer="other")
    bench.reopen()
    finish(bench)
    assert len(queue.lease(0, consumer="other").entries) == 6


def _in_limbo(bench: Bench) -> Queue:
    """A queue whose messages were claimed by a front-end that died before its lease was made."""
    queue = full(bench, fifo=False)
    assert dies(bench, MAKES, False, bench.leases.lease, *queue.lease_words(0), mends=False)
    return queue
