"""The operations on messages, through both clients."""

import time

import pytest

from rockdove.client import Client, Outgoing, cut
from rockdove.client.outgoing import Attributes
from rockdove.core.errors import InvalidMessageContents, MissingParameter, ReceiptHandleIsInvalid, RequestTooLarge
from rockdove.core.limits import MAX_MESSAGE_BYTES
from rockdove.core.message import Attribute

COUNTS = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]


def counts(client: Client, queue: str) -> tuple[int, ...]:
    found = client.attributes(queue, COUNTS)
    return tuple(int(found[name]) for name in COUNTS)


def test_a_message_goes_through_with_all_it_has(client: Client, queue: str) -> None:
    body = "grüße \U0001f54a\n\t<&>"
    sent = client.send(
        queue, body, attributes={"text": "t", "number": 1.5, "raw": b"\0\xff"}, group_id="g", trace_header="Root=1"
    )
    (message,) = client.receive(queue, wait_s=1)
    assert (message.message_id, message.body, message.md5_of_body) == (sent.message_id, body, sent.md5_of_message_body)
    assert message.message_attributes == {
        "text": Attribute("String", "t"),
        "number": Attribute("Number", "1.5"),
        "raw": Attribute("Binary", binary_value=b"\0\xff"),
    }
    assert message.md5_of_message_attributes == sent.md5_of_message_attributes
    assert message.attributes["ApproximateReceiveCount"] == "1"
    assert (message.attributes["MessageGroupId"], message.attributes["AWSTraceHeader"]) == ("g", "Root=1")
    client.delete(queue, message.receipt_handle)
    assert counts(client, queue) == (0, 0, 0)


def test_what_is_not_asked_for_is_not_told(client: Client, queue: str) -> None:
    client.send(queue, "x", attributes={"a.one": 1, "b": 2})
    (message,) = client.receive(queue, system_attributes=["SentTimestamp"], message_attributes=["a.*"])
    assert set(message.attributes) == {"SentTimestamp"}
    assert set(message.message_attributes) == {"a.one"}


def test_any_number_of_messages_in_one_call(client: Client, queue: str) -> None:
    result = client.send_batch(queue, (str(number) for number in range(25)))
    assert [entry.id for entry in result.successful] == [str(number) for number in range(25)]
    assert result.failed == []
    messages = client.receive(queue, limit=100)
    assert [message.body for message in messages] == [str(number) for number in range(25)]
    deleted = client.delete_batch(queue, (message.receipt_handle for message in messages))
    assert [entry.id for entry in deleted.successful] == [str(number) for number in range(25)]
    assert counts(client, queue) == (0, 0, 0)
    assert client.send_batch(queue, []).successful == []


def test_a_batch_is_cut_where_the_service_would_refuse_it(client: Client, queue: str) -> None:
    """Exactly as large as is allowed, attributes included: our count of the size is the service's."""
    attributes: Attributes = {"name": "ö", "n": 1, "raw": b"123"}
    rest = MAX_MESSAGE_BYTES // 4 - Outgoing(body="", attributes=attributes).size_bytes
    exact = [Outgoing(body="x" * rest, attributes=attributes)] * 4
    assert [len(group) for group in cut([*exact, Outgoing(body="y")])] == [4, 1]
    result = client.send_batch(queue, [*exact, Outgoing(body="y")])
    assert (len(result.successful), result.failed) == (5, [])


def test_one_bad_message_does_not_spoil_the_others(client: Client, queue: str) -> None:
    large = "x" * (MAX_MESSAGE_BYTES + 1)
    result = client.send_batch(queue, ["good", "bad \x00", large, "good"])
    assert [entry.id for entry in result.successful] == ["0", "3"]
    assert [entry.id for entry in result.failed] == ["1", "2"]
    assert all(entry.sender_fault for entry in result.failed)


def test_delay_and_visibility(client: Client, queue: str) -> None:
    client.send(queue, "later", delay_s=600)
    client.send(queue, "now")
    (message,) = client.receive(queue, limit=10, visibility_s=600)
    assert counts(client, queue) == (0, 1, 1)
    client.change_visibility(queue, message.receipt_handle, 0)
    assert counts(client, queue) == (1, 0, 1)
    again = client.receive(queue)
    changed = client.change_visibility_batch(queue, {again[0].receipt_handle: 0, "nonsense": 5})
    assert ([entry.id for entry in changed.successful], [entry.id for entry in changed.failed]) == (["0"], ["1"])
    assert counts(client, queue) == (1, 0, 1)


def test_peek_disturbs_nothing(client: Client, queue: str) -> None:
    client.send_batch(queue, [Outgoing(body="a", attributes={"n": 1}), Outgoing(body="b", delay_s=600)])
    for _ in range(2):
        first, second = client.peek(queue)
        assert (first.body, first.state, second.body, second.state) == ("a", "visible", "b", "delayed")
        assert first.attributes["ApproximateReceiveCount"] == "0"
        assert first.message_attributes == {"n": Attribute("Number", "1")}
    assert len(client.peek(queue, limit=1)) == 1
    assert counts(client, queue) == (1, 0, 1)


def test_peek_pages_show_everything(client: Client, queue: str) -> None:
    client.send_batch(queue, map(str, range(25)))
    seen, token = [], None
    while True:
        page = client.peek_page(queue, limit=10, token=token)
        seen.append([message.body for message in page.messages])
        token = page.next_token
        if token is None:
            break
    assert seen == [[*map(str, range(10))], [*map(str, range(10, 20))], [*map(str, range(20, 25))], []]
    assert counts(client, queue) == (25, 0, 0)


def test_a_long_poll_ends_with_its_wait(client: Client, queue: str) -> None:
    start = time.monotonic()
    assert client.receive(queue, wait_s=1) == []
    assert time.monotonic() - start > 0.9


def test_fifo(client: Client, fifo: str) -> None:
    first = client.send(fifo, "a", group_id="g", deduplication_id="1")
    again = client.send(fifo, "a", group_id="g", deduplication_id="1")
    assert first.sequence_number
    assert again.message_id == first.message_id
    client.send(fifo, "b", group_id="g", deduplication_id="2")
    assert [message.body for message in client.receive(fifo, limit=10)] == ["a", "b"]


def test_a_repeated_attempt_gets_the_same_messages(client: Client, fifo: str) -> None:
    client.send(fifo, "a", group_id="g", deduplication_id="1")
    (first,) = client.receive(fifo, limit=10, attempt_id="attempt")
    (again,) = client.receive(fifo, limit=10, attempt_id="attempt")
    assert again.message_id == first.message_id
    assert client.receive(fifo, limit=10, attempt_id="another") == []


def test_faults_are_those_of_the_service(client: Client, queue: str, fifo: str) -> None:
    with pytest.raises(InvalidMessageContents):
        client.send(queue, "\x01")
    with pytest.raises(MissingParameter):
        client.send(fifo, "no group")
    with pytest.raises(ReceiptHandleIsInvalid):
        client.delete(queue, "nonsense")
    with pytest.raises(RequestTooLarge):
        client.send(queue, "x" * 9_000_000)
    assert client.send(queue, "and the client still works").message_id
