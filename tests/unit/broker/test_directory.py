"""Which queues there are: what is remembered of the ways to write a queue's URL."""

import random

import pytest

from rockdove.broker import directory
from rockdove.broker.directory import LONGEST_URL, Directory
from rockdove.broker.queue import Queue
from rockdove.core.clock import ManualClock
from rockdove.core.queue import QueueRecord
from rockdove.store.base import QueuePut
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
