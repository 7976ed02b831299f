"""A store in another process: what becomes of a front-end's claims when it is lost, and of calls when the owner is."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from rockdove.core.clock import ManualClock, SystemClock
from rockdove.core.errors import StoreError
from rockdove.core.queue import QueueRecord
from rockdove.store.base import Change, Claimed, Counts, Draft, QueuePut, Snapshot, Want
from rockdove.store.common.turns import MOST_CLAIMS
from rockdove.store.memory.store import MemoryStore
from rockdove.store.remote import asked, told
from rockdove.store.remote.error import StoreAway
from rockdove.store.remote.frame import ENOUGH
from rockdove.store.remote.owner import Owner
from rockdove.store.remote.store import RemoteStore
from tests.support.store import call, message


class House:
    """A store in memory, its owner, and front-ends, all in one loop."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.inner = MemoryStore(self.clock, Random(1))
        self.path = str(folder / "owner")
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen()
        self.start()

    def start(self) -> None:
        self.owner = Owner(self.inner, self.clock)
        self.owner.start(self._listening)

    async def front_end(self) -> tuple[RemoteStore, Snapshot]:
        store = RemoteStore(self.path, self.clock)
        return store, await store.open()

    def close(self) -> None:
        self.owner.close()
        self._listening.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


async def queue_of(store: RemoteStore, seen: int) -> QueueRecord:
    physical = await call(store.records.reserve, 1, "uid")
    record = QueueRecord(
        uid="uid", account="0" * 12, name="q", fifo=False, created_us=0, modified_us=0, physical=physical
    )
    await call(store.records.put_queue, record, 10, seen)
    return record


def claims(claimed: Claimed) -> list[tuple[int, int]]:
    return [(entry.id, entry.receive_count) for entry in claimed.entries]


def drafts(house: House, *bodies: str) -> list[Draft]:
    now_us = house.clock.now_us()
    return [Draft(message(body, now_us), now_us) for body in bodies]


