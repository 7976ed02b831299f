"""Random histories of a journal whose nodes lose what they have acknowledged: front-ends agree on what is left."""

import asyncio
import contextlib
import copy
import itertools
import logging
import math
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, cast

import msgspec
import pytest
from msgspec import Struct, field

from rockdove.core.errors import StoreError, StoreInterrupted
from rockdove.store.cassandra import journal as journals
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.journal import EntriesMissing, Journal, agree
from rockdove.store.cassandra.session import Session

PART = 4
# Histories of each kind of loss.
HISTORIES = 150


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Few entries in a part, and on a page; nobody takes anything for known."""
    for name, value in (("PART", PART), ("PAGE", 3), ("PIECE_BYTES", 40), ("SURE_S", -1.0), ("LONG_S", -1.0)):
        monkeypatch.setattr(journals, name, value)
    with caplog.at_level(logging.CRITICAL, "rockdove"):
        yield


class Part(Struct):
    rows: dict[int, tuple[str, bytes | None]] = field(default_factory=dict)
    closed: bool | None = None
    closed_s: int = 0
    tail: str | None = None


class Tables(Struct):
    """What Cassandra has; only what journals ask."""

    parts: dict[int, Part] = field(default_factory=dict)
    pieces: dict[tuple[str, int], dict[int, bytes]] = field(default_factory=dict)
    latest: tuple[int, int] | None = None

    def ask(self, text: str, *values: Any) -> list[Any]:
        match text:
            case schema.ADD_ENTRY:
                mark, entry, tail, _, number, version, expected = values
                part = self.parts.setdefault(number, Part())
                there = part.rows.get(version)
                if there is None and part.closed is None and part.tail == expected:
                    part.rows[version], part.tail = (mark, entry), tail
                    return [(True,)]
                return [(False, there and there[0], part.closed, part.tail)]
            case schema.FILL_ENTRY:
                mark, _, number, version = values
                part = self.parts.setdefault(number, Part())
                if version not in part.rows and part.closed is None:
                    part.rows[version] = (mark, None)
                return []
            case schema.READ_ENTRY:
                part = self.parts.get(values[1], Part())
                return [(part.rows[values[2]][0], part.closed)] if values[2] in part.rows else []
            case schema.READ_ENTRIES:
                _, number, first, most = values
                rows = sorted(self.parts.get(number, Part()).rows.items())
                return [(version, *row) for version, row in rows if version > first][:most]
            case schema.READ_PARTS:
                found = [(number, self.parts[number]) for number in values[1] if number in self.parts]
                return [(values[0], number, part.closed, part.tail) for number, part in found]
            case schema.CLOSE_PART:
                part = self.parts.setdefault(values[2], Part())
                if part.closed is None:
                    part.closed, part.closed_s, part.tail = True, values[0], "closed"
            case schema.LET_PART_GO:
                part = self.parts.get(values[2], Part())
                if part.closed:
                    part.closed_s = values[0]
            case schema.DROP_ENTRIES:
                self.parts[values[1]].rows.clear()
            case schema.ADD_PIECE:
                self.pieces.setdefault(values[:2], {})[values[2]] = values[3]
            case schema.READ_PIECE:
                pieces = self.pieces.get(values[:2], {})
                return [(pieces[values[2]],)] if values[2] in pieces else []
            case schema.READ_SNAPSHOTS:
                after, most = values
                tokens = sorted((zlib.crc32(repr(key).encode()), key) for key in self.pieces)
                return [(*key, token) for token, key in tokens if token > after][:most]
            case schema.COUNT_PIECES:
                return [(len(self.pieces.get(values, {})),)]
            case schema.DROP_SNAPSHOT:
                self.pieces.pop(values, None)
            case schema.PUT_LATEST:
                if self.latest is None or self.latest[0] < values[1]:
                    self.latest = values[1:3]
            case schema.DROP_LATEST:
                self.latest = None
            case schema.READ_LATEST:
                return [] if self.latest is None else [self.latest]
            case _:
                raise AssertionError(text)
        return []

    def pass_time(self) -> None:
        """So much that nothing is left of parts that are closed for a while."""
        self.parts = {number: part for number, part in self.parts.items() if not (part.closed and part.closed_s)}

    # What can be lost.

    def back(self, rng: Random, before: "Tables") -> None:
        """All nodes go back to an earlier moment."""
        then = copy.deepcopy(before)
        self.parts, self.pieces, self.latest = then.parts, then.pieces, then.latest

    def some_parts_back(self, rng: Random, before: "Tables") -> None:
        """The nodes that have them go back to an earlier moment; others do not."""
        for number in list(self.parts):
            if number % 2 == len(self.parts) % 2:
                self.parts[number] = copy.deepcopy(before.parts.get(number, Part()))

    def holes(self, rng: Random, before: "Tables") -> None:
        """Some entries are gone, and later ones are not."""
        new = [
            (part, version)
            for number, part in sorted(self.parts.items())
            for version in sorted(part.rows)
            if version not in before.parts.get(number, Part()).rows and part.rows[version][0] != part.tail
        ]
        at = rng.randrange(len(new)) if new else 0
        for part, version in new[at : at + rng.randint(1, 3)]:
            del part.rows[version]

    def old_tails(self, rng: Random, before: "Tables") -> None:
        """Entries come back from a node that had them, and what is said of the last one does not."""
        for part in self.parts.values():
            if part.rows:
                part.tail = rng.choice([mark for mark, _ in part.rows.values()])


class World:
    """The tables, which are slow now and then, and may fail after they have done something, or before."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.tables = Tables()
        self.failing = self.rng.choice([0.0, 0.0, 0.05])
        # After so many statements, nothing is answered any more.
        self.left = math.inf
        self.numbers = itertools.count()

    async def pause(self) -> None:
        for _ in range(self.rng.choice([0, 0, 0, 1, 2, 5])):
            await asyncio.sleep(0)

    async def ask(self, text: str, *values: Any) -> list[Any]:
        await self.pause()
        self.left -= 1
        if self.left < 0:
            raise StoreError("away")
        chance = self.rng.random()
        if chance < self.failing:
            raise StoreError("away")
        answer = self.tables.ask(text, *values)
        if chance > 1 - self.failing:
            raise StoreInterrupted("no answer in time")
        await self.pause()
        return answer


