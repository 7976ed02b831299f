"""Rows into a queue: once with Rockdove, whatever attempts are made; at least once elsewhere."""

import contextlib
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from rockdove.client import Client, Outgoing
from rockdove.core.errors import AccessDenied, Fault, InvalidParameterValue, RockdoveError
from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.core.message import Attribute
from rockdove.core.publication import Partly, Winner
from rockdove.spark.service.option import Options
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused
from rockdove.spark.sink.chunk import deduplicated
from rockdove.spark.sink.commit import Batch, Part
from rockdove.spark.sink.option import for_batch
from rockdove.spark.sink.reject import Origin, RowsRefused
from rockdove.spark.sink.row import SinkRow, Wrong
from rockdove.spark.sink.send import Sending
from rockdove.spark.sink.stage import Staged, Staging
from rockdove.spark.sink.writer import BatchWriter
from rockdove.wire.shape import BatchResultErrorEntry
from tests.contract.spark.conftest import bodies
from tests.support.service import RunningService

ORIGIN = Origin("app", 5, 2)
WRONG = "not in XML: \x01"


class Killed(Exception):
    """The executor was killed here."""


def rows(texts: Iterable[str | None]) -> Iterator[SinkRow]:
    for place, text in enumerate(texts):
        wrong = Wrong("NoBody", "it is null", None) if text is None else None
        yield SinkRow(place, Outgoing(body=text or ""), wrong)


def dying(found: Iterable[SinkRow], after: int) -> Iterator[SinkRow]:
    for row in found:
        if row.place == after:
            raise Killed
        yield row


def taken(client: Client, queue: str) -> list[str]:
    """All bodies, in the order in which they come."""
    found: list[str] = []
    while messages := client.receive(queue, limit=100):
        found += [message.body for message in messages]
    return found


class Query:
    """Batches as Spark writes them: tasks stage, and the driver publishes what those have that succeeded."""

    def __init__(self, client: Client, where: QueuePlace) -> None:
        self._client = client
        self._where = where

    def task(
        self,
        found: Iterable[SinkRow],
        partition: int = 0,
        batch: int = 5,
        name: str = "app",
        rejects: Path | None = None,
    ) -> Part:
        path = None if rejects is None else str(rejects)
        attempt = f"run/{uuid.uuid4().hex}"
        staging = Staging(self._client, self._where, Origin(name, batch, partition), attempt, path)
        return Part(partition, attempt, staging.write(found))

    def publish(
        self, *parts: Part, batch: int = 5, name: str = "app", rejects: Path | None = None, partly: Partly = "refuse"
    ) -> bool:
        return self._batch(name, batch, rejects).publish(parts, partly)

    def abort(self, *parts: Part, rejects: Path | None = None) -> None:
        self._batch("app", 5, rejects).abort(parts)

    def _batch(self, name: str, batch: int, rejects: Path | None) -> Batch:
        path = None if rejects is None else str(rejects)
        return Batch(self._client, self._where, name, batch, "run/", path)

    def write(self, texts: Sequence[str | None], cut: int = 1, **options: Any) -> bool:
        """Round-robin into so many partitions."""
        shared = {key: value for key, value in options.items() if key != "partly"}
        parts = [self.task(rows(texts[at::cut]), at, **shared) for at in range(cut)]
        return self.publish(*parts, **options)


@pytest.fixture
def query(client: Client, where: QueuePlace) -> Query:
    return Query(client, where)


def test_a_batch_is_published_whole(query: Query, client: Client, queue: str) -> None:
    parts = [query.task(rows(bodies(2_500)[at::3]), at) for at in range(3)]
    assert [(part.staged.chunks, part.staged.rows) for part in parts] == [(1, 834), (1, 833), (1, 833)]
    assert taken(client, queue) == []
    assert query.publish(*parts)
    assert Counter(taken(client, queue)) == Counter(bodies(2_500))


