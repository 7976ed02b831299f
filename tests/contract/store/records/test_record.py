"""Records of queues and tasks, purge and drop, and what a store has when it is opened again."""

import pytest
from msgspec.structs import replace

from rockdove.core import ids
from rockdove.core.errors import StoreError
from rockdove.core.queue import DeletedQueue, MoveTask, PhysicalState, QueueRecord
from rockdove.store.base import Page
from tests.support.store import Bench, Queue, bodies, call


def by_name(queues: list[QueueRecord]) -> list[QueueRecord]:
    return sorted(queues, key=lambda queue: queue.uid)


def task(number: int = 1, **fields: object) -> MoveTask:
    values: dict[str, object] = {
        "task_id": f"task-{number}",
        "account": "000000000000",
        "source_arn": "arn:aws:sqs:us-east-1:000000000000:dead",
        "destination_arn": None,
        "max_per_second": 5,
        "status": "RUNNING",
        "started_us": 1,
    }
    return MoveTask(**(values | fields))  # type: ignore[arg-type]


def test_a_new_store_is_empty(bench: Bench) -> None:
    assert (bench.snapshot.queues, bench.snapshot.deleted, bench.snapshot.tasks) == ([], [], [])
    assert len(bench.snapshot.secret) >= 32


def test_the_secret_stays(bench: Bench) -> None:
    secret = bench.snapshot.secret
    bench.reopen()
    assert bench.snapshot.secret == secret


def test_queues_come_back(bench: Bench) -> None:
    one = bench.queue(attributes={"DelaySeconds": "3", "Policy": '{"ü": "🕊"}'}, tags={"k": "v", "": "é"})
    two = bench.queue(fifo=True, physical=4, purged_us=17)
    bench.reopen()
    assert by_name(bench.snapshot.queues) == [one.record, two.record]