class Front:
    """A session, and a journal whose state is what its entries say, in order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._name = f"front-end {next(world.numbers)}"
        self._marks = itertools.count()
        self.ask_agreed = self.ask_serial = world.ask
        self.state: list[str] = []
        self.journal = Journal("queue", cast(Session, self), self._take, self._load, self._dump)

    def named(self, text: str) -> str:
        return text

    def token(self) -> str:
        return f"{self._name}, {next(self._marks)}"

    def _take(self, version: int, entry: bytes) -> None:
        self.state.append(entry.decode())

    def _load(self, data: bytes | None) -> None:
        self.state = [] if data is None else msgspec.json.decode(data, type=list[str])

    def _dump(self) -> bytes:
        return msgspec.json.encode(self.state)

    async def add(self) -> str:
        said = f"{self._name} says {next(self._world.numbers)}"

        async def entry() -> bytes:
            return said.encode()

        version = await agree(self.journal, entry)
        if version % (2 * PART) == 0:
            await self.journal.keep(self._dump(), self.journal.version)
        return said

    async def work(self) -> None:
        for _ in range(self._world.rng.randint(0, 7)):
            try:
                await (self.add() if self._world.rng.random() < 0.7 else self.journal.catch_up())
            except StoreError:
                continue


@pytest.mark.parametrize("loss", ["back", "some_parts_back", "holes", "old_tails", None])
def test_front_ends_agree_whatever_was_lost(loss: str | None) -> None:
    async def history(seed: int) -> None:
        world = World(seed)
        rng, fronts = world.rng, [Front(world) for _ in range(3)]
        for round_number in range(rng.randint(1, 5)):
            before = copy.deepcopy(world.tables)
            await asyncio.gather(*(front.work() for front in rng.sample(fronts, rng.randint(1, len(fronts)))))
            # Nodes of a ring that lose different things lose them once.
            if loss == "back" or (loss is not None and round_number == 0):
                getattr(world.tables, loss)(rng, before)
            if rng.random() < 0.3:
                fronts.append(Front(world))
        world.failing = 0.0
        fronts.append(Front(world))
        rng.shuffle(fronts)
        said = [await front.add() for front in fronts]
        for front in fronts:
            await front.journal.catch_up()
        for front in fronts:
            assert front.state == fronts[0].state, seed
        state = fronts[0].state
        assert set(said) <= set(state), seed
        assert len(set(state)) == len(state), seed

    for seed in range(HISTORIES):
        asyncio.run(asyncio.wait_for(history(seed), 60))


async def _filled(world: World) -> Front:
    """It has written snapshots, and entries after the last one. Others have snapshots, too."""
    world.failing = 0.0
    world.tables.pieces |= {(f"queue {number}", 8 * PART): {0: b"[]"} for number in range(10)}
    front = Front(world)
    for _ in range(5 * PART + 1):
        await front.add()
    assert world.tables.latest is not None
    assert world.tables.latest[0] == 4 * PART
    return front


def _forgotten(tables: Tables) -> None:
    tables.latest = None


def _before(tables: Tables) -> None:
    """It names one that is gone."""
    tables.latest = (2 * PART, 1)


def _unfinished(tables: Tables) -> None:
    """Somebody has died while writing the next one."""
    tables.latest = None
    tables.pieces["queue", 4 * PART + 1] = {0: tables.pieces["queue", 4 * PART][0]}


@pytest.mark.parametrize("lose", [_forgotten, _before, _unfinished])
def test_the_last_snapshot_is_found_when_nothing_says_which_it_is(lose: Callable[[Tables], None]) -> None:
    async def history() -> None:
        world = World(1)
        old = await _filled(world)
        latest = world.tables.latest
        world.tables.pass_time()
        lose(world.tables)
        fresh = Front(world)
        await fresh.journal.open()
        assert fresh.state == old.state
        assert world.tables.latest == latest
        await fresh.add()
        await old.journal.catch_up()
        assert old.state == fresh.state

    asyncio.run(history())


def test_a_journal_of_which_nothing_is_left_does_not_look_new() -> None:
    async def history() -> None:
        world = World(1)
        await _filled(world)
        world.tables.pass_time()
        world.tables.latest = None
        world.tables.pieces.clear()
        with pytest.raises(EntriesMissing):
            await Front(world).add()

    asyncio.run(history())


def test_a_journal_is_removed_though_somebody_died_over_it() -> None:
    async def history(statements: int) -> bool:
        """Whether so many are enough."""
        world = World(1)
        first = await _filled(world)
        world.left = statements
        with contextlib.suppress(StoreError):
            await first.journal.drop()
        is_done, world.left = world.left >= 0, math.inf
        other = Front(world)
        with contextlib.suppress(EntriesMissing):
            await other.journal.open()
        await other.journal.drop()
        left = {number: part for number, part in world.tables.parts.items() if part.rows or not part.closed_s}
        assert not left, statements
        assert not world.tables.latest, statements
        assert "queue" not in {name for name, _ in world.tables.pieces}, statements
        return is_done

    assert [asyncio.run(history(statements)) for statements in range(13)].count(True) > 1
