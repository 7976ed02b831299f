"""A queue that is read through a journal: each message id once, wherever the driver is killed."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rockdove.client import Client
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused
from rockdove.spark.source import option
from rockdove.spark.source.journal import Journal
from rockdove.spark.source.log import JournalStream
from rockdove.spark.source.schema import Table
from tests.contract.spark.conftest import bodies, counts
from tests.support.micro_batch import Engine, Killed
from tests.support.service import RunningService

# Longer than what was received and not written stays invisible.
A_WHILE_S = 121

Make = Callable[..., Engine]


@pytest.fixture
def make(where: QueuePlace, narrow: Table, steady: RunningService, tmp_path: Path) -> Make:
    """`make(seed, risk)` gives a query that is killed so often."""
    chosen = option.for_stream(Options({"maxMessagesPerTrigger": "25", "waitTimeSeconds": "0"}))
    whole = (where, narrow, chosen, tmp_path / "journal")

    def engine(seed: int = 1, risk: float = 0, kind: type[Engine] = Engine) -> Engine:
        executor = JournalStream(*whole)
        return kind(lambda: JournalStream(*whole, clock=lambda: steady.now_s), executor, random.Random(seed), risk)

    return engine


def test_all_messages_come_out_and_are_deleted(make: Make, client: Client, queue: str) -> None:
    client.send_batch(queue, bodies(60))
    engine = make()
    engine.run_to_the_end()
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(60))
    assert [len(rows) for rows in engine.table.values()] == [25, 25, 10]
    assert counts(client, queue) == (0, 0)
    engine.run_to_the_end()
    assert len(engine.table) == 3


def test_a_run_ends_although_messages_keep_coming(
    make: Make, client: Client, queue: str, steady: RunningService
) -> None:
    client.send_batch(queue, bodies(5))

    class Busy(Engine):
        def step(self) -> None:
            steady.advance(1)
            client.send(queue, "one more")

    engine = make(kind=Busy)
    engine.run()
    assert {row["body"] for row in engine.rows} >= set(bodies(5))


def test_a_checkpoint_of_another_queue_is_refused(
    make: Make, client: Client, queue: str, where: QueuePlace, narrow: Table, tmp_path: Path
) -> None:
    client.send_batch(queue, bodies(5))
    engine = make()
    engine.run()
    other = JournalStream(replace(where, queue="other"), narrow, option.for_stream(Options({})), tmp_path / "another")
    with pytest.raises(Refused, match=f"checkpoint is that of the queue {queue}, not of other"):
        other.latestOffset(json.loads(engine.offsets[-1]), other.getDefaultReadLimit())
    other.stop()
    # One from before offsets had the queue goes on.
    old = json.loads(engine.offsets[-1])
    del old["queue"]
    engine.offsets = [json.dumps(old)]
    engine.committed = 1
    engine.run()
    assert len(engine.offsets) == 1


@pytest.mark.parametrize("seed", range(6))
def test_each_id_comes_out_once_wherever_the_driver_is_killed(
    seed: int, make: Make, client: Client, queue: str, steady: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make(seed, risk=0.1)
    # Also within latestOffset: before and after the journal is written, and between two deletes.
    for owner, name in [(Journal, "append"), (Client, "receive"), (Client, "delete_batch")]:
        monkeypatch.setattr(owner, name, _risky(getattr(owner, name), engine))
    sent = bodies(80)
    client.send_batch(queue, sent)
    while counts(client, queue) != (0, 0):
        engine.run_to_the_end()
        steady.advance(A_WHILE_S)
    engine.risk = 0
    engine.run_to_the_end()
    assert engine.kills > 3
    ids = Counter(row["message_id"] for row in engine.rows)
    assert set(ids.values()) == {1}
    assert Counter(row["body"] for row in engine.rows) == Counter(sent)


def _risky(work: Callable[..., Any], engine: Engine) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        engine.step()
        result = work(*args, **kwargs)
        engine.step()
        return result

    return run


def test_another_journal_than_that_of_the_checkpoint_is_refused(
    make: Make, client: Client, queue: str, tmp_path: Path
) -> None:
    client.send_batch(queue, bodies(3))
    engine = make()
    engine.run()
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="not the journal that belongs to the checkpoint"):
        engine.run()


def test_a_checkpoint_of_leases_is_refused(make: Make) -> None:
    engine = make()
    engine.offsets, engine.committed = ['{"consumer": "c", "sequence": 1, "shards": 1, "size": 1}'], 1
    with pytest.raises(Refused, match="read by leases"):
        engine.run()


def run_without_deletes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with a service that forgets deletes, as SQS may."""
    with monkeypatch.context() as patch:
        patch.setattr(Client, "delete_batch", lambda *args: None)
        engine.run()


def test_a_message_that_comes_again_after_its_delete_is_dropped(
    make: Make, client: Client, queue: str, monkeypatch: pytest.MonkeyPatch, steady: RunningService
) -> None:
    client.send_batch(queue, bodies(4))
    engine = make()
    run_without_deletes(engine, monkeypatch)
    steady.advance(A_WHILE_S)
    assert counts(client, queue) == (4, 0)
    engine.run()
    assert len(engine.rows) == 4
    assert counts(client, queue) == (0, 0)


def test_messages_behind_known_ones_come_out_in_the_same_run(
    make: Make, client: Client, queue: str, monkeypatch: pytest.MonkeyPatch, steady: RunningService
) -> None:
    client.send_batch(queue, bodies(60))
    engine = make()
    run_without_deletes(engine, monkeypatch)
    steady.advance(A_WHILE_S)
    client.send_batch(queue, bodies(5, begin=60))
    engine.run()
    assert Counter(row["body"] for row in engine.rows) == Counter(bodies(65))
    assert counts(client, queue) == (0, 0)


def test_killed_means_killed(make: Make) -> None:
    with pytest.raises(Killed):
        make(risk=1).run()