def test_nothing_is_seen_of_tasks_that_die_nor_of_their_copies(query: Query, client: Client, queue: str) -> None:
    with pytest.raises(Killed):
        query.task(dying(rows(bodies(2_500)), 2_400))
    query.task(rows(bodies(2_500)))
    assert taken(client, queue) == []
    assert query.publish(query.task(rows(bodies(2_500))))
    assert len(taken(client, queue)) == 2_500


@pytest.mark.parametrize("cuts", [(1, 8), (8, 1), (2, 3), (5, 5)])
def test_a_batch_that_comes_again_is_not_taken_however_it_is_cut(
    cuts: tuple[int, int], query: Query, client: Client, queue: str, steady: RunningService
) -> None:
    assert query.write(bodies(1_000), cuts[0])
    # However late it comes.
    steady.advance(86_400)
    part = query.task(rows(bodies(1_000)[:: cuts[1]]))
    assert part.staged == Staged(published=True)
    assert not query.write(bodies(1_000), cuts[1])
    steady.advance(-86_400)
    assert Counter(taken(client, queue)) == Counter(bodies(1_000))


def test_of_two_drivers_one_publishes(query: Query, client: Client, queue: str) -> None:
    """One that was taken for dead, and its successor, with another number of partitions."""
    old = [query.task(rows(bodies(100)[at::2]), at) for at in range(2)]
    new = [query.task(rows(bodies(100)[at::3]), at) for at in range(3)]
    assert query.publish(*new)
    assert not query.publish(*old)
    assert Counter(taken(client, queue)) == Counter(bodies(100))


def test_batches_and_applications_are_apart(query: Query, client: Client, queue: str) -> None:
    for name, batch in (("app", 5), ("app", 6), ("other", 5)):
        assert query.write(["x"], batch=batch, name=name)
    assert len(taken(client, queue)) == 3


def test_an_aborted_batch_leaves_nothing(query: Query, client: Client, queue: str, tmp_path: Path) -> None:
    part = query.task(rows(["a", WRONG]), rejects=tmp_path)
    query.abort(part, rejects=tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidParameterValue, match="has not staged so many chunks"):
        query.publish(part)
    assert query.write(["a", "b"])
    assert taken(client, queue) == ["a", "b"]


def test_half_a_batch_is_not_published_into_a_queue_that_was_made_again(
    query: Query, client: Client, queue: str, steady: RunningService
) -> None:
    assert query.write(["a", "b"], 2)
    # It is replayed; the queue goes when one task has been told that the batch is published.
    first = query.task(rows(["a"]), 0)
    assert first.staged.published
    client.delete_queue(queue)
    steady.advance(90)
    client.create_queue(queue)
    second = query.task(rows(["b"]), 1)
    with pytest.raises(Refused, match="was deleted and made again"):
        query.publish(first, second)
    assert taken(client, queue) == []
    assert query.write(["a", "b"], 2)
    assert taken(client, queue) == ["a", "b"]


def test_what_tasks_have_staged_that_all_failed_is_cleared(client: Client, where: QueuePlace, queue: str) -> None:
    options = for_batch(Options({"application": "app", "batch": "5"}))
    writer = BatchWriter(where, options, once=True)
    run = writer._writer._run
    Staging(client, where, ORIGIN, f"{run}2-x", None).write(rows(["a"]))
    writer.abort([None])
    with pytest.raises(InvalidParameterValue, match="has not staged so many chunks"):
        client.publish_batch(queue, "app", 5, [Winner(f"{run}2-x", 1, 2)])


def test_no_rows_are_no_messages(query: Query, client: Client, queue: str) -> None:
    assert query.write([], 2)
    assert not query.write(["late"])
    assert taken(client, queue) == []


def test_a_batch_from_long_ago_is_refused(query: Query) -> None:
    query.write(["x"], batch=500)
    with pytest.raises(Refused, match=r"nobody knows whether it was published\. The query was started again too late"):
        query.write(["x"], batch=1)


