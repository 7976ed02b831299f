"""Rows into a queue: once with Rockdove, whatever attempts are made; at least once elsewhere."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from rockdove.client import Client, Outgoing
from rockdove.core.errors import AccessDenied, Fault, InvalidParameterValue
from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.core.message import Attribute
from rockdove.spark.service.place import QueuePlace
from rockdove.spark.service.trouble import Refused
from rockdove.spark.sink.chunk import deduplicated
from rockdove.spark.sink.publish import Publication
from rockdove.spark.sink.reject import Origin, RowsRefused
from rockdove.spark.sink.row import SinkRow, Wrong
from rockdove.spark.sink.send import Sending
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


@pytest.fixture
def attempt(client: Client, where: QueuePlace) -> Callable[..., Publication]:
    def make(name: str, origin: Origin = ORIGIN, rejects: Path | None = None) -> Publication:
        return Publication(client, where, origin, name, None if rejects is None else str(rejects))

    return make


Attempt = Callable[..., Publication]


def test_a_partition_is_published_whole(attempt: Attempt, client: Client, queue: str) -> None:
    assert attempt("a").write(rows(bodies(2_500))) == (2_500, 0)
    assert Counter(taken(client, queue)) == Counter(bodies(2_500))


def test_nothing_is_seen_of_an_attempt_that_dies(attempt: Attempt, client: Client, queue: str) -> None:
    with pytest.raises(Killed):
        attempt("a").write(dying(rows(bodies(2_500)), 2_400))
    assert taken(client, queue) == []
    assert attempt("b").write(rows(bodies(2_500))) == (2_500, 0)
    assert len(taken(client, queue)) == 2_500


def test_attempts_after_the_first_publish_nothing_and_succeed(
    attempt: Attempt, client: Client, queue: str, steady: RunningService
) -> None:
    for name in ("a", "b", "c"):
        assert attempt(name).write(rows(bodies(1_200))) == (1_200, 0)
        # However late it comes.
        steady.advance(86_400)
    steady.advance(-2 * 86_400)
    assert Counter(taken(client, queue)) == Counter(bodies(1_200))


def test_attempts_at_the_same_time_publish_once(attempt: Attempt, client: Client, queue: str) -> None:
    """A speculative task: both stage, and one is the first to finish."""
    inner = attempt("b")

    def overtaken() -> Iterator[SinkRow]:
        for row in rows(bodies(1_500)):
            if row.place == 1_300:
                assert inner.write(rows(bodies(1_500))) == (1_500, 0)
            yield row

    assert attempt("a").write(overtaken()) == (1_500, 0)
    assert Counter(taken(client, queue)) == Counter(bodies(1_500))


def test_other_partitions_batches_and_applications_are_apart(attempt: Attempt, client: Client, queue: str) -> None:
    for origin in (ORIGIN, Origin("app", 5, 3), Origin("app", 6, 2), Origin("other", 5, 2)):
        attempt("a", origin).write(rows(["x"]))
    assert len(taken(client, queue)) == 4


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service takes so few of an attempt, and the sink knows."""
    monkeypatch.setattr("rockdove.core.limits.MAX_STAGED", 2_000)
    monkeypatch.setattr("rockdove.spark.sink.publish._PIECE_ROWS", 2_000)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("application", ["app", "x" * 256])
def test_a_large_partition_is_published_in_pieces(
    attempt: Attempt, client: Client, queue: str, application: str
) -> None:
    origin = Origin(application, 5, 2)
    for after in (1_900, 2_100, 4_500):
        with pytest.raises(Killed):
            attempt(f"until {after}", origin).write(dying(rows(bodies(5_000)), after))
    for name in ("a", "b"):
        assert attempt(name, origin).write(rows(bodies(5_000))) == (5_000, 0)
    assert Counter(taken(client, queue)) == Counter(bodies(5_000))


@pytest.mark.usefixtures("small_pieces")
def test_pieces_of_rows_in_another_order_are_refused(attempt: Attempt, client: Client, queue: str) -> None:
    with pytest.raises(Killed):
        attempt("a").write(dying(rows(bodies(5_000)), 3_500))
    with pytest.raises(Refused, match="in another order"):
        attempt("b").write(rows(reversed(bodies(5_000))))
    assert attempt("c").write(rows(bodies(5_000))) == (5_000, 0)
    assert Counter(taken(client, queue)) == Counter(bodies(5_000))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(("first", "second"), [(5_000, 2_000), (2_000, 5_000), (4_000, 2_000), (2_000, 4_000)])
