"""Leases, through both clients."""

import pytest

from rockdove.client import Client, Outgoing
from rockdove.core.errors import LeaseEnded
from rockdove.core.message import Attribute


def test_a_reader(client: Client, queue: str) -> None:
    client.send(queue, "first", attributes={"color": "red"})
    client.send_batch(queue, (str(number) for number in range(25)))
    leased = client.lease_batch(queue, "reader", 0, 0, limit=20)
    assert [message.body for message in leased.messages] == ["first", *map(str, range(19))]
    assert leased.messages[0].message_attributes == {"color": Attribute("String", "red")}
    assert leased.messages[0].attributes["ApproximateReceiveCount"] == "1"
    assert client.lease_batch(queue, "reader", 0, 0) == leased
    assert client.lease_batch(queue, "reader", 1, 0, wait_s=1).messages[0].body == "19"
    listed = client.list_leases(queue)
    assert [(held.consumer, held.leases, held.messages) for held in listed.consumers] == [("reader", 2, 26)]
    assert [(lease.shard, lease.sequence, lease.messages) for lease in listed.leases] == [(0, 0, 20), (1, 0, 6)]
    assert client.ack_through(queue, "reader", 0).messages == 26
    with pytest.raises(LeaseEnded, match="Sequence 0 of shard 1 of consumer reader"):
        client.lease_batch(queue, "reader", 1, 0)
    assert client.list_leases(queue).consumers == []


def test_one_that_gives_back(client: Client, queue: str) -> None:
    client.send(queue, "x")
    assert len(client.lease_batch(queue, "reader", 0, 0).messages) == 1
    assert client.ack_through(queue, "reader", 5, shard=7).messages == 0
    released = client.release_consumer(queue, "reader", forget=True)
    assert (released.leases, released.messages) == (1, 1)
    assert [message.body for message in client.lease_batch(queue, "reader", 0, 0).messages] == ["x"]


def test_a_writer(client: Client, queue: str) -> None:
    assert not client.publish_once(
        queue, "app", 0, 3, "one", ["a", Outgoing(body="b", delay_s=0)], final=False
    ).published
    result = client.publish_once(queue, "app", 0, 3, "one", ["c"], chunk=1)
    assert (result.published, result.winner, result.messages) == (True, "one", 3)
    assert client.publish_once(queue, "app", 0, 3, "two", ["d"]).winner == "one"
    assert [message.body for message in client.receive(queue, limit=10)] == ["a", "b", "c"]
    failed = client.publish_once(queue, "app", 1, 3, "one", ["good", ""]).failed
    assert [entry.id for entry in failed] == ["1"]
