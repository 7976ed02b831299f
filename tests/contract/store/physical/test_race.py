"""Verbs that do not wait for each other: afterwards memory, disk and what was told agree.

What is decided in memory and what is on its way to the disk must never part ways, however they cross.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from rockdove.core.message import Entry
from rockdove.store.base import Appended, Claimed, Want
from rockdove.store.common import head
from rockdove.store.sqlite import plain
from tests.support.store import Bench, Queue, submit, us

SEEDS = range(8)
STEPS = 250


class Racer:
    """Random verbs on one queue, most of them not waited for."""

    def __init__(self, bench: Bench, queue: Queue, seed: int, grouped: bool) -> None:
        self.bench, self.queue, self.rng, self.grouped = bench, queue, Random(seed), grouped
        self.held: list[Entry] = []
        self.sent: set[int] = set()
        self.removed: set[int] = set()
        self.calls: list[asyncio.Future[Any]] = []

    async def run(self) -> None:
        for _ in range(STEPS):
            self.step()
            if self.rng.random() < 0.5:
                self.bench.advance(self.rng.choice([0.01, 0.1, 0.3]))
            for _ in range(self.rng.choice([0, 0, 1, 3])):
                await asyncio.sleep(0)
        await asyncio.gather(*self.calls, return_exceptions=True)

    def step(self) -> None:
        physical, now_us = self.queue.physical(), self.bench.now_us
        verb = self.rng.choice(["append", "claim", "claim", "move", "remove", "remove", "release"])
        if verb == "append":
            group = self.rng.choice(["a", "b"]) if self.grouped else None
            drafts = [self.queue.draft("x", group=group) for _ in range(self.rng.randrange(1, 8))]
            self.then(submit(physical.append, drafts), self.appended)
        elif verb == "claim":
            want = self.queue.want(self.rng.randrange(1, 11), timeout_s=self.rng.choice([1, 2, 5]))
            self.then(submit(physical.claim, want), self.claimed)
        elif self.held and verb == "move":
            entry = self.rng.choice(self.held)
            self.calls.append(submit(physical.move, entry.id, now_us + us(self.rng.choice([0, 1, 3])), None))
        elif self.held and verb == "remove":
            entry = self.held.pop(self.rng.randrange(len(self.held)))
            self.removed.add(entry.id)
            self.calls.append(submit(physical.remove, entry.id, None))
        elif self.held and verb == "release":
            entry = self.held.pop(self.rng.randrange(len(self.held)))
            self.calls.append(submit(physical.release, [entry]))

    def then(self, call: "asyncio.Future[Any]", told: Callable[[Any], None]) -> None:
        self.calls.append(call)
        call.add_done_callback(lambda done: told(done.result()))

    def appended(self, result: list[Appended]) -> None:
        self.sent |= {each.id for each in result}

    def claimed(self, result: Claimed) -> None:
        self.held += result.entries


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_crosses(
    bench: Bench, queue: Queue, seed: int, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small heads, so that bounds and fetches matter.
    for module in (head, plain):
        monkeypatch.setattr(module, "KEPT", 20)
        monkeypatch.setattr(module, "LOW", 10)
    monkeypatch.setattr(head, "MOST", 40)
    racer = Racer(bench, queue, seed, grouped)
    bench.run(racer.run())
    left = racer.sent - racer.removed
    visible, in_flight, delayed = queue.count()
    assert (visible + in_flight, delayed) == (len(left), 0)
    bench.advance(60)
    assert queue.count() == (len(left), 0, 0)
    found = [entry.id for _ in range(len(left) // 10 + 2) for entry in queue.take(10, timeout_s=1000)]
    assert sorted(found) == sorted(left)


@pytest.mark.parametrize("group", [None, "g"])
@pytest.mark.parametrize("turns", range(6))
def test_what_expires_is_told_once(bench: Bench, queue: Queue, group: str | None, turns: int) -> None:
    """A claim that meets expired messages, and a search for them at the same time."""
    for number in range(5):
        queue.send(str(number), group=group)
    bench.advance(100)
    sent_after_us = bench.now_us - us(50)

    async def race() -> list[int]:
        physical = queue.physical()
        searches = [submit(bench.upkeep.expire, physical, sent_after_us)]
        for _ in range(turns):
            await asyncio.sleep(0)
        claim = submit(physical.claim, Want(limit=2, timeout_us=us(1), sent_after_us=sent_after_us))
        searches.append(submit(bench.upkeep.expire, physical, sent_after_us))
        told: list[int] = list((await claim).expired)
        for search in searches:
            told += await search
        return told

    told = bench.run(race())
    assert len(told) == len(set(told)) == 5
