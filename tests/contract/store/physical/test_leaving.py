"""Physical queues that leave: they take no more messages, give what they have, and go when they are empty."""

import pytest
from msgspec.structs import replace

from rockdove.core.errors import QueueGone
from rockdove.core.publication import WHOLE, Parcel, PublicationName, Winner
from rockdove.core.queue import PhysicalState
from rockdove.store.base import StillHolds
from tests.support.store import Bench, Queue, bodies

LEAVING, UP = PhysicalState.LEAVING, PhysicalState.UP


def set_state(queue: Queue, index: int, state: PhysicalState) -> None:
    parts = list(queue.record.physical)
    parts[index] = replace(parts[index], state=state)
    queue.record = replace(queue.record, physical=parts)
    queue.bench.put_queue(queue.record)


def drop(queue: Queue, index: int) -> None:
    parts = list(queue.record.physical)
    del parts[index]
    record = replace(queue.record, physical=parts)
    queue.bench.put_queue(record)
    queue.record = record


def holds(queue: Queue, *groups: str, at: int = 1) -> list[bool]:
    found: list[bool] = queue.bench.do(queue.physical(at).holds, groups)
    return found


@pytest.mark.parametrize("group", [None, "tenant"])
def test_it_takes_nothing_and_gives_what_it_has(bench: Bench, group: str | None) -> None:
    queue = bench.queue(physical=2)
    queue.send("a", "b", at=1, group=group)
    set_state(queue, 1, LEAVING)
    with pytest.raises(QueueGone):
        queue.send("c", at=1, group=group)
    assert queue.count(at=1) == (2, 0, 0)
    (first, second) = queue.take(at=1)
    assert bodies([first, second]) == ["a", "b"]
    with pytest.raises(StillHolds):
        drop(queue, 1)
    assert queue.move(first, 0)
    assert queue.read(at=1) == ["a"]
    for entry in (first, second):
        assert queue.remove(entry.id)
    drop(queue, 1)
    queue.send("d")
    assert queue.read() == ["d"]


