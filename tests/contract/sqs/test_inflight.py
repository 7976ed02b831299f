"""The limit on messages in flight, made small for the test."""

import pytest

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.refusal import refused
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import SqsQueue


@pytest.fixture(scope="module")
def narrow(services: Services, store: str) -> RunningService:
    """A service in which three may be in flight."""
    return services.shared(store, max_in_flight=3)


@pytest.fixture
def narrow_make(narrow: RunningService, protocol: str, new_name: NewName) -> QueueMaker:
    return QueueMaker(narrow.client(protocol), new_name)


def _over(queue: SqsQueue) -> None:
    with refused("OverLimit", status=403):
        queue.receive(1)


def test_past_the_limit_a_receive_is_refused(narrow_make: QueueMaker) -> None:
    queue = narrow_make()
    queue.send_all(*map(str, range(5)))
    messages = [queue.receive_one() for _ in range(3)]
    _over(queue)
    assert queue.counts() == (2, 3, 0)
    queue.delete(messages[0])
    assert queue.bodies(1) == ["3"]
    _over(queue)


def test_an_empty_queue_at_the_limit_refuses_as_well(narrow_make: QueueMaker) -> None:
    queue = narrow_make()
    queue.send_all("1", "2", "3")
    queue.receive()
    _over(queue)


def test_what_becomes_visible_makes_room(narrow: RunningService, narrow_make: QueueMaker) -> None:
    queue = narrow_make()
    queue.send_all(*map(str, range(5)))
    queue.receive(3)
    _over(queue)
    narrow.advance(30)
    assert len(queue.receive(3)) == 3
    _over(queue)
    narrow.advance(30)
    queue.hide(queue.receive_one(), 0)
    assert len(queue.receive(3)) == 3


def test_delayed_and_waiting_messages_do_not_count(narrow_make: QueueMaker) -> None:
    queue = narrow_make()
    queue.send_all(*map(str, range(5)), DelaySeconds=100)
    queue.send_all("a", "b")
    assert queue.bodies() == ["a", "b"]
    assert queue.receive() == []


def test_each_queue_has_its_own_limit(narrow_make: QueueMaker) -> None:
    for queue in (narrow_make(), narrow_make()):
        queue.send_all("1", "2", "3")
        assert len(queue.receive()) == 3


def test_several_physical_queues_have_one_limit(narrow_make: QueueMaker) -> None:
    queue = narrow_make(RockdovePhysicalQueues="3")
    queue.send_all(*map(str, range(6)))
    for _ in range(3):
        queue.receive_one()
    _over(queue)


def test_fifo_queues_give_nothing_and_say_nothing(narrow: RunningService, narrow_make: QueueMaker) -> None:
    """Documented: at the limit of a FIFO queue "Amazon SQS returns no error messages"."""
    fifo = narrow_make.fifo()
    for number in range(5):
        fifo.post(f"group-{number}", str(number))
    messages = [fifo.receive_one() for _ in range(3)]
    assert fifo.receive() == []
    assert fifo.counts() == (2, 3, 0)
    fifo.delete(messages[0])
    assert len(fifo.receive(1)) == 1
    assert fifo.receive() == []
    narrow.advance(30)
    assert len(fifo.receive(3)) == 3


def test_a_wait_at_the_limit_of_a_fifo_queue_gives_nothing_either(narrow_make: QueueMaker) -> None:
    fifo = narrow_make.fifo()
    for number in range(5):
        fifo.post(f"group-{number}", str(number))
    messages = [fifo.receive_one() for _ in range(3)]
    assert fifo.receive(WaitTimeSeconds=1) == []
    assert fifo.counts() == (2, 3, 0)
    fifo.delete(messages[0])
    assert len(fifo.receive(1, WaitTimeSeconds=20)) == 1
