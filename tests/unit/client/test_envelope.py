"""Requests as HTTP and back."""

import msgspec
import pytest

from rockdove.client import Bearer, Credentials, Nobody, UnexpectedAnswer
from rockdove.client.credential import environment_credentials
from rockdove.client.endpoint import parse_endpoint
from rockdove.client.envelope import Envelope, Reply, shortened
from rockdove.core.errors import QueueDoesNotExist
from rockdove.wire import extension, shape

ENDPOINT = parse_endpoint("http://127.0.0.1:9324")
RECEIVE = shape.ReceiveMessage(queue_url="q", wait_time_seconds=20)


@pytest.fixture
def unsigned(monkeypatch: pytest.MonkeyPatch) -> Envelope:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    return Envelope(ENDPOINT, None, None, 30)


def test_a_request_names_its_operation(unsigned: Envelope) -> None:
    headers, body = unsigned.write(shape.SendMessage(queue_url="u", message_body="b"))
    assert headers == {
        "Host": "127.0.0.1:9324",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "AmazonSQS.SendMessage",
    }
    assert msgspec.json.decode(body) == {"QueueUrl": "u", "MessageBody": "b"}
    assert unsigned.write(extension.Peek(queue_url="u"))[0]["X-Amz-Target"] == "Rockdove.Peek"


def test_credentials_sign_and_the_environments_do_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    request = shape.ListQueues()
    by_environment = Envelope(ENDPOINT, None, None, 30).write(request)[0]["Authorization"]
    assert "Credential=from-environment/" in by_environment
    assert "/eu-west-3/sqs/aws4_request" in by_environment
    by_argument = Envelope(ENDPOINT, "us-west-1", Credentials("mine", "secret"), 30).write(request)[0]["Authorization"]
    assert "Credential=mine/" in by_argument
    assert "/us-west-1/sqs/aws4_request" in by_argument


def test_half_credentials_are_none() -> None:
    assert environment_credentials({"AWS_ACCESS_KEY_ID": "key"}) is None
    assert environment_credentials({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "s"}) is None
    both = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
    assert environment_credentials(both) == Credentials("key", "s", "t")
    assert environment_credentials({"ROCKDOVE_TOKEN": "rd_x"}) == Bearer("rd_x")
    assert environment_credentials(both | {"ROCKDOVE_TOKEN": "rd_x"}) == Credentials("key", "s", "t")
    assert "rd_x" not in repr(Bearer("rd_x"))


def test_nobody_whatever_the_environment_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKDOVE_TOKEN", "rd_x")
    assert "Authorization" in Envelope(ENDPOINT, None, None, 30).write(shape.ListQueues())[0]
    assert "Authorization" not in Envelope(ENDPOINT, None, Nobody(), 30).write(shape.ListQueues())[0]


@pytest.mark.parametrize("token", ["", "with blank", "line\r\nX-Other: header", "ü"])
def test_what_no_header_can_hold_is_no_token(token: str) -> None:
    with pytest.raises(ValueError, match="a token has neither blanks"):
        Bearer(token)


def test_a_long_poll_may_take_its_wait_and_the_usual_time(unsigned: Envelope) -> None:
    assert unsigned.timeout_s(shape.ListQueues()) == 30
    assert unsigned.timeout_s(RECEIVE) == 50
    assert unsigned.timeout_s(extension.Receive(queue_url="q", wait_time_seconds=5)) == 35
    # It may be the queue that says 20 seconds.
    assert unsigned.timeout_s(shape.ReceiveMessage(queue_url="q")) == 50


def test_a_repeated_receive_waits_for_the_rest_only() -> None:
    def left(elapsed_s: float) -> int | None:
        request = shortened(RECEIVE, elapsed_s)
        assert isinstance(request, shape.ReceiveMessage)
        return request.wait_time_seconds

    assert [left(0), left(5.9), left(20), left(1000)] == [20, 15, 0, 0]
    other = shape.ReceiveMessage(queue_url="q")
    assert shortened(other, 5) is other


def test_answers(unsigned: Envelope) -> None:
    request = shape.GetQueueUrl(queue_name="q")
    good = Reply(200, None, b'{"QueueUrl":"u","More":"than we know"}')
    assert unsigned.read(request, good) == shape.GetQueueUrlResult(queue_url="u")
    assert unsigned.read(shape.DeleteQueue(queue_url="u"), Reply(200, None, b"")) is None
    with pytest.raises(QueueDoesNotExist):
        unsigned.read(request, Reply(400, None, b'{"__type":"com.amazonaws.sqs#QueueDoesNotExist"}'))
    with pytest.raises(UnexpectedAnswer, match="HTTP status 404"):
        unsigned.read(request, Reply(404, None, b"<html>"))
    with pytest.raises(UnexpectedAnswer, match="something else than a result"):
        unsigned.read(request, Reply(200, None, b"<html>"))
