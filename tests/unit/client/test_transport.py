"""What both clients do when the network or the service misbehaves."""

import time

import pytest

from rockdove.client import Retry, UnexpectedAnswer, Unreachable
from rockdove.core.errors import InternalFailure, ServiceUnavailable
from tests.support.port import free_port
from tests.unit.client.caller import KINDS, caller
from tests.unit.client.scripted import (
    Act,
    Scripted,
    answer,
    answer_by_half,
    hang_up,
    speak_otherwise,
    stay_silent,
    then_leave,
)

URL = "http://127.0.0.1/000000000000/q"
SENT = answer(b'{"MD5OfMessageBody":"m","MessageId":"i"}')
RECEIVED = answer(b'{"Messages":[{"MessageId":"i","ReceiptHandle":"r","MD5OfBody":"m","Body":"b"}]}')
UNAVAILABLE = answer(b'{"__type":"com.amazon.coral.service#ServiceUnavailable"}', 503)
BROKEN = answer(b'{"__type":"com.amazon.coral.service#InternalFailure"}', 500)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pauses() -> list[float]:
    return []


def test_one_connection_serves_many_calls(kind: str) -> None:
    with Scripted(SENT, SENT, SENT) as server, caller(kind, server.endpoint) as client:
        for _ in range(3):
            client.send(URL, "x")
        assert server.connections == 1


def test_a_connection_that_the_service_closes_is_not_used_again(kind: str, pauses: list[float]) -> None:
    last = answer(b'{"MD5OfMessageBody":"m","MessageId":"i"}', close=True, extra=b"Connection: close\r\n")
    with Scripted(last, SENT) as server, caller(kind, server.endpoint, sleep=pauses.append) as client:
        client.send(URL, "x")
        client.send(URL, "x")
        assert server.connections == 2
    assert pauses == []


def test_a_send_over_a_connection_that_went_stale_is_not_lost(kind: str, pauses: list[float]) -> None:
    with Scripted(then_leave(SENT), SENT) as server, caller(kind, server.endpoint, sleep=pauses.append) as client:
        client.send(URL, "x")
        # The event loop does not run meanwhile, and cannot know.
        time.sleep(0.15)
        assert client.send(URL, "x").message_id == "i"
        assert server.targets == ["AmazonSQS.SendMessage"] * 2
    assert pauses == []


def test_nobody_listening_is_told_with_what_to_do_after_some_tries(kind: str, pauses: list[float]) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    retry = Retry(attempts=3)
    with caller(kind, endpoint, sleep=pauses.append, retry=retry) as client, pytest.raises(Unreachable) as caught:
        client.send(URL, "x")
    assert str(caught.value) == (
        f"cannot reach {endpoint}: Connection refused; "
        'start the service with "rockdove serve", or choose another endpoint'
    )
    assert caught.value.endpoint == endpoint
    assert len(pauses) == 2


def test_retries_can_be_switched_off(kind: str, pauses: list[float]) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    with caller(kind, endpoint, sleep=pauses.append, retry=None) as client, pytest.raises(Unreachable):
        client.list_queues()
    assert pauses == []


@pytest.mark.parametrize("act", [hang_up, answer_by_half])
def test_a_receive_that_was_cut_off_is_repeated(kind: str, act: Act, pauses: list[float]) -> None:
    with Scripted(act, RECEIVED) as server, caller(kind, server.endpoint, sleep=pauses.append) as client:
        assert [message.body for message in client.receive(URL)] == ["b"]
        assert len(server.targets) == 2
    assert len(pauses) == 1


@pytest.mark.parametrize("act", [hang_up, answer_by_half])
def test_a_send_that_was_cut_off_is_not(kind: str, act: Act) -> None:
    with Scripted(act, SENT) as server, caller(kind, server.endpoint) as client:
        with pytest.raises(Unreachable, match="whether the request was carried out is not known"):
            client.send(URL, "x")
        assert len(server.targets) == 1


def test_a_send_with_a_deduplication_id_is_repeated(kind: str, pauses: list[float]) -> None:
    with Scripted(hang_up, SENT) as server, caller(kind, server.endpoint, sleep=pauses.append) as client:
        client.send(URL, "x", group_id="g", deduplication_id="1")
        assert len(server.targets) == 2


def test_a_service_that_could_not_store_is_asked_again(kind: str, pauses: list[float]) -> None:
    with Scripted(UNAVAILABLE, UNAVAILABLE, SENT) as server:
        with caller(kind, server.endpoint, sleep=pauses.append) as client:
            client.send(URL, "x")
        assert len(server.targets) == 3
    assert len(pauses) == 2
    assert pauses[1] > pauses[0] / 2


def test_the_last_fault_is_raised_when_tries_run_out(kind: str, pauses: list[float]) -> None:
    with Scripted(*[UNAVAILABLE] * 4) as server, caller(kind, server.endpoint, sleep=pauses.append) as client:
        with pytest.raises(ServiceUnavailable):
            client.send(URL, "x")
        assert len(server.targets) == 4


def test_a_defect_of_the_service_is_not_met_with_a_second_send(kind: str) -> None:
    with Scripted(BROKEN, SENT) as server, caller(kind, server.endpoint) as client:
        with pytest.raises(InternalFailure):
            client.send(URL, "x")
        assert len(server.targets) == 1


def test_an_answer_that_does_not_come_is_told(kind: str) -> None:
    told = pytest.raises(Unreachable, match=r"no answer within 0\.2 s")
    with Scripted(stay_silent) as server, caller(kind, server.endpoint, timeout_s=0.2) as client, told:
        client.send(URL, "x")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (speak_otherwise, "something else than HTTP"),
        (answer(b"<html>Bad Gateway</html>", 502), "HTTP status 502"),
        (answer(b"<html>Welcome</html>"), "something else than a result"),
    ],
)
def test_what_is_no_rockdove_is_told(kind: str, act: Act, told: str) -> None:
    raised = pytest.raises(UnexpectedAnswer, match=told)
    with Scripted(act) as server, caller(kind, server.endpoint) as client, raised:
        client.send(URL, "x")


def test_names_are_asked_for_once(kind: str) -> None:
    url = answer(b'{"QueueUrl":"http://127.0.0.1/000000000000/q"}')
    with Scripted(url, SENT, SENT) as server, caller(kind, server.endpoint) as client:
        client.send("q", "x")
        client.send("q", "x")
        assert server.targets == ["AmazonSQS.GetQueueUrl", "AmazonSQS.SendMessage", "AmazonSQS.SendMessage"]