def test_pieces_that_are_missing_or_too_many_are_seen(
    first: int, second: int, attempt: Attempt, client: Client, queue: str
) -> None:
    """Though each that there is has as many rows as it had."""
    attempt("a").write(rows(bodies(first)))
    with pytest.raises(Refused, match="they are others, or in another order"):
        attempt("b").write(rows(bodies(second)))
    assert len(taken(client, queue)) == first


@pytest.mark.usefixtures("small_pieces")
def test_a_full_piece_without_others_needs_no_order(attempt: Attempt, client: Client, queue: str) -> None:
    attempt("a").write(rows(bodies(2_000)))
    assert attempt("b").write(rows(reversed(bodies(2_000)))) == (2_000, 0)
    assert len(taken(client, queue)) == 2_000


@pytest.mark.usefixtures("small_pieces")
def test_each_piece_keeps_its_own_rejects(attempt: Attempt, client: Client, queue: str, tmp_path: Path) -> None:
    texts: list[str | None] = [*bodies(5_000)]
    for place in (0, 2_500, 4_999):
        texts[place] = WRONG
    texts[10] = None
    with pytest.raises(Killed):
        attempt("a", rejects=tmp_path).write(dying(rows(texts), 4_000))
    for name in ("b", "c"):
        assert attempt(name, rejects=tmp_path).write(rows(texts)) == (4_996, 4)
    assert sorted(row["row"] for row in pq.read_table(tmp_path).to_pylist()) == [0, 10, 2_500, 4_999]
    assert len(taken(client, queue)) == 4_996


def test_no_rows_are_no_messages(attempt: Attempt, client: Client, queue: str) -> None:
    assert attempt("a").write(rows([])) == (0, 0)
    assert taken(client, queue) == []


@pytest.mark.parametrize("number", [0, 1, 9, 11, 2_500])
@pytest.mark.parametrize("kept", [False, True])
def test_a_batch_that_was_cut_otherwise_is_not_taken_for_the_same(
    number: int, kept: bool, attempt: Attempt, tmp_path: Path
) -> None:
    path = tmp_path if kept else None
    attempt("a", rejects=path).write(rows(bodies(10)))
    with pytest.raises(Refused, match=rf"10 rows of it were sent to .* and now there are {number:,}\."):
        attempt("b", rejects=path).write(rows(bodies(number)))


@pytest.mark.parametrize("kept", [False, True])
def test_a_partition_that_was_empty_must_be_so_again(
    kept: bool, attempt: Attempt, client: Client, queue: str, tmp_path: Path
) -> None:
    path = tmp_path if kept else None
    for name in ("a", "b"):
        assert attempt(name, rejects=path).write(rows([])) == (0, 0)
    with pytest.raises(Refused, match="0 rows of it were sent to"):
        attempt("c", rejects=path).write(rows(["x"]))
    assert taken(client, queue) == []


@pytest.mark.parametrize("texts", [["a", WRONG], ["a", "b", "c", None], ["a", None], [WRONG, None, None], ["b"]])
def test_rejects_do_not_hide_that_a_batch_was_cut_otherwise(
    texts: list[str | None], attempt: Attempt, tmp_path: Path
) -> None:
    attempt("a", rejects=tmp_path).write(rows(["a", "b", WRONG]))
    with pytest.raises(Refused, match="2 rows of it were sent to"):
        attempt("b", rejects=tmp_path).write(rows(texts))
    # Nor does it leave rejects of a batch that there was not.
    assert [row["row"] for row in pq.read_table(tmp_path).to_pylist()] == [2]