def test_what_a_lost_front_end_had_claimed_is_visible_at_once(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> tuple[Counts, Claimed]:
        house = House(folder)
        one, snapshot = await house.front_end()
        two, _ = await house.front_end()
        record = await queue_of(one, snapshot.version)
        first, second = (store.physical(record, record.physical[0]) for store in (one, two))
        await call(first.append, drafts(house, "delivered", "claimed", "dead"))
        await call(first.claim, Want(1, 30_000_000))
        taken = await call(first.claim, Want(1, 1))
        house.clock.advance(1)
        delivered = await call(second.find, taken.entries[0].id)
        assert delivered is not None
        # The first is with a client; the second is claimed again; the third has had its deliveries.
        claimed = await call(first.claim, Want(1, 30_000_000))
        one.delivered(first, [])
        await call(first.claim, Want(1, 30_000_000, max_receives=1))
        assert len(claimed.entries) == 1
        one.link.close()
        for _ in range(50):
            await asyncio.sleep(0)
        counts = await call(second.count)
        again = await call(second.claim, Want(10, 30_000_000))
        two.close()
        house.close()
        return counts, again

    counts, again = loop.run_until_complete(scenario())
    assert counts == Counts(3, 0, 0)
    assert sorted(entry.message.text for entry in again.entries) == ["claimed", "dead", "delivered"]


def test_what_was_delivered_stays_in_flight(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> Counts:
        house = House(folder)
        one, snapshot = await house.front_end()
        two, _ = await house.front_end()
        record = await queue_of(one, snapshot.version)
        first, second = (store.physical(record, record.physical[0]) for store in (one, two))
        await call(first.append, drafts(house, "a", "b"))
        claimed = await call(first.claim, Want(1, 30_000_000))
        one.delivered(first, claims(claimed))
        await call(first.count)
        one.link.close()
        for _ in range(50):
            await asyncio.sleep(0)
        counts: Counts = await call(second.count)
        two.close()
        house.close()
        return counts

    assert loop.run_until_complete(scenario()) == Counts(1, 1, 0)


def test_its_clock_is_set_as_the_owners_is(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        house = House(folder)
        house.owner.clock = owners = SystemClock()
        owners.offset_us = 400_000
        clock = SystemClock()
        store = RemoteStore(house.path, clock)
        await store.open()
        assert clock.offset_us == 400_000
        owners.offset_us = -1
        for _ in range(50):
            if clock.offset_us == -1:
                break
            await asyncio.sleep(0.1)
        assert clock.offset_us == -1
        store.close()
        house.close()

    loop.run_until_complete(scenario())


def test_without_the_owner_calls_fail_at_once_and_then_go_on(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> tuple[list[str], list[Snapshot]]:
        house, resets = House(folder), list[Snapshot]()
        store, snapshot = await house.front_end()
        store.records.subscribe(lambda change: None, resets.append)
        record = await queue_of(store, snapshot.version)
        physical = store.physical(record, record.physical[0])
        house.owner.close()
        for _ in range(10):
            await asyncio.sleep(0)
        assert store.trouble is not None
        failures = []
        for verb, arguments in ((physical.count, ()), (physical.append, (drafts(house, "a"),))):
            try:
                await call(verb, *arguments)
            except StoreError as error:
                failures.append(type(error).__name__)
        house.start()
        while store.trouble is not None:
            await asyncio.sleep(0.01)
        await call(physical.append, drafts(house, "a"))
        assert await call(physical.count) == Counts(1, 0, 0)
        store.close()
        house.close()
        return failures, resets

    failures, resets = loop.run_until_complete(scenario())
    assert failures == [StoreAway.__name__] * 2
    assert [[queue.name for queue in snapshot.queues] for snapshot in resets] == [["q"]]


def test_another_user_is_not_let_in(
    folder: Path, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> bytes:
        house = House(folder)
        monkeypatch.setattr("os.geteuid", lambda: 4_711)
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        client.connect(str(folder / "owner"))
        answer = await asyncio.wait_for(loop.sock_recv(client, 100), 5)
        client.close()
        house.close()
        return answer

    assert loop.run_until_complete(scenario()) == b""


def test_what_cannot_be_said_fails_alone(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    complaints: list[str] = []
    loop.set_exception_handler(lambda _, context: complaints.append(str(context["exception"])))

    async def scenario() -> tuple[list[str], Counts]:
        house = House(folder)
        store, snapshot = await house.front_end()
        record = await queue_of(store, snapshot.version)
        physical = store.physical(record, record.physical[0])
        too_large = 1 << 80
        # All in one frame.
        calls = [
            asyncio.ensure_future(call(physical.append, drafts(house, "a"))),
            asyncio.ensure_future(call(physical.find, too_large)),
            asyncio.ensure_future(call(physical.count)),
        ]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        counts: Counts = await call(physical.count)
        store.close()
        house.close()
        return [type(outcome).__name__ for outcome in outcomes], counts

    outcomes, counts = loop.run_until_complete(scenario())
    assert outcomes == ["list", "StoreError", "Counts"]
    assert counts == Counts(1, 0, 0)
    assert len(complaints) == 1


def test_a_second_claim_is_not_taken_for_the_first(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> Counts:
        house = House(folder)
        one, snapshot = await house.front_end()
        two, _ = await house.front_end()
        record = await queue_of(one, snapshot.version)
        first, second = (store.physical(record, record.physical[0]) for store in (one, two))
        await call(first.append, drafts(house, "a"))
        before = await call(first.claim, Want(1, 0))
        await call(first.claim, Want(1, 30_000_000))
        # The answer to the first has left, that to the second has not.
        one.delivered(first, claims(before))
        await call(first.count)
        await call(first.count)
        one.link.close()
        for _ in range(50):
            await asyncio.sleep(0)
        counts: Counts = await call(second.count)
        two.close()
        house.close()
        return counts

    assert loop.run_until_complete(scenario()) == Counts(1, 0, 0)


def test_a_large_message_that_a_lost_front_end_had_is_visible_at_once(
    folder: Path, loop: asyncio.AbstractEventLoop
) -> None:
    """The owner does not keep it in memory meanwhile."""

    async def scenario() -> tuple[Counts, Claimed]:
        house = House(folder)
        one, snapshot = await house.front_end()
        two, _ = await house.front_end()
        record = await queue_of(one, snapshot.version)
        first, second = (store.physical(record, record.physical[0]) for store in (one, two))
        await call(first.append, drafts(house, "delivered" * 10_000, "claimed" * 10_000))
        delivered = await call(first.claim, Want(limit=1, timeout_us=30_000_000))
        await call(first.claim, Want(limit=1, timeout_us=30_000_000))
        one.delivered(first, claims(delivered))
        await call(first.count)
        one.close()
        while (counts := await call(second.count)).visible == 0:
            await asyncio.sleep(0.01)
        claimed = await call(second.claim, Want(limit=2, timeout_us=30_000_000))
        two.close()
        house.close()
        return counts, claimed

    counts, claimed = loop.run_until_complete(scenario())
    assert (counts.visible, counts.in_flight) == (1, 1)
    (entry,) = claimed.entries
    assert (entry.message.text, entry.receive_count) == ("claimed" * 10_000, 1)


def test_many_large_claims_at_once_wait_for_their_turn(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    """Half a gigabyte of outcomes: the owner does not encode them all, and does not take the reader for dead."""

    async def scenario() -> list[Claimed]:
        house = House(folder)
        store, snapshot = await house.front_end()
        record = await queue_of(store, snapshot.version)
        physical = store.physical(record, record.physical[0])
        await call(physical.append, drafts(house, "x" * 1_000_000))
        claims = [call(physical.claim, Want(limit=1, timeout_us=0)) for _ in range(500)]
        claimed = await asyncio.gather(*claims)
        store.close()
        house.close()
        return claimed

    claimed = loop.run_until_complete(scenario())
    assert [len(each.entries) for each in claimed] == [1] * 500
    # In the order in which they were asked for.
    assert [each.entries[0].receive_count for each in claimed] == list(range(1, 501))


def test_a_front_end_that_stands_still_holds_nothing_up(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    """It asks for as much as one does at most, and does not read: others are served, and what it got comes back."""

    async def scenario() -> tuple[int, int, int]:
        house = House(folder)
        store, snapshot = await house.front_end()
        record = await queue_of(store, snapshot.version)
        physical = store.physical(record, record.physical[0])
        await call(physical.append, drafts(house, *["x" * 250_000] * 300))
        still = socket.socket(socket.AF_UNIX)
        still.connect(house.path)
        verbs = [asked.ClaimEntries(token, physical.record.number, Want(1, 30_000_000)) for token in range(MOST_CLAIMS)]
        body = msgspec.msgpack.encode(verbs)
        still.sendall(len(body).to_bytes(4, "little") + body)
        while (await call(physical.count)).in_flight < 10:
            await asyncio.sleep(0.01)
        mine = await call(physical.claim, Want(limit=1, timeout_us=30_000_000))
        before = await call(physical.count)
        still.close()
        while (after := await call(physical.count)).in_flight > 1:
            await asyncio.sleep(0.01)
        store.close()
        house.close()
        return len(mine.entries), before.in_flight, after.visible

    mine, in_flight, visible = loop.run_until_complete(scenario())
    assert mine == 1
    assert 10 <= in_flight <= MOST_CLAIMS + 1
    assert visible == 299


def test_nothing_is_missed_between_the_first_records_and_the_first_listener(
    folder: Path, loop: asyncio.AbstractEventLoop
) -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        house = House(folder)
        one, snapshot = await house.front_end()
        late, first = await house.front_end()
        heard: list[Change] = []
        # While the second is on its way from its records to its listeners, the first goes on.
        await queue_of(one, snapshot.version)
        await call(late.records.catch_up)
        late.records.subscribe(heard.append, lambda snapshot: None)
        names = [change.queue.name for change in heard if isinstance(change, QueuePut)]
        for store in (one, late):
            store.close()
        house.close()
        return [queue.name for queue in first.queues], names

    before, heard = loop.run_until_complete(scenario())
    assert (before, heard) == ([], ["q"])


def test_records_that_begin_anew_before_the_first_listener(folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> tuple[list[Snapshot], list[Change]]:
        house = House(folder)
        one, snapshot = await house.front_end()
        await queue_of(one, snapshot.version)
        resets: list[Snapshot] = []
        heard: list[Change] = []
        house.owner.close()
        while one.trouble is None:
            await asyncio.sleep(0)
        house.start()
        while one.trouble is not None:
            await asyncio.sleep(0.01)
        await call(one.records.catch_up)
        one.records.subscribe(heard.append, resets.append)
        one.close()
        house.close()
        return resets, heard

    (again,), heard = loop.run_until_complete(scenario())
    assert [queue.name for queue in again.queues] == ["q"]
    assert heard == []


def test_a_front_end_that_is_lost_while_all_are_told_stops_nobody(
    folder: Path, loop: asyncio.AbstractEventLoop
) -> None:
    async def scenario() -> list[int]:
        house = House(folder)
        stores = [(await house.front_end())[0] for _ in range(6)]
        record = await queue_of(stores[1], house.inner.ledger.version)
        heard: list[int] = []
        for number, store in enumerate(stores):
            await call(store.records.catch_up)
            store.records.subscribe(lambda change, number=number: heard.append(number), lambda snapshot: None)  # type: ignore[misc]
        heard.clear()
        # Half of them are gone, and the owner finds out while it tells everybody: then a frame is full.
        for store in stores[::2]:
            connection = store.link._connection
            assert connection is not None
            assert connection._socket is not None
            connection._socket.shutdown(socket.SHUT_RDWR)
        for front_end in list(house.owner._front_ends):
            for _ in range(ENOUGH - 1):
                front_end.send(told.Passed("nothing", b""))
        house.owner._changed(QueuePut(house.inner.ledger.version + 1, record))
        for store in stores[1::2]:
            await call(store.records.catch_up)
            store.close()
        for store in stores[::2]:
            store.close()
        house.close()
        return heard

    assert sorted(loop.run_until_complete(scenario())) == [1, 3, 5]
