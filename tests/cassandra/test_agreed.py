"""The journal of strict queues: what is asked for together, and time that passes while somebody looks."""

import asyncio
import gc
import time
import weakref
from typing import Any

import pytest
from msgspec.structs import replace

from rockdove.core.message import Entry
from rockdove.core.publication import WHOLE, Parcel, PublicationName, Winner
from rockdove.store.base import Counts, Draft
from rockdove.store.cassandra import agreed, schema
from rockdove.store.cassandra.index import handover
from rockdove.store.cassandra.note import DROPPED
from tests.support.cassandra import Keyspace
from tests.support.fronts import Front, Fronts, WrongClock, texts, until, with_fronts
from tests.support.store import call, message, us

STRICT = {"RockdoveClaim": "strict"}


async def _publish(front: Front, *bodies: str) -> None:
    """Without landing."""
    publications = front.store.publications
    assert publications is not None
    name = PublicationName(front.queue.uid, "app", 0, WHOLE)
    parcels = [Parcel(body, message(body, 0).md5, 0) for body in bodies]
    await call(publications.stage, name, "a", 0, parcels, 1)
    await call(publications.commit, name, [Winner("a", 1, 0)], "refuse", front.physical)


def test_what_lands_and_what_is_sent_at_the_same_time(keyspace: Keyspace) -> None:
    async def scenario(fronts: Fronts) -> None:
        front = await fronts.open()
        await _publish(front, "published 0", "published 1")
        landings = front.store.landings
        assert landings is not None
        landing = await call(landings.next, None)
        now_us = front.clock.now_us()
        drafts = [Draft(parcel.message(now_us), now_us) for parcel in landing.parcels]
        first = asyncio.ensure_future(front.send("sent 0"))
        while not front.store.replicas.of(front.queue.uid).is_busy:
            await asyncio.sleep(0)
        # These wait for the first one, and are written down in one entry of the journal.
        second = asyncio.ensure_future(call(landings.land, landing, drafts, [(front.physical, [0, 1])]))
        await asyncio.gather(first, second, front.send("sent 1", "sent 2"))
        got = await front.read()
        assert sorted(got) == ["published 0", "published 1", "sent 0", "sent 1", "sent 2"]

    with_fronts(keyspace, scenario, STRICT)


def test_a_message_between_index_and_journal_is_counted(keyspace: Keyspace) -> None:
    """Whoever was handing it over has died."""

    async def scenario(fronts: Fronts) -> None:
        dying, other = await fronts.open(), await fronts.open()
        await dying.send("a", "b")
        await dying.place.hand_over(await dying.place.offer(1, 1 << 20))
        assert await other.count() == Counts(2, 0, 0)
        assert sorted(await other.read()) == ["a", "b"]
        # It is there once.
        assert await other.count() == Counts(0, 2, 0)

    with_fronts(keyspace, scenario)


def test_strict_receives_with_a_clock_that_is_ahead(keyspace: Keyspace) -> None:
    """No message is given twice while its visibility timeout runs, and none is lost."""

    async def scenario(fronts: Fronts) -> None:
        both = await fronts.open(), await fronts.open(ahead_s=0.4)
        bodies = [str(number) for number in range(60)]
        await asyncio.gather(*(both[at % 2].send(body) for at, body in enumerate(bodies)))
        given: list[str] = []

        async def receiver(front: Front, other: Front) -> None:
            while entries := await front.receive(3, timeout_s=30):
                given.extend(texts(entries))
                # A handle works on each front-end, whatever its clock says.
                assert all(await other.remove(*entries))

        await asyncio.gather(*(receiver(both[at % 2], both[1 - at % 2]) for at in range(6)))
        assert sorted(given) == sorted(bodies)
        for front in both:
            assert await front.count() == Counts(0, 0, 0)

    with_fronts(keyspace, scenario, STRICT)


@pytest.mark.parametrize("first", ["the journal has it", "it is deleted"])
def test_what_is_claimed_and_handed_over_at_the_same_moment_goes_when_it_is_deleted(
    keyspace: Keyspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, first: str
) -> None:
    async def scenario(fronts: Fronts) -> None:
        hands_over, claims = await fronts.open(), await fronts.open()
        await hands_over.send(*(str(at) for at in range(8)))
        place = hands_over.place
        offered = await place.offer(8, 1 << 20)
        # To the other they are visible still.
        claimed: list[Entry] = []
        while len(claimed) < 8:
            claimed += await claims.receive(8)
        ids = [entry.id for entry in claimed]
        await place.hand_over(offered)
        if first == "it is deleted":
            await claims.remove(*claimed)
        await hands_over.store.index._handover._adopt(hands_over.queue.uid, place, offered)
        if first != "it is deleted":
            replica = claims.store.replicas.of(claims.queue.uid)
            await until(lambda: len(replica.known(place.number, ids)) == 8)
            assert all(await claims.remove(*claimed))
        replica = hands_over.store.replicas.of(hands_over.queue.uid)
        await until(lambda: not replica.known(place.number, ids))
        for front in (hands_over, claims):
            assert (await front.count()).total == 0
            assert await front.read() == []

    monkeypatch.setattr(handover, "HEARD_S", 0.2)
    with_fronts(keyspace, scenario)
    assert "lost the bodies" not in caplog.text


