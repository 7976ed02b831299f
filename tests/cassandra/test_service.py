"""Several front-ends over one keyspace: each serves every request, and hears of what the others do."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.cassandra import Keyspace
from tests.support.metrics import scrape
from tests.support.patience import wait_until
from tests.support.raw import Web
from tests.support.server import Server, ServerFactory

PATIENCE_S = 60


@pytest.fixture
def pair(server: ServerFactory, keyspace: Keyspace) -> tuple[Server, Server]:
    """One process that does everything, and an owner with a front-end."""
    return server("--workers", "0", store=keyspace.url), server("--workers", "1", store=keyspace.url)


def bodies(answer: dict[str, Any]) -> list[str]:
    return [message["Body"] for message in answer.get("Messages", [])]


@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_any_front_end_serves_any_request(pair: tuple[Server, Server], fifo: bool) -> None:
    here, there = pair[0].client(), pair[1].client()
    name, attributes = ("jobs.fifo", {"FifoQueue": "true"}) if fifo else ("jobs", {})
    url = here.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    for number in range(20):
        sender = here if number % 2 else there
        more = {"MessageGroupId": "g", "MessageDeduplicationId": str(number)} if fifo else {}
        sender.send_message(QueueUrl=url, MessageBody=str(number), **more)
    got: list[str] = []
    while len(got) < 20:
        # A handle works everywhere.
        receiver = there if len(got) % 2 else here
        # One may leave messages to the other for a moment.
        found = receiver.receive_message(QueueUrl=url, MaxNumberOfMessages=3, WaitTimeSeconds=5)["Messages"]
        for message in found:
            got.append(message["Body"])
            (here if len(got) % 2 else there).delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert sorted(got, key=int) == [str(number) for number in range(20)]
    assert not fifo or got == sorted(got, key=int)
    there.delete_queue(QueueUrl=url)
    late = {"MessageBody": "late"} | ({"MessageGroupId": "g", "MessageDeduplicationId": "late"} if fifo else {})
    # Who has sent just before may hear of it a moment later.
    wait_until(lambda: _is_refused(here, url, late), "word of the deletion")


def _is_refused(client: Any, url: str, message: dict[str, str]) -> bool:
    try:
        client.send_message(QueueUrl=url, **message)
    except client.exceptions.QueueDoesNotExist:
        return True
    return False


def test_a_queue_is_there_for_everybody_at_once(pair: tuple[Server, Server]) -> None:
    here, there = pair[0].client(), pair[1].client()
    for number in range(5):
        maker, user = (here, there) if number % 2 else (there, here)
        maker.create_queue(QueueName=f"jobs-{number}")
        url = user.get_queue_url(QueueName=f"jobs-{number}")["QueueUrl"]
        user.send_message(QueueUrl=url, MessageBody="x")
        assert bodies(maker.receive_message(QueueUrl=url)) == ["x"]


def test_a_held_receive_wakes_on_another_front_end(pair: tuple[Server, Server]) -> None:
    here, there = pair[0].client(), pair[1].client()
    url = here.create_queue(QueueName="jobs")["QueueUrl"]
    with ThreadPoolExecutor(1) as pool:
        for sender, receiver in ((here, there), (there, here)):
            waiting = pool.submit(receiver.receive_message, QueueUrl=url, WaitTimeSeconds=20)
            time.sleep(0.5)
            began_s = time.monotonic()
            sender.send_message(QueueUrl=url, MessageBody="wake up")
            assert bodies(waiting.result()) == ["wake up"]
            # Not at the end of its wait.
            assert time.monotonic() - began_s < 15


def drain(clients: Sequence[Any], url: str, at_once: int = 3) -> list[str]:
    """All front-ends receive at the same time, over and over, and delete nothing."""

    def receive(client: Any) -> list[str]:
        got: list[str] = []
        while found := bodies(client.receive_message(QueueUrl=url, MaxNumberOfMessages=at_once, WaitTimeSeconds=1)):
            got += found
        return got

    with ThreadPoolExecutor(len(clients)) as pool:
        return [body for some in pool.map(receive, clients) for body in some]


def fill(clients: Sequence[Any], url: str, batches: int = 10) -> list[str]:
    for batch in range(batches):
        entries = [{"Id": str(at), "MessageBody": f"{batch}-{at}"} for at in range(10)]
        clients[batch % len(clients)].send_message_batch(QueueUrl=url, Entries=entries)
    return sorted(f"{batch}-{at}" for batch in range(batches) for at in range(10))


def test_nobody_gets_a_message_twice(pair: tuple[Server, Server]) -> None:
    """They agree on who gets which."""
    clients = [each.client() for each in pair]
    url = clients[0].create_queue(QueueName="jobs", Attributes={"RockdoveClaim": "strict"})["QueueUrl"]
    sent = fill(clients, url)
    assert sorted(drain(clients * 2, url)) == sent


@pytest.mark.parametrize("hint", ["1", "10", "none", "auto"])
def test_fast_receives_leave_nothing_out(pair: tuple[Server, Server], hint: str) -> None:
    clients = [each.client() for each in pair]
    url = clients[0].create_queue(QueueName="jobs", Attributes={"RockdoveOrderHint": hint})["QueueUrl"]
    sent = fill(clients, url)
    assert sorted(set(drain(clients * 2, url))) == sent


def test_one_that_receives_alone_keeps_the_order(pair: tuple[Server, Server]) -> None:
    clients = [each.client() for each in pair]
    url = clients[0].create_queue(QueueName="jobs")["QueueUrl"]
    sent = [str(number) for number in range(40)]
    for number, body in enumerate(sent):
        clients[number % 2].send_message(QueueUrl=url, MessageBody=body)
    assert drain(clients[1:], url) == sent


def claim_of(client: Any, url: str) -> str:
    """As the front-end knows it."""
    attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["RockdoveClaim"])["Attributes"]
    return str(attributes["RockdoveClaim"])


def test_from_fast_to_strict_and_back(pair: tuple[Server, Server]) -> None:
    clients = [each.client() for each in pair]
    url = clients[0].create_queue(QueueName="jobs", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    sent = fill(clients, url, 2)
    held = clients[0].receive_message(QueueUrl=url, MaxNumberOfMessages=5)["Messages"]
    clients[1].set_queue_attributes(QueueUrl=url, Attributes={"RockdoveClaim": "strict", "VisibilityTimeout": "30"})
    # Until the other front-end hears of it, it hides messages for a second.
    deadline_s = time.monotonic() + PATIENCE_S
    while claim_of(clients[0], url) != "strict":
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    # Those that were received come back, and are agreed on then.
    got: list[str] = []

    def has_all() -> bool:
        got.extend(drain(clients * 2, url))
        return len(got) >= len(sent)

    while not has_all() and time.monotonic() < deadline_s:
        pass
    assert sorted(got) == sent
    clients[0].delete_message(QueueUrl=url, ReceiptHandle=held[0]["ReceiptHandle"])
    counted = clients[1].get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert counted["ApproximateNumberOfMessagesNotVisible"] == str(len(sent) - 1)
    clients[0].set_queue_attributes(QueueUrl=url, Attributes={"RockdoveClaim": "fast"})
    clients[0].send_message(QueueUrl=url, MessageBody="new")
    assert drain(clients[1:], url) == ["new"]


def test_claims_are_strict_on_fifo_queues(pair: tuple[Server, Server]) -> None:
    sqs = pair[0].client()
    fifo = {"FifoQueue": "true", "RockdoveClaim": "fast"}
    with pytest.raises(ClientError, match="A FIFO queue keeps its order: Must be strict"):
        sqs.create_queue(QueueName="jobs.fifo", Attributes=fifo)
    with pytest.raises(ClientError, match="Must be visible where RockdoveClaim is strict"):
        sqs.create_queue(QueueName="jobs", Attributes={"RockdoveClaim": "strict", "RockdoveDraw": "literal"})
    url = sqs.create_queue(QueueName="jobs", Attributes={"RockdoveDraw": "literal"})["QueueUrl"]
    with pytest.raises(ClientError, match="Must be visible where RockdoveClaim is strict"):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"RockdoveClaim": "strict"})
    names = ["RockdoveClaim", "RockdoveDraw"]
    told = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    assert told == {"RockdoveClaim": "fast", "RockdoveDraw": "literal"}
    # Both may draw the same message.
    sent = fill([sqs], url, 2)
    assert sorted(set(drain([each.client() for each in pair], url))) == sent


def test_leases_are_everybodys(pair: tuple[Server, Server]) -> None:
    here, there = (Web(each.port) for each in pair)
    url = here.create("jobs")
    for number in range(5):
        here.call("SendMessage", {"QueueUrl": url, "MessageBody": str(number)})
    words = {"QueueUrl": url, "Consumer": "reader", "Shard": 0, "Sequence": 0, "Max": 3}
    first = here.call("Rockdove.LeaseBatch", words).json["Messages"]
    again = there.call("Rockdove.LeaseBatch", words).json["Messages"]
    assert [each["Body"] for each in first] == [each["Body"] for each in again] == ["0", "1", "2"]
    through = {"QueueUrl": url, "Consumer": "reader", "Shard": 0, "Sequence": 0}
    assert there.call("Rockdove.AckThrough", through).status == 200
    assert here.call("Rockdove.LeaseBatch", words).status == 400
    counts = here.call("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["All"]}).json["Attributes"]
    assert (counts["ApproximateNumberOfMessages"], counts["ApproximateNumberOfMessagesNotVisible"]) == ("2", "0")
    for web in (here, there):
        web.close()


def test_a_front_end_that_dies_takes_nothing_along(server: ServerFactory, keyspace: Keyspace) -> None:
    one = server("--workers", "0", store=keyspace.url)
    url = one.client().create_queue(QueueName="jobs", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    sent = {str(number) for number in range(30)}
    for body in sent:
        one.client().send_message(QueueUrl=url, MessageBody=body)
    assert one.client().receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    one.kill()
    other = server("--workers", "0", store=keyspace.url).client()
    got: set[str] = set()
    deadline = time.monotonic() + PATIENCE_S
    while got != sent and time.monotonic() < deadline:
        for message in other.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get(
            "Messages", []
        ):
            got.add(message["Body"])
            other.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert got == sent


def test_it_warns_where_a_node_that_dies_can_lose_messages(pair: tuple[Server, Server]) -> None:
    """The node of these tests does not sync each write, and there is one copy."""
    assert "Set commitlog_sync: batch" in pair[0].process.err.read_text()


def test_nodes_tell_how_much_they_hold(pair: tuple[Server, Server]) -> None:
    """What is on disk; so it is not known when a message counts."""
    for service in pair:
        size = scrape(service.port)("rockdove_store_bytes")
        assert size is not None
        assert size >= 0
