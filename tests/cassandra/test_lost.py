"""Entries of a journal that Cassandra had acknowledged, and has lost: all front-ends come to the same, and go on."""

import logging
import re
import time
from collections.abc import Callable, Sequence

import pytest

from rockdove.core.clock import ManualClock
from rockdove.store.base import Counts
from rockdove.store.cassandra import journal as journals
from rockdove.store.cassandra.journal import Journal
from tests.support.cassandra import Keyspace, cluster_session
from tests.support.fronts import Front, Fronts, with_fronts
from tests.support.store import call, us

STRICT = {"RockdoveClaim": "strict"}
# Numbers of segments count from 2026 on.
NOW_S = 1_800_000_000
# Versions in one partition of these tests.
PART = 4


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few entries in a part, and nobody takes what was a moment ago for known."""
    monkeypatch.setattr(journals, "PART", PART)
    monkeypatch.setattr(journals, "SURE_S", -1.0)


def _journal(front: Front) -> Journal:
    return front.store.replicas.of(front.queue.uid).journal


def _records(front: Front) -> Journal:
    return front.store.records.journal


def _lose(keyspace: Keyspace, journal: Journal, versions: Sequence[int]) -> None:
    """As nodes do that die before these are on disk: what a part says of its last entry goes with it."""
    session, name = cluster_session(), keyspace.address.keyspace
    where = "name = %s AND part = %s"
    for version in versions:
        part = (journal.name, version // PART)
        session.execute(f"DELETE FROM {name}.journal WHERE {where} AND version = %s", (*part, version))
    for number in {version // PART for version in versions}:
        part = (journal.name, number)
        left = session.execute(f"SELECT version, mark FROM {name}.journal WHERE {where}", part)
        marks = [row.mark for row in left if row.mark is not None]
        session.execute(f"UPDATE {name}.journal SET tail = %s WHERE {where}", (marks[-1] if marks else None, *part))


async def _sent(front: Front, bodies: str) -> list[int]:
    """The versions of their entries, one for each."""
    versions = []
    for body in bodies:
        await front.send(body)
        versions.append(_journal(front).version)
    return versions


# However the parts fall.
@pytest.mark.parametrize("before", range(PART))
@pytest.mark.parametrize("knows", ["the one that has sent them", "another"])
def test_the_last_ones_are_lost(keyspace: Keyspace, before: int, knows: str) -> None:
    async def scenario(fronts: Fronts) -> None:
        old = await fronts.open()
        await _sent(old, "....."[:before])
        await _sent(old, "a")
        lost = await _sent(old, "bc")
        _lose(keyspace, _journal(old), lost)
        fresh = await fronts.open()
        first, then = (old, fresh) if knows != "another" else (fresh, old)
        await _sent(first, "d")
        await _sent(then, "e")
        expected = Counts(before + 3, 0, 0)
        assert [await front.count() for front in (old, fresh)] == [expected, expected]
        got = await old.read()
        assert sorted(got) == sorted("....."[:before] + "ade")
        assert await fresh.count() == Counts(0, before + 3, 0)

    with_fronts(keyspace, scenario, STRICT)


@pytest.mark.parametrize("before", range(PART))
def test_some_in_the_middle_are_lost(keyspace: Keyspace, before: int, caplog: pytest.LogCaptureFixture) -> None:
    """Others have them in memory, and do not know that they are lost."""

    async def scenario(fronts: Fronts) -> None:
        old = await fronts.open()
        await _sent(old, "....."[:before])
        await _sent(old, "a")
        lost = await _sent(old, "bc")
        await _sent(old, "d")
        _lose(keyspace, _journal(old), lost)
        await _sent(old, "e")
        with caplog.at_level(logging.ERROR, "rockdove"):
            fresh = await fronts.open()
            assert await fresh.count() == Counts(before + 3, 0, 0)
        told = re.findall(rf"entries (\d+) to (\d+) of the journal queue {old.queue.uid}:", caplog.text)
        assert [version for first, last in told for version in range(int(first), int(last) + 1)] == lost
        await _sent(old, "f")
        assert [await front.count() for front in (old, fresh)] == [Counts(before + 4, 0, 0)] * 2
        assert sorted(await old.read()) == sorted("....."[:before] + "adef")
        assert await fresh.count() == Counts(0, before + 4, 0)

    with_fronts(keyspace, scenario, STRICT)


def test_entries_after_a_snapshot_are_lost(keyspace: Keyspace) -> None:
    async def scenario(fronts: Fronts) -> None:
        old = await fronts.open()
        await _sent(old, "abcdef")
        await old.store.replicas.of(old.queue.uid).keep()
        lost = await _sent(old, "gh")
        _lose(keyspace, _journal(old), lost)
        await _sent(old, "i")
        fresh = await fronts.open()
        await _sent(fresh, "j")
        assert [await front.count() for front in (old, fresh)] == [Counts(8, 0, 0)] * 2
        assert sorted(await old.read()) == sorted("abcdefij")

    with_fronts(keyspace, scenario, STRICT)


def test_the_opening_of_a_segment_is_lost(keyspace: Keyspace) -> None:
    """Whoever fills it opens another one, and nobody fills one of the same number."""

    async def scenario(fronts: Fronts) -> None:
        one, other = await fronts.open(clock=ManualClock(us(NOW_S))), await fronts.open()
        await one.send("lost")
        session, name = cluster_session(), keyspace.address.keyspace
        queue = one.place.directory._name
        where = f"{name}.segment WHERE queue = %s"
        (opened,) = session.execute(f"SELECT number FROM {where} AND kind = 0", (queue,))
        session.execute(f"DELETE FROM {where}", (queue,))
        for table, column in (("entry", "segment"), ("body", "block")):
            session.execute(f"DELETE FROM {name}.{table} WHERE queue = %s AND {column} = %s", (queue, opened.number))
        # As a look at the nodes finds out that does not go through.
        one.store.session.troubled_s = other.store.session.troubled_s = time.monotonic()
        fronts.advance(10)
        sent = [str(number) for number in range(20)]
        given = [await (one, other)[int(body) % 2].send(body) for body in sent]
        assert len({id for ids in given for id in ids}) == 20
        fresh = await fronts.open()
        got: list[str] = []
        while some := await fresh.read():
            got += some
        assert sorted(got, key=int) == sent

    with_fronts(keyspace, scenario)


def test_records_are_lost(keyspace: Keyspace) -> None:
    """What was said last is gone; front-ends agree on what is left, and queues can be made again."""

    async def scenario(fronts: Fronts) -> None:
        old = await fronts.open()
        journal = old.store.records.journal
        before = old.store.ledger.version
        _lose(keyspace, journal, [journal.version])
        fresh = await fronts.open()
        assert fresh.store.ledger.queue(old.queue.uid) is None
        await old.hear()
        assert old.store.ledger.queue(old.queue.uid) is None
        assert old.store.ledger.version < before

    with_fronts(keyspace, scenario, STRICT)


@pytest.mark.parametrize("journal_of", [_journal, _records])
def test_it_is_lost_which_snapshot_is_the_last(keyspace: Keyspace, journal_of: Callable[[Front], Journal]) -> None:
    """What was before it is not in the journal any more."""

    async def scenario(fronts: Fronts) -> None:
        old = await fronts.open()
        await _sent(old, "abc")
        journal = journal_of(old)
        while journal.version < 3 * PART:
            if journal is _journal(old):
                await _sent(old, "d")
            else:
                await call(old.store.records.put_queue, old.queue, 10, 1 << 62)
        kept = journal.version
        await journal.keep(journal._dump(), kept)
        sent = (await old.count()).visible
        name = keyspace.address.keyspace
        cluster_session().execute(f"TRUNCATE {name}.latest")
        fresh = await fronts.open()
        await _sent(fresh, "e")
        assert journal_of(fresh).snapshot_version == kept
        assert [await front.count() for front in (old, fresh)] == [Counts(sent + 1, 0, 0)] * 2
        (latest,) = cluster_session().execute(f"SELECT version FROM {name}.latest WHERE name = %s", (journal.name,))
        assert latest.version == kept

    with_fronts(keyspace, scenario, STRICT)