@pytest.mark.parametrize("attributes", [STRICT, {}], ids=["strict", "fast"])
def test_services_go_by_one_clock(keyspace: Keyspace, attributes: dict[str, str]) -> None:
    """Their machines have theirs set wrong, by less than would be refused."""

    async def scenario(fronts: Fronts) -> None:
        ahead, behind = await fronts.open(clock=WrongClock(0.4)), await fronts.open(clock=WrongClock(-0.4))
        # On a machine that is busy, a comparison may tell too little.
        await until(lambda: abs(ahead.clock.now_us() - behind.clock.now_us()) < us(0.1))
        await behind.send("a")
        since_s = time.monotonic()
        (held,) = await behind.receive(1, timeout_s=2)
        while not (entries := await ahead.receive(1, timeout_s=30)):
            await asyncio.sleep(0.05)
        assert time.monotonic() - since_s > 1.8
        assert [entry.id for entry in entries] == [held.id]

    with_fronts(keyspace, scenario, attributes)


@pytest.mark.parametrize("looks", ["counts", "asks for a hint"])
def test_looking_changes_nothing_that_others_do_not_know(keyspace: Keyspace, looks: str) -> None:
    """To one front-end the time of a message is over, to another, whose clock is behind, it is not."""

    async def scenario(fronts: Fronts) -> None:
        ahead, behind = await fronts.open(), await fronts.open(ahead_s=-0.3)
        await ahead.send("a", "b")
        (held,) = await behind.receive(1, timeout_s=1)
        fronts.advance(1.1)
        if looks == "counts":
            assert await ahead.count() == Counts(2, 0, 0)
        else:
            await ahead.store.replicas.of(ahead.queue.uid).hint(ahead.physical.record.number)
        was_there: bool = await call(behind.physical.remove, held.id, held.receive_count)
        # Who has counted has written down that its time is over.
        assert was_there == (looks != "counts")
        fresh = await fronts.open()
        for front in (ahead, behind, fresh):
            assert (await front.count()).total == 2 - was_there

    with_fronts(keyspace, scenario, STRICT)


def test_an_old_record_does_not_replace_a_newer_one(keyspace: Keyspace) -> None:
    """Two front-ends change a queue, and the first one comes late to tell the journal of it."""

    async def scenario(fronts: Fronts) -> None:
        slow, quick = await fronts.open(), await fronts.open()
        places = slow.store._places
        telling = asyncio.Event()
        settle = places.settle

        async def later(*words: Any) -> None:
            await telling.wait()
            await settle(*words)

        places.settle = later  # type: ignore[method-assign, assignment]
        putting = asyncio.ensure_future(_grow(slow))
        await asyncio.sleep(0.2)
        await quick.hear()
        await _grow(quick)
        # The records have gone on, and the slow one has heard of it.
        await call(quick.store.records.put_queue, replace(quick.queue, modified_us=1), 10, quick.store.ledger.version)
        await slow.hear()
        telling.set()
        await putting
        place = quick.store.physical(quick.queue, quick.queue.physical[-1])
        now_us = quick.clock.now_us()
        await call(place.append, [Draft(message("a", now_us), now_us)])
        assert (await call(place.count)).total == 1

    with_fronts(keyspace, scenario, STRICT)


async def _grow(front: Front) -> None:
    """By one physical queue."""
    records, ledger = front.store.records, front.store.ledger
    (part,) = await call(records.reserve, 1, front.queue.uid)
    record = ledger.queue(front.queue.uid)
    assert record is not None
    front.queue = replace(record, physical=[*record.physical, part])
    await call(records.put_queue, front.queue, 10, ledger.version)


def test_a_queue_that_is_deleted_leaves_no_circle(keyspace: Keyspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its replica goes when all have heard of it: the garbage collector, which stops everybody, is not needed."""
    monkeypatch.setattr(agreed, "HEARD_S", 0.0)

    async def scenario(fronts: Fronts) -> None:
        front = await fronts.open()
        await front.send("a")
        assert await front.read() == ["a"]
        replica = weakref.ref(front.store.replicas.of(front.queue.uid))
        gc.disable()
        try:
            await call(front.store.records.drop_queue, front.queue, 1, 1 << 62)
            while replica() is not None:
                await asyncio.sleep(0.01)
        finally:
            gc.enable()

    with_fronts(keyspace, scenario, STRICT)


def test_what_cannot_be_read_does_not_hold_up_what_others_have_left(
    keyspace: Keyspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was removing one queue has died over it."""
    monkeypatch.setattr(agreed, "HEARD_S", 0.0)

    async def scenario(fronts: Fronts) -> None:
        dying = await fronts.open()
        replicas = dying.store.replicas
        for uid in ("first", "second"):
            await replicas.notes.add(DROPPED, uid)
        name = replicas.of("first").journal.name
        await dying.store.session.ask_agreed(schema.CLOSE_PART, 60, name, 0)
        fresh = await fronts.open()
        notes = fresh.store.replicas.notes
        deadline_s = time.monotonic() + 30
        while await notes.read(DROPPED):
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.05)

    with_fronts(keyspace, scenario, STRICT)
