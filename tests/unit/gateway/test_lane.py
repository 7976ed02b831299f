"""How messages are sent on: together, in order, until the service has them."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rockdove.client import Outgoing, Unreachable
from rockdove.core.errors import InternalFailure, InvalidParameterValue, QueueDoesNotExist, ServiceUnavailable
from rockdove.gateway import lane as module
from rockdove.gateway.error import Refused, Why
from rockdove.gateway.lane import Lane
from rockdove.wire.shape import BatchResultErrorEntry, SendMessageBatchResult, SendMessageBatchResultEntry


class Service:
    """In place of a client: fails as a test wants it to."""

    endpoint = "http://service.test"

    def __init__(self, fails: Callable[[int, list[str]], Exception | Iterable[str] | None] = lambda turn, bodies: None):
        """``fails`` gets the number of the request and its bodies; gives a fault, or the bodies that are not stored."""
        self.requests: list[list[str]] = []
        self.stored: list[str] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self._fails = fails

    async def send_batch(self, queue: str, messages: list[Outgoing]) -> SendMessageBatchResult:
        bodies = [message.body for message in messages]
        self.requests.append(bodies)
        await self.is_open.wait()
        outcome = self._fails(len(self.requests), bodies)
        if isinstance(outcome, Exception):
            raise outcome
        result = SendMessageBatchResult(successful=[], failed=[])
        for place, body in enumerate(bodies):
            if outcome is not None and body in outcome:
                result.failed.append(BatchResultErrorEntry(id=str(place), sender_fault=False, code="InternalFailure"))
            else:
                self.stored.append(body)
                result.successful.append(
                    SendMessageBatchResultEntry(id=str(place), message_id=f"id of {body}", md5_of_message_body="")
                )
        return result


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(module, "MOST_PAUSE_S", 0.0)


def send(lane: Lane, *bodies: str) -> list[Any]:
    return [lane.send(Outgoing(body=body)) for body in bodies]


def run(scenario: Callable[[], Any]) -> None:
    asyncio.run(scenario())


def test_what_comes_during_a_request_goes_together() -> None:
    async def scenario() -> None:
        service = Service()
        lane = Lane(service, "jobs")  # type: ignore[arg-type]
        service.is_open.clear()
        sent = send(lane, "first")
        await asyncio.sleep(0)
        sent += send(lane, *(f"{number}" for number in range(15)))
        service.is_open.set()
        assert await asyncio.gather(*sent) == ["id of first", *(f"id of {number}" for number in range(15))]
        assert [len(bodies) for bodies in service.requests] == [1, 10, 5]
        assert service.stored == ["first", *map(str, range(15))]
        await asyncio.sleep(0)
        assert lane.is_idle

    run(scenario)


def test_a_batch_has_only_what_fits() -> None:
    async def scenario() -> None:
        service = Service()
        sent = send(Lane(service, "jobs"), *("x" * 400_000 for _ in range(5)))  # type: ignore[arg-type]
        await asyncio.gather(*sent)
        assert [len(bodies) for bodies in service.requests] == [2, 2, 1]

    run(scenario)


@pytest.mark.parametrize(
    "trouble", [Unreachable("http://x", "gone", "start it"), ServiceUnavailable(), InternalFailure()]
)
def test_while_the_service_is_away(trouble: Exception) -> None:
    async def scenario() -> None:
        service = Service(lambda turn, bodies: trouble if turn < 5 else None)
        assert await asyncio.gather(*send(Lane(service, "jobs"), "a", "b")) == ["id of a", "id of b"]  # type: ignore[arg-type]
        assert service.requests == [["a", "b"]] * 5

    run(scenario)


def test_part_of_a_batch_is_not_stored() -> None:
    async def scenario() -> None:
        service = Service(lambda turn, bodies: ["b"] if turn < 3 else None)
        await asyncio.gather(*send(Lane(service, "jobs"), "a", "b", "c"))  # type: ignore[arg-type]
        assert service.requests == [["a", "b", "c"], ["b"], ["b"]]

    run(scenario)


def test_one_message_takes_no_others_along() -> None:
    async def scenario() -> None:
        bad = InvalidParameterValue("the message is bad")
        service = Service(lambda turn, bodies: bad if "bad" in bodies else None)
        outcomes = await asyncio.gather(
            *send(Lane(service, "jobs"), "a", "bad", "c"),  # type: ignore[arg-type]
            return_exceptions=True,
        )
        assert [outcomes[0], str(outcomes[1]), outcomes[2]] == ["id of a", "the message is bad", "id of c"]
        assert service.stored == ["a", "c"]

    run(scenario)


def test_a_queue_that_does_not_exist() -> None:
    async def scenario() -> None:
        service = Service(lambda turn, bodies: QueueDoesNotExist())
        outcomes = await asyncio.gather(*send(Lane(service, "jobs"), "a", "b"), return_exceptions=True)  # type: ignore[arg-type]
        assert [type(outcome) for outcome in outcomes] == [Refused, Refused]
        assert {outcome.why for outcome in outcomes if isinstance(outcome, Refused)} == {Why.NO_QUEUE}
        assert len(service.requests) == 1

    run(scenario)


def test_a_message_that_is_taken_back() -> None:
    async def scenario() -> None:
        service = Service(lambda turn, bodies: Unreachable("http://x", "gone", "start it") if turn < 3 else None)
        service.is_open.clear()
        lane = Lane(service, "jobs")  # type: ignore[arg-type]
        first, second, third = send(lane, "first", "second", "third")
        await asyncio.sleep(0)
        second.cancel()
        service.is_open.set()
        assert list(await asyncio.gather(first, third)) == ["id of first", "id of third"]
        assert service.stored == ["first", "third"]

    run(scenario)
