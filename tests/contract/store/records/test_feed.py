"""Records as a feed: everybody hears of every change, and whoever writes on old news is refused."""

from copy import deepcopy

import pytest
from msgspec.structs import replace

from rockdove.core.account import Account
from rockdove.core.queue import QueueRecord
from rockdove.store.base import AccountDropped, AccountPut, Conflict, OverQuota, QueueDropped, QueuePut, TaskPut
from tests.contract.store.records.test_record import task
from tests.support.store import Bench, Queue, submit


def account(number: int) -> Account:
    return Account(id=f"{number:012}", name=f"name-{number}", created_us=number)


def test_changes_are_told_in_the_order_of_versions(bench: Bench) -> None:
    queue = bench.queue()
    bench.put_task(task())
    bench.put_account(account(1))
    bench.drop_account(account(1).id)
    queue.drop()
    kinds = [QueuePut, TaskPut, AccountPut, AccountDropped, QueueDropped]
    assert [type(change) for change in bench.changes] == kinds
    versions = [change.version for change in bench.changes]
    assert versions == sorted(set(versions))
    assert versions[0] > bench.snapshot.version


def test_whoever_has_not_heard_of_a_change_is_refused(bench: Bench, queue: Queue) -> None:
    seen = bench.version
    queue.record.tags = {"one": "1"}
    bench.put_queue(queue.record)
    mine = deepcopy(queue.record)
    mine.tags = {"two": "2"}
    with pytest.raises(Conflict):
        bench.do(bench.store.records.put_queue, mine, 100, seen)
    with pytest.raises(Conflict):
        bench.do(bench.store.records.drop_queue, mine, bench.now_us, seen)
    bench.reopen()
    assert bench.snapshot.queues == [queue.record]


def test_what_others_change_elsewhere_is_no_conflict(bench: Bench, queue: Queue) -> None:
    seen = bench.version
    bench.queue()
    bench.put_account(account(1))
    queue.record.tags = {"one": "1"}
    bench.do(bench.store.records.put_queue, deepcopy(queue.record), 100, seen)


def test_of_two_at_once_one_wins(bench: Bench) -> None:
    queue = bench.queue()

    async def both() -> list[object]:
        records, seen = bench.store.records, bench.version
        futures = []
        for number in range(3):
            mine = deepcopy(queue.record)
            mine.tags = {"n": str(number)}
            futures.append(submit(records.put_queue, mine, 100, seen))
        outcomes: list[object] = []
        for future in futures:
            try:
                outcomes.append(await future)
            except Conflict as error:
                outcomes.append(error)
        return outcomes

    first, *rest = bench.run(both())
    assert isinstance(first, int)
    assert all(isinstance(outcome, Conflict) for outcome in rest)
    bench.reopen()
    assert bench.snapshot.queues[0].tags == {"n": "0"}


def test_accounts_are_one_thing(bench: Bench) -> None:
    """Or two administrators could each disable the other."""
    seen = bench.version
    bench.put_account(account(1))
    with pytest.raises(Conflict):
        bench.do(bench.store.records.put_account, account(2), seen)


def test_a_name_that_is_free_again_is_one_thing_with_what_had_it(bench: Bench, queue: Queue) -> None:
    seen = bench.version
    queue.drop()
    again = deepcopy(queue.record)
    again.uid, again.physical = "uid-again", bench.reserve()
    with pytest.raises(Conflict):
        bench.do(bench.store.records.put_queue, again, 100, seen)
    bench.put_queue(again)


def test_an_account_has_so_many_physical_queues(bench: Bench) -> None:
    bench.queue(physical=3)
    other = bench.queue()
    more = deepcopy(other.record)
    more.physical += bench.reserve(2)
    with pytest.raises(OverQuota):
        bench.put_queue(more, quota=5)
    bench.put_queue(more, quota=6)
    # One that does not grow is never over it.
    bench.put_queue(more, quota=1)
    other.drop()
    fewer = deepcopy(other.record)
    fewer.uid, fewer.physical = "uid-more", bench.reserve(3)
    bench.put_queue(fewer, quota=6)
    bench.reopen()
    with pytest.raises(OverQuota):
        bench.put_queue(_grown(bench, fewer), quota=6)


def _grown(bench: Bench, record: QueueRecord) -> QueueRecord:
    return replace(record, physical=[*record.physical, *bench.reserve()])