def _published_by_an_older_sink(client: Client, queue: str, texts: Sequence[str], partition: int) -> None:
    client.publish_once(queue, "app", 5, partition, "old", texts)


def test_what_an_older_sink_has_begun_goes_on_with_the_same_cut(query: Query, client: Client, queue: str) -> None:
    _published_by_an_older_sink(client, queue, bodies(100)[1::4], 1)
    with pytest.raises(Refused, match="nobody knows which rows they had"):
        query.write(bodies(100), 4)
    assert query.write(bodies(100), 4, partly="match")
    assert Counter(taken(client, queue)) == Counter(bodies(100))


@pytest.mark.parametrize(("partly", "number"), [("skip", 25), ("again", 125)])
def test_what_an_older_sink_has_begun_and_is_cut_otherwise_needs_a_word(
    partly: Partly, number: int, query: Query, client: Client, queue: str
) -> None:
    _published_by_an_older_sink(client, queue, bodies(100)[1::4], 1)
    with pytest.raises(Refused, match="set the option partlyPublished: match sends the other partitions"):
        query.write(bodies(100), 3, partly="match")
    assert query.write(bodies(100), 3, partly=partly)
    assert len(taken(client, queue)) == number
    # The next batch is like any other.
    assert query.write(["x"], batch=6)


def test_rows_that_cannot_be_sent_are_named_and_none_is_sent(query: Query, client: Client, queue: str) -> None:
    for wrong, code in [(None, "NoBody"), ("x" * (MAX_MESSAGE_BYTES + 1), "MessageTooLong"), (WRONG, "Invalid")]:
        with pytest.raises(RowsRefused, match=rf"batch 5, partition 2: the queue does not take row 2 \({code}"):
            query.task(rows(["a", "b", wrong, "c"]), partition=2)
    assert taken(client, queue) == []


@pytest.mark.parametrize("place", [0, 1_500, 2_199])
def test_rejects_go_to_a_table_and_the_others_to_the_queue(
    place: int, query: Query, client: Client, queue: str, tmp_path: Path
) -> None:
    texts: list[str | None] = [*bodies(2_200)]
    texts[place], texts[7] = WRONG, "x" * (MAX_MESSAGE_BYTES + 1)
    part = query.task(rows(texts), rejects=tmp_path)
    number = len({7, place})
    assert (part.staged.rows, part.staged.rejects) == (2_200 - number, number)
    assert list(tmp_path.glob("[!_]*")) == []
    assert query.publish(part, rejects=tmp_path)
    assert not query.write(texts, rejects=tmp_path)
    assert [row["row"] for row in pq.read_table(tmp_path).to_pylist()] == sorted({7, place})
    assert Counter(taken(client, queue)) == Counter(text for at, text in enumerate(texts) if at not in (7, place))


def test_rejects_are_those_of_the_run_that_publishes(query: Query, tmp_path: Path) -> None:
    """A driver that is killed before it publishes has perhaps kept its rejects, and its successor cuts otherwise."""
    texts = ["a", WRONG, "b", None, WRONG]
    parts = [query.task(rows(texts[at::2]), at, rejects=tmp_path) for at in range(2)]
    with pytest.raises(RockdoveError):
        query.publish(*parts, Part(2, "never", Staged(chunks=1)), rejects=tmp_path)
    assert pq.read_table(tmp_path).num_rows == 3
    query.write([WRONG], batch=6, rejects=tmp_path)
    assert query.write(texts, 3, rejects=tmp_path)
    found = pq.read_table(tmp_path).to_pylist()
    assert sorted((row["batch"], row["partition"], row["row"]) for row in found) == [
        (5, 0, 1),
        (5, 1, 0),
        (5, 1, 1),
        (6, 0, 0),
    ]
    assert not query.write(texts, 1, rejects=tmp_path)
    assert pq.read_table(tmp_path).num_rows == 4
    assert list(tmp_path.glob("_*")) == []


