"""Requests are timed, dropped on purpose, and tried again while that makes sense."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.core.clock import SystemClock
from rockdove.core.errors import AccessDenied, InternalFailure, RequestThrottled, ServiceUnavailable
from rockdove.trace import Event
from rockdove.workload.answer import Answer
from rockdove.workload.caller import Caller, is_passing
from rockdove.workload.fault import Dice, generator
from rockdove.workload.journal import Journal, Partition
from rockdove.workload.workload import Faults, Thread

PLACE = Partition(0, "q", "http://h/000000000000/q")
NONE = Faults()
GONE = Unreachable("http://h", "refused", "start it")


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """A call that fails so, and then succeeds; and how often it was made."""
    rest, calls = list(errors), [0]

    async def call() -> str:
        calls[0] += 1
        if rest:
            raise rest.pop(0)
        return "done"

    return call, calls


def ask(
    call: Callable[[], Awaitable[str]],
    faults: Faults = NONE,
    patience_s: float = 10,
    journal: Journal | None = None,
) -> Answer[str] | None:
    dice = Dice(faults, generator(1, "send", Thread(0, 0)))
    caller = Caller(dice, journal or Journal("run"), SystemClock(), patience_s)
    return asyncio.run(caller.ask(PLACE, "send", call))


def test_an_answer_has_its_time() -> None:
    answer = ask(failing()[0])
    assert answer is not None
    assert answer.value == "done"
    assert answer.ended_us == answer.began_us + answer.latency_us


@pytest.mark.parametrize("error", [GONE, ServiceUnavailable(), RequestThrottled(), UnexpectedAnswer("h", "502", 502)])
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    call, calls = failing(error, error)
    journal = Journal("run")
    assert ask(call, journal=journal) is not None
    assert calls == [3]
    assert journal.notes.failures == 2


def test_what_is_refused_is_not_tried_again() -> None:
    call, calls = failing(AccessDenied())
    with pytest.raises(AccessDenied):
        ask(call)
    assert calls == [1]


def test_patience_ends() -> None:
    call, calls = failing(*[GONE] * 100)
    with pytest.raises(Unreachable):
        ask(call, patience_s=0.2)
    assert 1 < calls[0] < 10


def test_an_answer_that_is_no_services_is_final() -> None:
    assert not is_passing(UnexpectedAnswer("h", "with something else than HTTP"))
    assert is_passing(InternalFailure())


def test_a_dropped_request_is_never_made() -> None:
    call, calls = failing()
    journal = Journal("run")
    answers = [ask(call, Faults(drop_requests=0.99), journal=journal) for _ in range(20)]
    assert answers == [None] * 20
    assert (calls, journal.notes.dropped_requests) == ([0], 20)


def test_a_dropped_response_is_of_a_request_that_was_made() -> None:
    call, calls = failing()
    journal = Journal("run")
    answers = [ask(call, Faults(drop_responses=0.99), journal=journal) for _ in range(20)]
    assert answers == [None] * 20
    assert (calls, journal.notes.dropped_responses) == ([20], 20)


def test_a_trace_has_what_failed_without_a_result() -> None:
    events: list[Event] = []
    ask(failing(ServiceUnavailable(), GONE)[0], journal=Journal("run", events.append))
    assert [(event.op, event.status, event.message_id) for event in events] == [
        ("send", 503, None),
        ("send", None, None),
    ]