def test_it_takes_messages_again_if_it_stays(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    set_state(queue, 1, LEAVING)
    set_state(queue, 1, UP)
    queue.send("a", at=1)
    assert queue.read(at=1) == ["a"]


def test_that_it_leaves_outlives_a_crash(durable: Bench) -> None:
    queue = durable.queue(physical=2)
    queue.send("a", at=1)
    set_state(queue, 1, LEAVING)
    durable.crash()
    with pytest.raises(QueueGone):
        queue.send("b", at=1)
    with pytest.raises(StillHolds):
        drop(queue, 1)
    assert queue.read(at=1) == ["a"]


def test_what_a_queue_refuses_to_drop_is_still_there(bench: Bench) -> None:
    queue = bench.queue(physical=3)
    queue.send("a", at=2)
    for index in (1, 2):
        set_state(queue, index, LEAVING)
    both = replace(queue.record, physical=queue.record.physical[:1])
    with pytest.raises(StillHolds):
        bench.put_queue(both)
    # Neither went, nor has the record changed.
    drop(queue, 1)
    assert queue.read(at=1) == ["a"]


def test_a_purge_takes_it_along(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    queue.send("a", at=1)
    set_state(queue, 1, LEAVING)
    queue.record = replace(queue.record, physical=bench.reserve(1))
    bench.put_queue(queue.record)
    assert queue.count() == (0, 0, 0)


def test_groups_of_a_fifo_queue_stay_for_as_long_as_they_are_held(bench: Bench) -> None:
    queue = bench.queue(fifo=True, physical=2)
    queue.send("a1", at=1, group="a")
    queue.send("b1", at=1, group="b")
    set_state(queue, 1, LEAVING)
    assert holds(queue, "a", "b", "c") == [True, True, False]
    queue.send("a2", at=1, group="a")
    with pytest.raises(QueueGone):
        queue.send("c1", at=1, group="c")
    # All or none.
    with pytest.raises(QueueGone):
        queue.append([queue.draft("a3", group="a"), queue.draft("c1", group="c")], at=1)
    (first,) = queue.take(1, at=1)
    assert bodies([first]) == ["a1"]
    # In flight is held as well.
    queue.send("a3", at=1, group="a")
    assert queue.remove_held(first)
    taken = queue.take(at=1)
    assert sorted(bodies(taken)) == ["a2", "a3", "b1"]
    for entry in taken:
        assert queue.remove_held(entry)
    assert holds(queue, "a", "b") == [False, False]
    with pytest.raises(QueueGone):
        queue.send("a4", at=1, group="a")
    drop(queue, 1)


def test_a_duplicate_needs_no_room_where_its_group_was(bench: Bench) -> None:
    queue = bench.queue(fifo=True, physical=2)
    first = queue.send("a1", at=1, group="a", key="k")
    queue.send("b1", at=1, group="b")
    (entry,) = queue.take(1, at=1)
    assert queue.remove_held(entry)
    set_state(queue, 1, LEAVING)
    # Its group is gone, and it brings nothing: it is told where its first copy went.
    assert queue.send("a1", at=1, group="a", key="k") == first
    # The second is a duplicate of the first, though of another group.
    drafts = [queue.draft("b2", group="b", key="x"), queue.draft("c2", group="c", key="x")]
    assert len({new.id for new in queue.append(drafts, at=1)}) == 1


def test_transfers_and_publications_are_refused_alike(bench: Bench) -> None:
    source, queue = bench.queue(fifo=True), bench.queue(fifo=True, physical=2)
    (id,) = source.send("m", group="a")
    set_state(queue, 1, LEAVING)
    target = queue.physical(1)
    with pytest.raises(QueueGone):
        bench.do(bench.transfers.transfer, source.physical(), [id], target, [queue.draft("m", group="a")])
    assert source.count() == (1, 0, 0)
    name = PublicationName(queue.record.uid, "app", 1, 0)
    draft = queue.draft("m", group="a")
    if bench.kind == "redis":
        # That is decided before anybody is asked to take them: they go elsewhere.
        published = bench.do(bench.publications.publish, name, "x", [(target, [draft])])
        assert (published.standing.winner, published.appended) == ("x", None)
        landing = bench.do(bench.landings.next, None)
        assert bench.do(bench.landings.land, landing, [draft], [(queue.physical(), [0])])
        assert queue.read() == ["m"]
    else:
        with pytest.raises(QueueGone):
            bench.do(bench.publications.publish, name, "x", [(target, [draft])])
        assert bench.do(bench.publications.look, name, "x").winner is None
    assert queue.count(at=1) == (0, 0, 0)


def test_what_has_not_landed_holds_it(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    name = PublicationName(queue.record.uid, "app", 1, WHOLE)
    draft = queue.draft("m")
    parcel = Parcel(draft.message.text, draft.message.md5, 0, None)
    bench.do(bench.publications.stage, name, "x", 0, [parcel], 10)
    bench.do(bench.publications.commit, name, [Winner("x", 1, 0)], "match", queue.physical(1))
    set_state(queue, 1, LEAVING)
    with pytest.raises(StillHolds):
        drop(queue, 1)
    landing = bench.do(bench.landings.next, None)
    place = bench.inner.physical(queue.record, queue.record.physical[0])
    assert bench.do(bench.landings.land, landing, [draft], [(place, [0])])
    drop(queue, 1)
    assert queue.read() == ["m"]


def test_all_physical_queues_count_what_is_in_flight_also_those_that_came_later(bench: Bench) -> None:
    queue = bench.queue()
    queue.send("a", "b")
    assert len(queue.take(2)) == 2
    queue.record = replace(queue.record, physical=[*queue.record.physical, *bench.reserve(1)])
    bench.put_queue(queue.record)
    queue.send("c", at=1)
    assert queue.claim(at=1, max_in_flight=2).crowded
    assert queue.read(at=1, max_in_flight=3) == ["c"]