def test_queues_share_a_folder_of_rejects(
    client: Client, where: QueuePlace, new_name: Callable[..., str], tmp_path: Path
) -> None:
    other = new_name()
    client.create_queue(other)
    for place in (where, replace(where, queue=other)):
        Query(client, place).write(["a", WRONG], rejects=tmp_path)
        Sending(client, place, Origin("else", 0, 0), str(tmp_path)).write(rows(["a", None]))
    found = [(row["queue"].rpartition("/")[2], row["application"]) for row in pq.read_table(tmp_path).to_pylist()]
    assert sorted(found) == sorted((queue, name) for queue in (where.queue, other) for name in ("app", "else"))


def test_a_queue_that_takes_less_says_so_by_row(query: Query, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"MaximumMessageSize": "1024"})
    with pytest.raises(RowsRefused, match=r"row 1 \(InvalidParameterValue"):
        query.task(rows(["a", "x" * 1025]))


def test_all_of_a_row_arrives(query: Query, client: Client, queue: str, steady: RunningService) -> None:
    message = Outgoing(body="b", attributes={"n": Attribute("Number.int", "7")}, delay_s=60, group_id="tenant")
    query.publish(query.task([SinkRow(0, message)]))
    assert client.receive(queue) == []
    steady.advance(61)
    (found,) = client.receive(queue)
    assert found.message_attributes == {"n": Attribute("Number.int", "7")}
    assert found.attributes["MessageGroupId"] == "tenant"


def test_a_fifo_queue_keeps_the_order_of_a_partition(
    client: Client, where: QueuePlace, new_name: Callable[..., str]
) -> None:
    fifo = new_name(".fifo")
    client.create_queue(fifo, attributes={"FifoQueue": "true"})
    query, texts = Query(client, replace(where, queue=fifo)), [f"{n % 7}" for n in range(1_100)]
    found = deduplicated([SinkRow(at, Outgoing(body=text, group_id="g")) for at, text in enumerate(texts)], ORIGIN)
    assert query.publish(query.task(found))
    received: list[str] = []
    while messages := client.receive(fifo, limit=100):
        received += [message.body for message in messages]
        client.delete_batch(fifo, [message.receipt_handle for message in messages])
    assert received == texts


