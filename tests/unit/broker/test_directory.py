"""Which queues there are, which of them are at work, and what is remembered of the ways to write a queue's URL."""

import json
import random
from typing import Any

import pytest
from msgspec.structs import replace

from rockdove.broker import directory
from rockdove.broker.directory import LONGEST_URL, Directory
from rockdove.broker.queue import Queue
from rockdove.core.arn import queue_arn
from rockdove.core.clock import ManualClock
from rockdove.core.queue import DeletedQueue, PhysicalRecord, QueueRecord, pack
from rockdove.store.base import QueueDropped, QueuePut, Snapshot
from rockdove.store.memory.store import MemoryStore

ACCOUNT = "000000000000"


@pytest.fixture
def known() -> Directory:
    """With one queue, of the name q."""
    clock = ManualClock()
    store = MemoryStore(clock, random.Random(1))
    made = Directory(store, clock, "us-east-1", cool_down=False)
    record = QueueRecord(uid="00" * 8, account=ACCOUNT, name="q", fifo=False, created_us=0, modified_us=0, physical=[])
    made.apply(QueuePut(1, record))
    return made


def uid_of(name: str) -> str:
    return name.encode().hex()


def record_of(name: str, number: int, **fields: Any) -> QueueRecord:
    physical = [PhysicalRecord(number, "prefix")] if number else []
    same: dict[str, Any] = {"account": ACCOUNT, "fifo": False, "created_us": 0, "modified_us": 0}
    return QueueRecord(uid=uid_of(name), name=name, physical=physical, **same, **fields)


def put(known: Directory, name: str, number: int = 0, **fields: Any) -> None:
    known.apply(QueuePut(1, record_of(name, number, **fields)))


def url_of(length: int) -> str:
    """A URL of the queue, so many characters long."""
    end = f"/{ACCOUNT}/q"
    return "http://" + "h" * (length - len("http://") - len(end)) + end


def remembered(known: Directory) -> dict[str, Queue]:
    return known._by_url


@pytest.mark.parametrize(("length", "kept"), [(LONGEST_URL, True), (LONGEST_URL + 1, False), (1_000_000, False)])
def test_a_long_url_is_understood_but_not_remembered(known: Directory, length: int, kept: bool) -> None:
    """Ten thousand of a megabyte each would be all of the memory."""
    url = url_of(length)
    assert len(url) == length
    for _ in range(2):
        assert known.by_url(url, ACCOUNT).key == (ACCOUNT, "q")
        assert (url in remembered(known)) is kept


def test_the_number_of_urls_is_bounded(known: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MOST_URLS", 10)
    for number in range(100):
        assert known.by_url(f"http://host-{number}/{ACCOUNT}/q", ACCOUNT).key == (ACCOUNT, "q")
        assert len(remembered(known)) <= 10


def test_a_queue_is_at_work_for_as_long_as_somebody_uses_it(known: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MOST_AWAKE", 5)
    for number in range(100):
        put(known, f"q{number}", number)
    assert (len(known), len(list(known))) == (101, 0)
    used = known.named(ACCOUNT, "q7")
    for number in range(100):
        known.named(ACCOUNT, f"q{number}")
        assert known.named(ACCOUNT, "q7") is used
    assert len(list(known)) <= 11
    assert known.page(ACCOUNT, "q", "", 1_000) == sorted(["q", *[f"q{number}" for number in range(100)]])


def test_a_queue_that_is_asked_for_by_its_url_is_let_go_too(known: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MOST_AWAKE", 5)
    for number in range(50):
        put(known, f"q{number}", number)
        known.by_url(f"http://host/{ACCOUNT}/q{number}", ACCOUNT)
    assert len(list(known)) <= 10


def test_what_happened_in_a_queue_is_not_forgotten_with_it(known: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "MOST_AWAKE", 1)
    for number in range(10):
        put(known, f"q{number}", number)
    known.named(ACCOUNT, "q3").events.sent += 1
    for number in range(10):
        known.named(ACCOUNT, f"q{number}")
    assert len(list(known)) <= 2
    assert known.events() == {uid_of("q3"): [1, 0, 0, 0, 0, 0]}
    known.named(ACCOUNT, "q3").events.sent += 1
    assert known.events() == {uid_of("q3"): [2, 0, 0, 0, 0, 0]}
    known.apply(QueueDropped(2, uid_of("q3"), DeletedQueue(ACCOUNT, "q3", 0)))
    assert known.events() == {}


def test_what_nobody_has_asked_for_is_let_go_after_a_while(known: Directory) -> None:
    put(known, "q1", 1)
    known.named(ACCOUNT, "q1")
    for _ in range(3):
        known._clock.advance(61)  # type: ignore[attr-defined]
        known.named(ACCOUNT, "q")
        known._turn_page()
    assert [queue.record.name for queue in known] == ["q"]


def test_a_change_reaches_a_queue_at_work_and_one_that_is_not(known: Directory) -> None:
    put(known, "q1", 1)
    put(known, "q2", 2)
    used = known.named(ACCOUNT, "q1")
    for name in ("q1", "q2"):
        put(known, name, 1, tags={"a": "b"})
    assert used.record.tags == {"a": "b"}
    assert known.named(ACCOUNT, "q2").record.tags == {"a": "b"}
    known.apply(QueueDropped(2, uid_of("q1"), DeletedQueue(ACCOUNT, "q1", 0)))
    assert not used.alive
    assert known.get(ACCOUNT, "q1") is None


def test_another_queue_of_the_same_name(known: Directory) -> None:
    before = known.by_url(f"http://host/{ACCOUNT}/q", ACCOUNT)
    known.apply(QueuePut(2, replace(record_of("q", 1), uid=uid_of("another"))))
    assert not before.alive
    assert known.by_url(f"http://host/{ACCOUNT}/q", ACCOUNT).record.uid == uid_of("another")
    assert len(known) == 1


def test_which_queues_send_dead_letters_to_one(known: Directory) -> None:
    policy = {
        "RedrivePolicy": json.dumps({"deadLetterTargetArn": queue_arn("us-east-1", ACCOUNT, "q"), "maxReceiveCount": 2})
    }
    for name in ("b", "a"):
        put(known, name, attributes=policy)
    assert known.sources(known.named(ACCOUNT, "q")) == ["a", "b"]
    put(known, "a")
    known.apply(QueueDropped(2, uid_of("b"), DeletedQueue(ACCOUNT, "b", 0)))
    assert known.sources(known.named(ACCOUNT, "q")) == []


def test_who_has_missed_changes_begins_anew(known: Directory) -> None:
    put(known, "gone", 1)
    put(known, "kept", 2)
    gone, kept = known.named(ACCOUNT, "gone"), known.named(ACCOUNT, "kept")
    records = [record_of("kept", 2, tags={"a": "b"}), record_of("new", 3)]
    known.load(Snapshot(1, list(map(pack, records)), [], [], b"", [], []))
    assert (gone.alive, kept.alive, kept.record.tags) == (False, True, {"a": "b"})
    assert known.names_of(ACCOUNT) == ["kept", "new"]
    assert set(known.with_uids({uid_of("new"), uid_of("gone")})) == {uid_of("new")}
