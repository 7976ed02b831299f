"""A batch that is published as a whole: decided at once, and then it lands, whatever happens meanwhile."""

import asyncio

from rockdove.core.limits import STAGED_S
from rockdove.core.publication import WHOLE, Landing, Parcel, PublicationName, Winner
from rockdove.store.base import Draft
from rockdove.store.base.publication import Decision
from tests.contract.store.publications.test_publish import look, name_of, pass_time, publish
from tests.support.store import Bench, Queue, submit


def batch_of(queue: Queue, batch: int = 0, application: str = "app") -> PublicationName:
    return PublicationName(queue.record.uid, application, batch, WHOLE)


def stage(queue: Queue, name: PublicationName, *chunks: str, attempt: str = "one") -> Winner:
    """A message for each letter of a chunk."""
    for number, bodies in enumerate(chunks):
        parcels = [Parcel(body, "md5", 0) for body in bodies]
        queue.bench.do(queue.bench.publications.stage, name, attempt, number, parcels, len(bodies))
    return Winner(attempt, len(chunks), 0)


def commit(queue: Queue, name: PublicationName, *winners: Winner) -> Decision:
    told: Decision = queue.bench.do(queue.bench.publications.commit, name, winners, "match", queue.physical())
    return told


def following(bench: Bench, after: PublicationName | None = None) -> Landing | None:
    found: Landing | None = bench.do(bench.landings.next, after)
    return found


def land(queue: Queue, landing: Landing) -> bool:
    """Whether it was still there."""
    inner, record = queue.bench.inner, queue.record
    drafts = [Draft(parcel.message(landing.at_us), landing.at_us + parcel.delay_us) for parcel in landing.parcels]
    parts = [(inner.physical(record, record.physical[0]), list(range(len(drafts))))]
    return queue.bench.do(queue.bench.landings.land, landing, drafts, parts) is not None


def land_all(queue: Queue) -> None:
    while (landing := following(queue.bench)) is not None:
        assert land(queue, landing)


def test_it_counts_from_the_decision_on(bench: Bench, queue: Queue) -> None:
    name = batch_of(queue)
    assert commit(queue, name, stage(queue, name, "abc", "de")) == Decision(5, is_new=True)
    assert queue.count() == (5, 0, 0)
    landing = following(bench)
    assert landing is not None
    assert land(queue, landing)
    assert queue.count() == (5, 0, 0)
    assert queue.read() == ["a", "b", "c"]
    assert queue.count() == (2, 3, 0)
    land_all(queue)
    assert queue.read() == ["d", "e"]
    assert queue.count() == (0, 5, 0)


def test_no_partition_is_published_after_the_whole(bench: Bench, queue: Queue) -> None:
    """A task of an older sink may still try it; what it has published before stays its own."""
    assert publish(queue, name_of(queue, 0, partition=1), "x").standing.winner == "one"
    name = batch_of(queue)
    decided = queue.bench.do(queue.bench.publications.commit, name, [], "skip", queue.physical())
    assert decided.is_new
    late = publish(queue, name_of(queue, 0, partition=2), "y", attempt="late")
    assert late.appended is None
    assert late.standing.winner == ""
    assert look(queue, name_of(queue, 0, partition=1)).winner == "one"
    assert publish(queue, name_of(queue, 1, partition=2), "z", attempt="late").standing.winner == "late"
    assert sorted(queue.read()) == ["x", "z"]


def test_a_chunk_lands_once(bench: Bench, queue: Queue) -> None:
    name = batch_of(queue)
    commit(queue, name, stage(queue, name, "ab", "c"))
    landing = following(bench)
    assert landing is not None
    assert land(queue, landing)
    assert not land(queue, landing)
    assert queue.read() == ["a", "b"]


def test_it_goes_on_after_a_crash(durable: Bench) -> None:
    queue = durable.queue()
    name = batch_of(queue)
    commit(queue, name, stage(queue, name, "ab", "cd", "e"))
    landing = following(durable)
    assert landing is not None
    assert land(queue, landing)
    durable.crash()
    assert queue.count() == (5, 0, 0)
    assert commit(queue, name, stage(queue, name, "z", attempt="later")) == Decision(5)
    land_all(queue)
    assert sorted(queue.read()) == ["a", "b", "c", "d", "e"]
    assert following(durable) is None


def test_however_long_it_takes(bench: Bench, queue: Queue) -> None:
    name = batch_of(queue)
    commit(queue, name, stage(queue, name, "ab"))
    stage(queue, batch_of(queue, 1), "never")
    pass_time(bench, STAGED_S)
    stage(queue, batch_of(queue, 2), "x")
    land_all(queue)
    assert queue.read() == ["a", "b"]
    assert commit(queue, batch_of(queue, 1), Winner("one", 1, 0)).missing == "one"


def test_batches_take_turns(bench: Bench, queue: Queue) -> None:
    """A small one does not wait for a large one."""
    for application in ("large", "small"):
        name = batch_of(queue, application=application)
        commit(queue, name, stage(queue, name, *("abcdef" if application == "large" else "x")))
    last, order = None, []
    while (landing := following(bench, last)) is not None:
        assert land(queue, landing)
        last = landing.name
        order.append(last.application)
    assert sorted(order) == ["large"] * 6 + ["small"]
    assert "small" in order[:2]


def test_a_purge_takes_it_along(bench: Bench, queue: Queue) -> None:
    name, later = batch_of(queue), batch_of(queue, 1)
    commit(queue, name, stage(queue, name, "abc", "d"))
    stage(queue, later, "e")
    landing = following(bench)
    assert landing is not None
    queue.purge()
    assert queue.count() == (0, 0, 0)
    assert not land(queue, landing)
    assert following(bench) is None
    assert commit(queue, name) == Decision(4)
    assert commit(queue, later, Winner("one", 1, 0)) == Decision(1, is_new=True)


def test_who_waits_is_told_when_all_has_landed(bench: Bench, queue: Queue) -> None:
    name = batch_of(queue)
    commit(queue, name, stage(queue, name, "ab", "c"))

    async def wait() -> "asyncio.Future[None]":
        waiting = submit(bench.publications.landed, name)
        await asyncio.sleep(0.05)
        return waiting

    waiting = bench.run(wait())
    landing = following(bench)
    assert landing is not None
    assert land(queue, landing)
    assert not waiting.done()
    land_all(queue)
    bench.run(asyncio.wait_for(waiting, 10))
    bench.do(bench.publications.landed, name)


def test_a_deleted_queue_has_nothing_to_land(bench: Bench, queue: Queue) -> None:
    name = batch_of(queue)
    commit(queue, name, stage(queue, name, "ab"))
    queue.drop()
    assert following(bench) is None