def test_rows_that_are_all_rejected_are_published_as_none(
    attempt: Attempt, client: Client, queue: str, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        assert attempt(name, rejects=tmp_path).write(rows([WRONG, None])) == (0, 2)
    assert taken(client, queue) == []
    assert [row["row"] for row in pq.read_table(tmp_path).to_pylist()] == [0, 1]


def test_queues_share_a_folder_of_rejects(
    client: Client, where: QueuePlace, new_name: Callable[..., str], tmp_path: Path
) -> None:
    other = new_name()
    client.create_queue(other)
    for place in (where, replace(where, queue=other)):
        Publication(client, place, ORIGIN, "a", str(tmp_path)).write(rows(["a", WRONG]))
        Sending(client, place, Origin("else", 0, 0), str(tmp_path)).write(rows(["a", None]))
    found = [(row["queue"].rpartition("/")[2], row["application"]) for row in pq.read_table(tmp_path).to_pylist()]
    assert sorted(found) == sorted((queue, name) for queue in (where.queue, other) for name in ("app", "else"))


def test_a_batch_from_long_ago_is_refused(attempt: Attempt) -> None:
    attempt("a", Origin("app", 500, 0)).write(rows(["x"]))
    with pytest.raises(Refused, match="much newer batches of this application"):
        attempt("a", Origin("app", 1, 0)).write(rows(["x"]))


def test_rows_that_cannot_be_sent_are_named_and_none_is_sent(attempt: Attempt, client: Client, queue: str) -> None:
    for wrong, code in [(None, "NoBody"), ("x" * (MAX_MESSAGE_BYTES + 1), "MessageTooLong"), (WRONG, "Invalid")]:
        with pytest.raises(RowsRefused, match=rf"batch 5, partition 2: the queue does not take row 2 \({code}"):
            attempt("a").write(rows(["a", "b", wrong, "c"]))
    assert taken(client, queue) == []


@pytest.mark.parametrize("place", [0, 1_500, 2_199])
def test_rejects_go_to_a_table_and_the_others_to_the_queue(
    place: int, attempt: Attempt, client: Client, queue: str, tmp_path: Path
) -> None:
    texts: list[str | None] = [*bodies(2_200)]
    texts[place], texts[7] = WRONG, "x" * (MAX_MESSAGE_BYTES + 1)
    for name in ("a", "b"):
        number = len({7, place})
        assert attempt(name, rejects=tmp_path).write(rows(texts)) == (2_200 - number, number)
    found = pq.read_table(tmp_path).to_pylist()
    assert [row["row"] for row in found] == sorted({7, place})
    assert Counter(taken(client, queue)) == Counter(text for at, text in enumerate(texts) if at not in (7, place))


def test_a_queue_that_takes_less_says_so_by_row(attempt: Attempt, client: Client, queue: str) -> None:
    client.set_attributes(queue, {"MaximumMessageSize": "1024"})
    with pytest.raises(RowsRefused, match=r"row 1 \(InvalidParameterValue"):
        attempt("a").write(rows(["a", "x" * 1025]))


def test_all_of_a_row_arrives(attempt: Attempt, client: Client, queue: str, steady: RunningService) -> None:
    message = Outgoing(body="b", attributes={"n": Attribute("Number.int", "7")}, delay_s=60, group_id="tenant")
    attempt("a").write([SinkRow(0, message)])
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
    texts = [f"{n % 7}" for n in range(1_100)]
    found = deduplicated([SinkRow(at, Outgoing(body=text, group_id="g")) for at, text in enumerate(texts)], ORIGIN)
    Publication(client, replace(where, queue=fifo), ORIGIN, "a", None).write(found)
    received: list[str] = []
    while messages := client.receive(fifo, limit=100):
        received += [message.body for message in messages]
        client.delete_batch(fifo, [message.receipt_handle for message in messages])
    assert received == texts


@pytest.mark.parametrize("seed", range(3))
def test_each_row_is_there_once_whenever_tasks_die(seed: int, attempt: Attempt, client: Client, queue: str) -> None:
    rng = random.Random(seed)
    for partition in range(4):
        texts = [f"{partition}-{n}" for n in range(1_300)]
        tries = 0
        while True:
            tries += 1
            try:
                task = attempt(f"{partition}-{tries}", Origin("app", 1, partition))
                task.write(dying(rows(texts), rng.randrange(3_000)))
            except Killed:
                continue
            # The driver may not have heard of it.
            if rng.random() < 0.5:
                break
    expected = Counter(f"{partition}-{n}" for partition in range(4) for n in range(1_300))
    assert Counter(taken(client, queue)) == expected


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
    attempt: Attempt, client: Client, queue: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(RowsRefused, match=f"the option rejectsPath: {file} cannot be written"):
        attempt("a", rejects=file).write(rows(["a", WRONG]))
    assert taken(client, queue) == []
    assert attempt("b", rejects=tmp_path / "table").write(rows(["a", WRONG])) == (1, 1)