def test_a_record_is_replaced(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    queue.record.attributes["VisibilityTimeout"] = "7"
    queue.record.tags = {"t": "1"}
    queue.record.modified_us += 5
    bench.put_queue(queue.record)
    assert queue.count() == (1, 0, 0)
    bench.reopen()
    assert bench.snapshot.queues == [queue.record]
    assert queue.read() == ["a"]


def test_physical_numbers_are_distinct(bench: Bench) -> None:
    records = bench.reserve(20)
    assert len({record.number for record in records}) == 20
    assert len({record.prefix for record in records}) == 20
    assert all(0 < record.number <= ids.MAX_PHYSICAL_NUMBER for record in records)


def test_physical_numbers_are_distinct_after_reopening(bench: Bench) -> None:
    queue = bench.queue(physical=5)
    bench.reopen()
    fresh = {record.number for record in bench.reserve(5)}
    assert not fresh & {record.number for record in queue.record.physical}


def test_one_physical_queue_for_a_record(bench: Bench, queue: Queue) -> None:
    first = bench.store.physical(queue.record, queue.record.physical[0])
    second = bench.store.physical(queue.record, queue.record.physical[0])
    bench.do(first.append, [queue.draft("a")])
    assert bodies(bench.do(bench.browsing.scan, second, Page(0, 1, 1)).entries) == ["a"]
    assert first.record == second.record == queue.record.physical[0]


def test_more_physical_queues(bench: Bench, queue: Queue) -> None:
    queue.send("a")
    queue.record.physical += bench.reserve()
    bench.put_queue(queue.record)
    queue.send("b", at=1)
    assert (queue.count(0), queue.count(1)) == ((1, 0, 0), (1, 0, 0))
    bench.reopen()
    assert queue.read(at=0) + queue.read(at=1) == ["a", "b"]


def test_fewer_physical_queues(bench: Bench) -> None:
    queue = bench.queue(physical=3)
    for at in (0, 2):
        queue.send(str(at), at=at)
    dropped = queue.physical(1)
    del queue.record.physical[1]
    bench.put_queue(queue.record)
    assert queue.read(at=0) + queue.read(at=1) == ["0", "2"]
    assert bench.do(dropped.claim, queue.want()).entries == []
    bench.reopen()
    assert (queue.count(0), queue.count(1)) == ((0, 1, 0), (0, 1, 0))


@pytest.mark.parametrize("fifo", [False, True])
def test_purge(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    queue.send("a", "b", group="g" if fifo else None)
    (held,) = queue.take(1)
    old = queue.physical()
    queue.purge()
    assert queue.count() == (0, 0, 0)
    assert queue.read() == []
    assert not bench.do(old.remove, held.id, None)
    assert not bench.do(old.move, held.id, bench.now_us, None)
    assert bench.do(old.claim, queue.want()).entries == []
    queue.send("c", group="g" if fifo else None)
    bench.reopen()
    bench.advance(1_000)
    assert queue.read() == ["c"]


@pytest.mark.parametrize("fifo", [False, True])
def test_a_dropped_physical_queue_takes_nothing(bench: Bench, fifo: bool) -> None:
    """Whoever still has it must be told, and must never reach the one that came after it."""
    queue = bench.queue(fifo)
    old = queue.physical()
    queue.purge()
    other = bench.queue(fifo)
    with pytest.raises(StoreError):
        bench.do(old.append, [queue.draft("lost", group="g" if fifo else None)])
    assert queue.read() == other.read() == []
    bench.reopen()
    assert queue.count() == other.count() == (0, 0, 0)


def test_purge_a_deep_queue(bench: Bench, queue: Queue) -> None:
    for _ in range(8):
        queue.send(*"x" * 1_000)
    queue.purge()
    assert queue.count() == (0, 0, 0)
    queue.send("a")
    bench.reopen()
    assert queue.count() == (1, 0, 0)
    assert queue.read() == ["a"]


def test_message_ids_are_new_after_a_purge(bench: Bench, queue: Queue) -> None:
    seen = {appended.message_id for appended in queue.append([queue.draft("x") for _ in range(10)])}
    queue.purge()
    fresh = {appended.message_id for appended in queue.append([queue.draft("x") for _ in range(10)])}
    assert not seen & fresh


def test_another_weight_or_state_touches_no_message(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    queue.send("a", at=0)
    queue.send("b", at=1)
    first, second = queue.record.physical
    changed = [replace(first, weight=2.5), replace(second, weight=0, state=PhysicalState.DRAINING)]
    queue.record = replace(queue.record, physical=changed)
    bench.put_queue(queue.record)
    assert [bodies(queue.take(1, timeout_s=0, at=at)) for at in range(2)] == [["a"], ["b"]]
    bench.reopen()
    assert bench.snapshot.queues == [queue.record]
    assert [bodies(queue.take(1, at=at)) for at in range(2)] == [["a"], ["b"]]


def test_drop(bench: Bench) -> None:
    kept, gone = bench.queue(), bench.queue(fifo=True)
    kept.send("a")
    gone.send("b", group="g")
    physical = gone.physical()
    gone.drop()
    assert bench.do(physical.claim, gone.want()).entries == []
    bench.reopen()
    assert bench.snapshot.queues == [kept.record]
    assert bench.snapshot.deleted == [DeletedQueue("000000000000", gone.record.name, bench.now_us)]
    assert kept.read() == ["a"]


def test_the_number_of_a_physical_queue_that_is_gone_comes_last(bench: Bench) -> None:
    """A front-end that stood still may take it for the queue that it has heard of."""
    given: set[int] = set()
    for _ in range(5):
        made = bench.queue()
        (part,) = made.record.physical
        assert part.number not in given
        given.add(part.number)
        made.drop()
        bench.advance(60)
        # What is emptied in the background goes through the same thread.
        for _ in range(5):
            bench.queue().count()


def test_drop_and_create_again(bench: Bench, queue: Queue) -> None:
    queue.send("old")
    queue.drop()
    bench.advance(60)
    queue.record.uid = "uid-again"
    queue.record.physical = bench.reserve()
    bench.put_queue(queue.record)
    assert queue.count() == (0, 0, 0)
    queue.send("new")
    bench.reopen()
    assert bench.snapshot.queues == [queue.record]
    assert queue.read() == ["new"]


def test_deleted_names_survive(bench: Bench) -> None:
    for number in range(3):
        bench.queue().drop()
        bench.advance(10 if number < 2 else 0)
    bench.reopen()
    deleted = sorted(bench.snapshot.deleted, key=lambda queue: queue.name)
    assert [(queue.name, queue.deleted_us) for queue in deleted] == [
        ("queue-1", bench.now_us - 20_000_000),
        ("queue-2", bench.now_us - 10_000_000),
        ("queue-3", bench.now_us),
    ]


def test_tasks(bench: Bench) -> None:
    bench.put_task(task(1))
    bench.put_task(task(2, destination_arn="arn", max_per_second=None))
    bench.put_task(task(1, status="COMPLETED", moved=7, to_move=9, failure="why"))
    bench.reopen()
    assert sorted(bench.snapshot.tasks, key=lambda kept: kept.task_id) == [
        task(1, status="COMPLETED", moved=7, to_move=9, failure="why"),
        task(2, destination_arn="arn", max_per_second=None),
    ]


def test_messages_come_back_in_every_state(bench: Bench, queue: Queue) -> None:
    queue.send("twice", "once", "never", "gone")
    twice, *_, gone = queue.take(10, timeout_s=0)
    queue.remove(gone.id)
    queue.release(*queue.take(10, timeout_s=5)[1:])
    assert queue.move(twice, 50)
    queue.send("delayed", delay_s=20)
    before = queue.peek()
    bench.reopen()
    assert queue.peek() == before
    bench.advance(20)
    assert queue.read() == ["once", "never", "delayed"]
    bench.advance(30)
    (again,) = [entry for entry in queue.take() if entry.message.text == "twice"]
    assert again.receive_count == 3
    assert again.first_received_us == twice.first_received_us


@pytest.mark.parametrize("fifo", [False, True])
def test_ids_are_never_used_again(bench: Bench, fifo: bool) -> None:
    queue = bench.queue(fifo)
    seen: set[int] = set()
    for _ in range(4):
        fresh = queue.send("a", "b", "c", group="g" if fifo else None)
        assert not seen & set(fresh)
        assert not seen or min(fresh) > max(seen)
        seen.update(fresh)
        for id in fresh:
            assert queue.remove(id)
        bench.reopen()


@pytest.mark.parametrize("fifo", [False, True])
def test_crash(durable: Bench, fifo: bool) -> None:
    queue = durable.queue(fifo)
    group = "g" if fifo else None
    sent = queue.send("a", "b", "c", "d", group=group)
    a, b = queue.take(2, timeout_s=10)
    assert queue.remove(b.id)
    durable.crash()
    assert durable.snapshot.queues == [queue.record]
    assert queue.count() == (2, 1, 0)
    assert queue.send("e", group=group)[0] > max(sent)
    durable.advance(10)
    assert sorted(queue.read()) == ["a", "c", "d", "e"]
    assert not queue.remove(b.id)
    (peeked,) = [entry for entry in queue.peek() if entry.id == a.id]
    assert (peeked.receive_count, peeked.first_received_us) == (2, a.first_received_us)


def test_ids_are_never_used_again_after_a_crash(durable: Bench) -> None:
    for fifo in (False, True):
        queue = durable.queue(fifo)
        seen: set[int] = set()
        for _ in range(3):
            fresh = queue.send("a", "b", group="g" if fifo else None)
            assert not seen or min(fresh) > max(seen)
            seen.update(fresh)
            for id in fresh:
                assert queue.remove(id)
            durable.crash()


def test_a_crash_takes_only_what_was_not_yet_done(durable: Bench) -> None:
    queue = durable.queue()
    queue.send(*(f"done {number}" for number in range(10)))

    async def half() -> None:
        """Batches are under way when the crash comes: each is there as a whole, or not at all."""
        physical = queue.physical()
        for batch in range(20):
            physical.append([queue.draft(f"{batch}") for _ in range(50)], lambda result: None)
        await call(physical.count)

    durable.run(half())
    durable.crash()
    got = bodies(queue.peek(2_000))
    assert got[:10] == [f"done {number}" for number in range(10)]
    for batch in range(20):
        assert got.count(f"{batch}") in (0, 50)


def test_close_finishes_what_was_begun(durable: Bench) -> None:
    queue = durable.queue()

    async def begin() -> None:
        queue.physical().append([queue.draft("a")], lambda result: None)

    durable.run(begin())
    durable.reopen()
    assert queue.read() == ["a"]