@pytest.mark.parametrize("seed", range(5))
def test_each_row_is_there_once_whenever_tasks_and_drivers_die(
    seed: int, query: Query, client: Client, queue: str
) -> None:
    """Each time cut into another number of partitions."""
    rng = random.Random(seed)
    texts = bodies(3_000)
    done = False
    while not done:
        cut = rng.randint(1, 8)
        with contextlib.suppress(Killed):
            parts = [
                query.task(dying(rows(texts[at::cut]), rng.randrange(6_000 // cut)), at)
                for at in range(cut)
                for _ in range(rng.randint(1, 2))
            ]
            query.publish(*{part.partition: part for part in parts}.values())
            # The driver may be killed before Spark notes that the batch is done.
            done = rng.random() < 0.5
    assert Counter(taken(client, queue)) == Counter(texts)


def test_elsewhere_rows_are_sent_at_least_once(client: Client, where: QueuePlace, queue: str, tmp_path: Path) -> None:
    texts = [*bodies(25), WRONG, None]
    for _ in range(2):
        assert Sending(client, where, ORIGIN, str(tmp_path)).write(rows(texts)) == (25, 2)
    assert Counter(taken(client, queue)) == Counter(2 * bodies(25))
    assert [row["row"] for row in pq.read_table(tmp_path).to_pylist()] == [25, 26]
    with pytest.raises(RowsRefused, match="row 26"):
        Sending(client, where, ORIGIN, None).write(rows(texts))


def test_elsewhere_a_fifo_queue_drops_what_a_second_attempt_sends(
    client: Client, where: QueuePlace, new_name: Callable[..., str]
) -> None:
    fifo = new_name(".fifo")
    client.create_queue(fifo, attributes={"FifoQueue": "true"})
    for _ in range(2):
        messages = [SinkRow(at, Outgoing(body="same", group_id=f"g{at}")) for at in range(15)]
        Sending(client, replace(where, queue=fifo), ORIGIN, None).write(deduplicated(messages, ORIGIN))
    assert len(client.receive(fifo, limit=100)) == 15


@pytest.mark.parametrize("good", range(1, 6))
def test_elsewhere_rows_that_the_service_cannot_store_are_sent_again(
    good: int, client: Client, where: QueuePlace, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the last attempt, which counts like any other."""
    troubles = iter([True] * (good - 1) + [False])
    monkeypatch.setattr(Client, "send_batch", _storing(lambda: next(troubles)))
    assert Sending(client, where, ORIGIN, None, sleep=lambda s: None).write(rows(["a", "b"])) == (2, 0)
    assert taken(client, queue) == ["a", "b"]


def test_elsewhere_rows_that_the_service_never_stores_are_named(
    client: Client, where: QueuePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "send_batch", _storing(lambda: True))
    with pytest.raises(RowsRefused, match=r"did not store row 1 \(InternalError\), asked 5 times"):
        Sending(client, where, ORIGIN, None, sleep=lambda s: None).write(rows(["a", "b"]))


def _storing(trouble: Callable[[], bool]) -> Callable[..., Any]:
    """`Client.send_batch` for a service that does not store the last message of a request when there is trouble."""
    real = Client.send_batch

    def send(self: Client, name: str, messages: list[Any]) -> Any:
        if not trouble():
            return real(self, name, messages)
        answer = real(self, name, messages[:-1])
        lost = BatchResultErrorEntry(id=str(len(messages) - 1), sender_fault=False, code="InternalError")
        answer.failed.append(lost)
        return answer

    return send


def test_elsewhere_a_row_for_which_all_are_refused_is_named_or_kept(
    client: Client, where: QueuePlace, queue: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse_requests(monkeypatch, InvalidParameterValue("Message must be shorter than 1024 bytes."))
    texts = ["a", LARGE, *bodies(20)]
    assert Sending(client, where, ORIGIN, str(tmp_path)).write(rows(texts)) == (21, 1)
    assert Counter(taken(client, queue)) == Counter(["a", *bodies(20)])
    (row,) = pq.read_table(tmp_path).to_pylist()
    assert (row["row"], row["code"], row["body"]) == (1, "InvalidParameterValue", LARGE)
    with pytest.raises(RowsRefused, match=r"row 1 \(InvalidParameterValue: Message must be shorter"):
        Sending(client, where, ORIGIN, None).write(rows(texts))


def test_elsewhere_what_is_wrong_with_the_query_is_no_fault_of_a_row(
    client: Client, where: QueuePlace, queue: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse_requests(monkeypatch, AccessDenied("no"))
    with pytest.raises(AccessDenied):
        Sending(client, where, ORIGIN, str(tmp_path)).write(rows(["a", LARGE]))
    assert list(tmp_path.iterdir()) == []
    assert taken(client, queue) == []


LARGE = "x" * 1_025


def _refuse_requests(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """As services do that look at a queue's MaximumMessageSize before they look at single messages."""
    real = Client.send_batch

    def send(self: Client, name: str, messages: list[Outgoing]) -> Any:
        if any(len(message.body) >= len(LARGE) for message in messages):
            raise fault
        return real(self, name, messages)

    monkeypatch.setattr(Client, "send_batch", send)


def test_a_table_of_rejects_that_cannot_be_written_is_named(
    query: Query, client: Client, queue: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(RowsRefused, match=f"the option rejectsPath: {file} cannot be written"):
        query.task(rows(["a", WRONG]), rejects=file)
    assert taken(client, queue) == []
    assert query.write(["a", WRONG], rejects=tmp_path / "table")
    assert taken(client, queue) == ["a"]
