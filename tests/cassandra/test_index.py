"""The index of fast queues: nothing is lost, whatever fails; counts; cost; clocks that differ."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from cassandra.connection import ConnectionShutdown

from rockdove.core.errors import DataFolderError, StoreError, StoreInterrupted
from rockdove.store.base import Counts
from rockdove.store.cassandra import schema
from rockdove.store.cassandra.index.draw import IN_ORDER
from rockdove.store.cassandra.index.entry import Kind
from tests.support.cassandra import Keyspace
from tests.support.fronts import Front, Fronts, WrongClock, texts, until, with_fronts
from tests.support.store import call

# Those of fast receives that are about messages and entries; the others are for a whole segment.
BY_MESSAGE = (
    schema.ADD_MESSAGE,
    schema.ADD_SPOT,
    schema.DROP_SPOT,
    schema.READ_MESSAGES,
    schema.READ_STATES,
    schema.PUT_STATE,
    schema.DROP_BODY,
)
# Those that a front-end makes each second or two, whatever it serves.
BY_TIME = (
    schema.READ_CLOCK,
    schema.READ_IDENTITY,
    schema.READ_ENTRIES,
    schema.READ_PARTS,
    schema.BEAT,
    schema.READ_PEERS,
    schema.TAKE_DUTY,
    schema.KEEP_DUTY,
)
STEPS = [schema.READ_MESSAGES, schema.ADD_SPOT, schema.PUT_STATE, schema.DROP_SPOT]


def cut_off(front: Front, step: str, is_done: bool) -> None:
    """The front-end dies when it comes to this statement, or just after it: nothing else gets out."""
    session = front.store.session
    execute = session._execute
    is_dead = False

    def dying(done: Callable[[Any], None], text: str, statement: Any) -> None:
        nonlocal is_dead
        if is_dead:
            return
        if text == step:
            is_dead = True
            if is_done:
                execute(lambda rows: None, text, statement)
            return
        execute(done, text, statement)

    session._execute = dying  # type: ignore[method-assign]


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=["read", "add entry", "change state", "drop entry"])
def test_a_front_end_that_dies_in_a_receive_loses_nothing(keyspace: Keyspace, step: str, is_done: bool) -> None:
    async def scenario(fronts: Fronts) -> None:
        dying, other = await fronts.open(), await fronts.open()
        await dying.send("a", "b", "c")
        cut_off(dying, step, is_done)
        receiving = asyncio.ensure_future(dying.receive(2, 30))
        await asyncio.wait([receiving], timeout=1)
        got: list[str] = []
        # Others take its segments for closed, and its receives run out.
        for _ in range(4):
            fronts.advance(61)
            got += await other.read(10, 1000)
        assert sorted(got) == ["a", "b", "c"]
        assert await other.count() == Counts(0, 3, 0)
        receiving.cancel()

    with_fronts(keyspace, scenario)


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", [schema.DROP_BODY, schema.DROP_SPOT], ids=["message", "entry"])
def test_a_front_end_that_dies_in_a_delete(keyspace: Keyspace, step: str, is_done: bool) -> None:
    async def scenario(fronts: Fronts) -> None:
        dying, other = await fronts.open(), await fronts.open()
        await dying.send("a", "b")
        entries = await dying.receive(2, 30)
        await asyncio.sleep(0.2)
        cut_off(dying, step, is_done)
        removing = asyncio.ensure_future(dying.remove(entries[0]))
        await asyncio.wait([removing], timeout=1)
        fronts.advance(61)
        is_removed = removing.done() or is_done
        assert sorted(await other.read()) == (["b"] if is_removed else ["a", "b"])
        removing.cancel()

    with_fronts(keyspace, scenario)


def test_a_state_that_comes_late_still_has_its_entry(keyspace: Keyspace) -> None:
    """Its write has timed out, and another front-end has met its entry meanwhile."""

    async def scenario(fronts: Fronts) -> None:
        slow, other = await fronts.open(), await fronts.open()
        (id,) = await slow.send("a")
        session, late = slow.store.session, []
        execute = session._execute

        def delay(done: Callable[[Any], None], text: str, statement: Any) -> None:
            if text == schema.PUT_STATE:
                late.append(statement)
                asyncio.get_running_loop().call_soon(done, StoreInterrupted("late"))
            else:
                execute(done, text, statement)

        session._execute = delay  # type: ignore[method-assign]
        with pytest.raises(StoreError, match="late"):
            await slow.receive(1, 0)
        session._execute = execute  # type: ignore[method-assign]
        # The entry for the time after that receive is visible, and does not count.
        fronts.advance(0.001)
        place = other.place
        await place.look.gather(10, is_sure=True)
        place._draws.draw(1, IN_ORDER)
        await place._read(list(place.known.taken))
        # Now it does.
        await asyncio.wait_for(asyncio.shield(_execute(session, late[0])), 10)
        fronts.advance(61)
        assert await other.read() == ["a"]
        assert await call(other.physical.find, id) is not None

    with_fronts(keyspace, scenario)


def test_a_message_that_is_just_being_sent_is_not_taken_for_gone(keyspace: Keyspace) -> None:
    """Who has only sent so far reads its own segment: an entry may be there before its message."""

    async def scenario(fronts: Fronts) -> None:
        front, other = await fronts.open(), await fronts.open()
        await front.send("early")
        session, late = front.store.session, []
        execute = session._execute

        def delay(*words: Any) -> None:
            if words[1] == schema.ADD_MESSAGE:
                late.append(words)
            else:
                execute(*words)

        session._execute = delay  # type: ignore[assignment]
        sending = asyncio.ensure_future(front.send("late"))
        await until(lambda: bool(late))
        await asyncio.sleep(0.3)
        # It meets the entry, and then waits for what is being written beside it.
        receiving = asyncio.ensure_future(front.receive(10, 1_000))
        await asyncio.sleep(0.5)
        session._execute = execute  # type: ignore[method-assign]
        for words in late:
            execute(*words)
        assert texts(await receiving) == ["early"]
        await sending
        for _ in range(3):
            fronts.advance(5)
            if got := await other.receive(10, 1_000):
                assert texts(got) == ["late"]
                return
        raise AssertionError("it was taken for gone")

    with_fronts(keyspace, scenario)


async def _execute(session: Any, statement: Any) -> None:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    session._execute(future.set_result, schema.PUT_STATE, statement)
    await future


def test_two_at_the_same_moment_both_have_it_and_it_is_one_message(keyspace: Keyspace) -> None:
    async def scenario(fronts: Fronts) -> None:
        one, other = await fronts.open(), await fronts.open()
        await one.send("a")
        # Both know of it.
        for front in (one, other):
            await front.place.look.gather(1, is_sure=True)
        both = await asyncio.gather(one.receive(1), other.receive(1))
        got = [entry for entries in both for entry in entries]
        assert texts(got) in (["a"], ["a", "a"])
        assert (await other.count()).total == 1
        # Either may delete it.
        assert await one.remove(got[-1]) == [True]
        fronts.advance(100)
        assert await one.read() == await other.read() == []
        assert (await other.count()).total == 0

    with_fronts(keyspace, scenario)


@pytest.mark.parametrize("ahead_s", [-0.4, 0.4])
def test_a_clock_that_is_off(keyspace: Keyspace, ahead_s: float) -> None:
    async def scenario(fronts: Fronts) -> None:
        right, off = await fronts.open(), await fronts.open(ahead_s)
        sent = [str(number) for number in range(40)]
        for number, body in enumerate(sent):
            await (off if number % 2 else right).send(body)
        got: list[str] = []
        for _ in range(6):
            fronts.advance(1)
            for front in (right, off):
                entries = await front.receive(10, 2)
                got += texts(entries)
                await (right if front is off else off).remove(*entries)
        assert sorted(set(got), key=int) == sent
        assert len(got) == len(sent)
        fronts.advance(10)
        assert (await right.count()).total == (await off.count()).total == 0

    with_fronts(keyspace, scenario)


def test_statements_for_each_message(keyspace: Keyspace) -> None:
    """A batch in one partition counts one."""

    async def scenario(fronts: Fronts) -> None:
        front = await fronts.open()
        made = front.store.session.made

        def total() -> int:
            return made.total() - sum(made[text] for text in BY_TIME)

        await front.send("first")
        before = total()
        for number in range(400):
            await front.send(str(number))
        assert total() - before <= 2.05 * 400
        before = total()
        for number in range(0, 3_000, 10):
            await front.send(*map(str, range(number, number + 10)))
        # Ten at a time, of which each has 2, and some 6 for each segment of 500.
        assert total() - before <= 2.3 * 300
        before = total()
        received = 0
        while received < 3_000:
            entries = await front.receive(10, 30)
            received += len(entries)
            assert all(await front.remove(*entries))
        await asyncio.sleep(0.2)
        assert (total() - before) / received <= 1.5
        by_message = sum(made[text] for text in BY_MESSAGE)
        assert by_message / total() > 0.9
        # What messages carry is written once.
        assert made[schema.ADD_BODY] == 0

    with_fronts(keyspace, scenario)


def test_what_another_front_end_has_taken_is_not_looked_at_again(keyspace: Keyspace) -> None:
    """They tell each other what was sent and what was taken, and so each message is read once."""

    async def scenario(fronts: Fronts) -> None:
        both = [await fronts.open(), await fronts.open()]
        # They say now and then that they receive.
        while not all(front.place.members.number == 2 for front in both):
            for front in both:
                assert await front.receive(1) == []
            await asyncio.sleep(0.1)
        reads = [front.store.session.made for front in both]
        before = sum(made[schema.READ_MESSAGES] for made in reads)
        left = {str(number) for number in range(60)}
        for number in sorted(left):
            await both[int(number) % 2].send(number)
        turns = itertools.cycle(both)
        while left:
            for entry in await (front := next(turns)).receive(1):
                await front.remove(entry)
                left.discard(entry.message.text)
        for _ in range(6):
            fronts.advance(3)
            for front in both:
                assert await front.receive(1) == []
        assert sum(made[schema.READ_MESSAGES] for made in reads) - before < 1.2 * 60

    with_fronts(keyspace, scenario)


def test_segments_go_when_they_are_empty(keyspace: Keyspace) -> None:
    async def scenario(fronts: Fronts) -> None:
        front = await fronts.open()
        for _ in range(3):
            for number in range(0, 1_000, 50):
                await front.send(*map(str, range(number, number + 50)))
            while entries := await front.receive(50, 30):
                await front.remove(*entries)
            fronts.advance(31)
        await asyncio.sleep(0.5)
        place = front.place
        place.directory.end_all()
        # A node that has just started takes its time to remove them.
        for _ in range(600):
            await place.directory.look(everything=True)
            if not place.directory.segments:
                break
            await asyncio.sleep(0.1)
        assert place.directory.numbers == {Kind.SENT: 0, Kind.HELD: 0}
        rows = await front.store.session.ask(schema.READ_SEGMENT, place.name, 1, 0)
        assert rows == []

    with_fronts(keyspace, scenario)


def test_a_new_front_end_finds_what_others_have_left(keyspace: Keyspace) -> None:
    async def scenario(fronts: Fronts) -> None:
        first = await fronts.open()
        sent = [str(number) for number in range(1_200)]
        for at in range(0, len(sent), 100):
            await first.send(*sent[at : at + 100])
        assert len(await first.receive(10, 5)) == 10
        await first.send("late", delay_s=100)
        second = await fronts.open()
        assert await second.count() == Counts(1_190, 10, 1)
        got: list[str] = []
        while found := await second.read(100, 10_000):
            got += found
        assert got == sent[10:]
        fronts.advance(6)
        assert await second.read(100, 10_000) == sent[:10]
        fronts.advance(100)
        assert await second.read(100, 10_000) == ["late"]
        assert await second.count() == await first.count() == Counts(0, 1_201, 0)

    with_fronts(keyspace, scenario)


def test_a_message_of_the_journal_whose_body_is_lost_is_removed(
    keyspace: Keyspace, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(fronts: Fronts) -> None:
        front = await fronts.open()
        await front.send("lost", "kept")
        session = front.store.session
        ((block, _),) = await session.ask(schema.READ_BLOCKS, session.named("u"), -1, 10)
        await session.ask(schema.DROP_BODY, session.named("u"), block, 0)
        assert await front.read(10, 1) == ["kept"]
        await asyncio.sleep(0.5)
        fronts.advance(2)
        assert await front.read(10, 1) == ["kept"]
        assert await front.count() == Counts(0, 1, 0)

    with_fronts(keyspace, scenario, {"RockdoveClaim": "strict"})
    assert "Cassandra has lost the bodies of messages of q, which are removed: 1" in caplog.text


def test_a_look_at_the_clock_that_fails_is_made_again(keyspace: Keyspace) -> None:
    """A node that hangs breaks its connections, in ways of which the driver has many."""

    async def scenario(fronts: Fronts) -> None:
        clock = WrongClock(0)
        front = await fronts.open(clock=clock)
        session: Any = front.store.session
        working = session._session
        session._session = Hanging(working)
        await until(lambda: session._session.asked >= 2)
        # Another node tells the time meanwhile, and looks go on.
        clock.off_s = 5
        await until(lambda: front.store.trouble is not None)
        session._session = working
        clock.off_s = 0
        await until(lambda: front.store.trouble is None)

    with_fronts(keyspace, scenario)


class Hanging:
    """A driver's session that has lost its connection to a node, if that alone is asked."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def execute_async(self, *words: Any, **names: Any) -> Any:
        if "host" not in names:
            return self._session.execute_async(*words, **names)
        self.asked += 1
        return self

    def add_callbacks(self, came: Any, failed: Callable[[Exception], None]) -> None:
        failed(ConnectionShutdown("Connection heartbeat timeout"))


@pytest.mark.parametrize(("off_s", "where"), [(0.9, "ahead of"), (-5.0, "behind")])
def test_a_clock_that_is_too_far_off(keyspace: Keyspace, off_s: float, where: str) -> None:
    async def scenario(fronts: Fronts) -> None:
        clock = WrongClock(0)
        front = await fronts.open(clock=clock)
        await front.send("a")
        clock.off_s = off_s
        await until(lambda: front.store.trouble is not None)
        assert f" s {where} that of Cassandra, and may be off by 0.5 s" in str(front.store.trouble)
        with pytest.raises(StoreError, match="Set both by NTP"):
            await front.send("b")
        with pytest.raises(DataFolderError, match="Set both by NTP"):
            await fronts.open(clock=WrongClock(off_s))
        clock.off_s = 0
        await until(lambda: front.store.trouble is None)
        assert await front.read() == ["a"]

    with_fronts(keyspace, scenario)
