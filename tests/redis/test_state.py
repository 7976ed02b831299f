"""Whether a physical queue leaves: its server goes by the latest record, whoever tells of it, and however late."""

from collections.abc import Sequence
from typing import Any

import pytest

from rockdove.core.errors import QueueGone
from rockdove.core.queue import PhysicalState
from rockdove.store.redis.record import RedisRecords
from rockdove.store.redis.store import RedisStore
from tests.contract.store.physical.test_leaving import holds, set_state
from tests.support.store import Bench, Queue

LEAVING, UP = PhysicalState.LEAVING, PhysicalState.UP


def test_a_writer_that_comes_late_changes_nothing(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    set_state(queue, 1, LEAVING)
    late = _version(bench)
    set_state(queue, 1, UP)
    _say(bench, queue, "rd_set_state", "leaving", late)
    queue.send("a", at=1)
    assert queue.read(at=1) == ["a"]


def test_what_its_writer_has_not_told_others_do(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = bench.queue(physical=2)
    set_state(queue, 1, LEAVING)

    async def died(self: RedisRecords, parts: Sequence[Any], version: int) -> None: ...

    monkeypatch.setattr(RedisRecords, "_set_states", died)
    set_state(queue, 1, UP)
    queue.send("a", at=1)
    assert queue.read(at=1) == ["a"]
    set_state(queue, 1, LEAVING)
    with pytest.raises(QueueGone):
        queue.send("b", at=1)


def test_one_that_was_closed_by_a_writer_that_died_is_opened_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was to go, being empty, and the record that says so never came."""
    queue = bench.queue(physical=2)
    set_state(queue, 1, LEAVING)
    _say(bench, queue, "rd_close", _version(bench))
    with pytest.raises(QueueGone):
        queue.send("a", at=1)
    set_state(queue, 1, UP)
    queue.send("a", at=1)
    assert queue.read(at=1) == ["a"]


def test_who_goes_by_an_old_record_closes_nothing_and_moves_no_group(bench: Bench) -> None:
    queue = bench.queue(fifo=True, physical=2)
    set_state(queue, 1, LEAVING)
    assert holds(queue, "g") == [False]
    old = _version(bench)
    set_state(queue, 1, UP)
    # A front-end that was stopped in between.
    assert _say(bench, queue, "rd_close", old) == 0
    with pytest.raises(QueueGone):
        _say(bench, queue, "rd_holds", f"1 {old}", "g")
    queue.send("a", at=1, group="g")
    assert queue.read(at=1) == ["a"]


def test_who_says_the_same_by_an_older_version_is_heard(bench: Bench) -> None:
    """Versions count the changes of all records: others may have heard of more, and know no more of this queue."""
    queue = bench.queue(fifo=True, physical=2)
    set_state(queue, 1, LEAVING)
    version = _version(bench)
    assert _say(bench, queue, "rd_holds", f"1 {version + 7}", "g") == [0]
    assert _say(bench, queue, "rd_holds", f"1 {version}", "g") == [0]
    with pytest.raises(QueueGone):
        queue.send("a", at=1, group="g")
    assert _say(bench, queue, "rd_close", version) == 1


def _version(bench: Bench) -> int:
    return _store(bench).records.log.version


def _say(bench: Bench, queue: Queue, function: str, *words: Any) -> Any:
    physical = queue.physical(1)
    server = _store(bench).servers.of_physical(physical.record.number)
    return bench.run(server.ask(function, f"rd:{{{physical.record.number}}}", *words))


def _store(bench: Bench) -> RedisStore:
    store = bench.inner
    assert isinstance(store, RedisStore)
    return store
