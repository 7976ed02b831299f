"""A front-end that has not heard yet of what another has changed: what it answers is as true as what others answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rockdove.store.base import Change, Done
from tests.support.raw import Reply, Web
from tests.support.server import FRONT_ENDS
from tests.support.service import RunningService


class Late:
    """Two front-ends; the second hears of no change unless it asks."""

    def __init__(self, running: RunningService) -> None:
        self.running = running
        self.held: list[Change] = []
        records: Any = running.services[1].store.records
        hear, catch_up = records.changed, records.catch_up

        def ask(done: Done[None]) -> None:
            held, self.held = self.held, []
            for change in held:
                hear(change)
            catch_up(done)

        records.changed = self.held_back
        records.catch_up = ask
        self.first, self.late = (self._web_of(number) for number in range(2))

    def held_back(self, change: Change) -> None:
        self.held.append(change)

    def _web_of(self, number: int) -> Web:
        """A connection to that front-end."""
        connections = self.running.services[number].connections
        for _ in range(100):
            before, web = len(connections), Web(self.running.port)
            assert web.request("GET", "/health").status == 200
            if len(connections) > before:
                return web
            web.close()
        raise AssertionError(f"no connection went to front-end {number}")

    def create(self, name: str, **attributes: str) -> str:
        """Both know it."""
        url: str = self.first.call("CreateQueue", {"QueueName": name, "Attributes": attributes}).json["QueueUrl"]
        assert self.late.call("GetQueueAttributes", {"QueueUrl": url}).status == 200
        return url

    def purge(self, url: str) -> None:
        assert self.first.call("PurgeQueue", {"QueueUrl": url}).status == 200

    def receive(self, url: str, web: Web) -> list[dict[str, str]]:
        found: list[dict[str, str]] = web.call("ReceiveMessage", {"QueueUrl": url}).json.get("Messages", [])
        return found

    def counts(self, url: str) -> list[str]:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        asked = self.first.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": names})
        return [asked.json["Attributes"][name] for name in names]


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Late]:
    running = RunningService(tmp_path, FRONT_ENDS, real_time=True)
    late = Late(running)
    yield late
    late.first.close()
    late.late.close()
    running.close()


@pytest.fixture(params=["1", "4"])
def url(request: pytest.FixtureRequest, late: Late) -> str:
    return late.create("q", RockdovePhysicalQueues=request.param)


def _received(late: Late, url: str, **more: str) -> dict[str, str]:
    """A message that came after a purge of which one front-end has not heard."""
    late.purge(url)
    assert late.first.call("SendMessage", {"QueueUrl": url, "MessageBody": "m", **more}).status == 200
    (message,) = late.receive(url, late.first)
    assert late.held
    return message


def test_a_delete_after_a_purge(late: Late, url: str) -> None:
    handle = _received(late, url)["ReceiptHandle"]
    assert late.late.call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": handle}).status == 200
    assert late.counts(url) == ["0", "0"]


def test_a_delete_from_a_fifo_queue_after_a_purge(late: Late) -> None:
    url = late.create("q.fifo", FifoQueue="true")
    handle = _received(late, url, MessageGroupId="g", MessageDeduplicationId="d")["ReceiptHandle"]
    assert late.late.call("DeleteMessage", {"QueueUrl": url, "ReceiptHandle": handle}).status == 200
    assert late.counts(url) == ["0", "0"]


def test_deletes_together_after_a_purge(late: Late, url: str) -> None:
    entry = {"Id": "a", "ReceiptHandle": _received(late, url)["ReceiptHandle"]}
    reply = late.late.call("DeleteMessageBatch", {"QueueUrl": url, "Entries": [entry]})
    assert reply.json == {"Successful": [{"Id": "a"}]}
    assert late.counts(url) == ["0", "0"]


def test_a_new_timeout_after_a_purge(late: Late, url: str) -> None:
    handle = _received(late, url)["ReceiptHandle"]
    asked = {"QueueUrl": url, "ReceiptHandle": handle, "VisibilityTimeout": 0}
    assert late.late.call("ChangeMessageVisibility", asked).status == 200
    assert late.counts(url) == ["1", "0"]


def test_what_was_purged_is_deleted_already(late: Late, url: str) -> None:
    assert late.first.call("SendMessage", {"QueueUrl": url, "MessageBody": "m"}).status == 200
    (message,) = late.receive(url, late.first)
    late.purge(url)
    for web in (late.first, late.late):
        asked = {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]}
        assert web.call("DeleteMessage", asked).status == 200
        assert web.call("ChangeMessageVisibility", {**asked, "VisibilityTimeout": 0}).status == 400


def test_a_receive_after_a_purge(late: Late, url: str) -> None:
    late.purge(url)
    assert late.first.call("SendMessage", {"QueueUrl": url, "MessageBody": "m"}).status == 200
    assert [message["Body"] for message in late.receive(url, late.late)] == ["m"]


def test_a_send_after_a_purge(late: Late, url: str) -> None:
    late.purge(url)
    assert late.late.call("SendMessage", {"QueueUrl": url, "MessageBody": "m"}).status == 200
    assert late.counts(url) == ["1", "0"]


def test_sends_together_after_a_purge(late: Late, url: str) -> None:
    late.purge(url)
    entries = [{"Id": str(number), "MessageBody": "m"} for number in range(10)]
    reply = late.late.call("SendMessageBatch", {"QueueUrl": url, "Entries": entries})
    assert [each["Id"] for each in reply.json["Successful"]] == [str(number) for number in range(10)]
    assert late.counts(url) == ["10", "0"]


def test_a_queue_that_was_deleted(late: Late, url: str) -> None:
    assert late.first.call("DeleteQueue", {"QueueUrl": url}).status == 200
    asked: list[tuple[str, dict[str, object]]] = [
        ("SendMessage", {"MessageBody": "m"}),
        ("SendMessageBatch", {"Entries": [{"Id": str(number), "MessageBody": "m"} for number in range(10)]}),
        ("ReceiveMessage", {}),
    ]
    for operation, content in asked:
        _is_missing(late.late.call(operation, {"QueueUrl": url, **content}))


def _is_missing(reply: Reply) -> None:
    assert (reply.status, reply.json["__type"].partition("#")[2]) == (400, "QueueDoesNotExist")


def test_a_queue_that_is_not_known_while_the_owner_is_away(late: Late) -> None:
    url = late.create("known")
    store: Any = late.running.services[1].store
    late.running.run(_cut(store))
    reply = late.late.call("SendMessage", {"QueueUrl": url.replace("known", "unknown"), "MessageBody": "m"})
    # Nobody can say that it does not exist.
    assert reply.status == 503


async def _cut(store: Any) -> None:
    store.link.close()
