"""A thousand devices, and kill -9 of the gateway and of the service: no acknowledged publication is lost."""

import time
from collections.abc import Callable

from rockdove.client import Client
from tests.support.device import VERSIONS, Device
from tests.support.filling import empty
from tests.support.fleet import Fleet
from tests.support.gateway import Gateway
from tests.support.server import ServerFactory

DEVICES = 1_000
EVERY_S = 4.0
# Seconds between two deaths.
LIFE_S = 3.0


def test_a_thousand_devices(
    server: ServerFactory, open_gateway: Callable[..., Gateway], new_name: Callable[[], str]
) -> None:
    service = server()
    gateway = open_gateway("mqtt", endpoint=service.endpoint)
    queue = new_name()
    with Client(service.endpoint) as client:
        client.create_queue(queue)
    with Fleet(DEVICES, gateway.port, f"queues/{queue}", EVERY_S) as fleet:
        fleet.wait(lambda: fleet.connected == DEVICES, "1,000 connections")
        fleet.wait(lambda: len(fleet.acknowledged()) > DEVICES // 2, "answers")
        for victim in (service, gateway, service):
            victim.kill()
            time.sleep(LIFE_S / 3)
            before = len(fleet.acknowledged())
            victim.start()
            fleet.wait(lambda: fleet.connected == DEVICES, "1,000 connections again")
            fleet.wait(lambda before=before: len(fleet.acknowledged()) > before + 100, "answers again")  # type: ignore[misc]
            time.sleep(LIFE_S * 2 / 3)
        fleet.rest()
        acknowledged = fleet.acknowledged()
    with Client(service.endpoint) as client:
        stored = empty(client, queue)
    assert len(acknowledged) > DEVICES
    assert acknowledged - set(stored) == set()
    # What was not acknowledged is sent again; all of it was answered in the end.
    assert set(stored) == acknowledged


def test_backpressure(server: ServerFactory, open_gateway: Callable[..., Gateway], new_name: Callable[[], str]) -> None:
    """While the service is away, nothing is acknowledged and nothing is lost; then all of it comes."""
    service = server()
    gateway = open_gateway("mqtt", endpoint=service.endpoint)
    queue = new_name()
    with Client(service.endpoint) as client:
        client.create_queue(queue)
    with Fleet(20, gateway.port, f"queues/{queue}", 0.02) as fleet:
        fleet.wait(lambda: len(fleet.acknowledged()) > 100, "answers")
        service.kill()
        time.sleep(0.5)
        before = fleet.acknowledged()
        time.sleep(2)
        assert fleet.acknowledged() == before
        assert fleet.connected == 20
        service.start()
        fleet.wait(lambda: len(fleet.acknowledged()) > len(before) + 1_000, "answers again")
        fleet.rest()
        acknowledged = fleet.acknowledged()
    with Client(service.endpoint) as client:
        assert set(empty(client, queue)) == acknowledged


def test_told_to_end(server: ServerFactory, open_gateway: Callable[..., Gateway], new_name: Callable[[], str]) -> None:
    """SIGTERM under load: what was stored is acknowledged, so that nothing is lost, and nothing is there twice."""
    service = server()
    gateway = open_gateway("mqtt", endpoint=service.endpoint)
    queue = new_name()
    with Client(service.endpoint) as client:
        client.create_queue(queue)
        with Fleet(50, gateway.port, f"queues/{queue}", 0.1) as fleet:
            fleet.wait(lambda: len(fleet.acknowledged()) > 200, "answers")
            assert gateway.stop() == 0
            gateway.start()
            fleet.wait(lambda: fleet.connected == 50, "connections again")
            fleet.rest()
            acknowledged = fleet.acknowledged()
        assert sorted(empty(client, queue)) == sorted(acknowledged)


def test_devices_that_leave_while_the_service_is_away(
    server: ServerFactory, open_gateway: Callable[..., Gateway], new_name: Callable[[str], str]
) -> None:
    """What they have sent without a wish for an answer, or without waiting for it, arrives all the same, in order."""
    service = server()
    gateway = open_gateway("mqtt", endpoint=service.endpoint)
    queue = new_name(".fifo")
    with Client(service.endpoint) as client:
        client.create_queue(queue, attributes={"FifoQueue": "true"})
    devices = {
        (version, qos): Device(gateway.port, f"{version}-{qos}", version) for version in VERSIONS for qos in (0, 1)
    }
    service.kill()
    for (_, qos), device in devices.items():
        for number in range(5):
            device.publish(f"queues/{queue}", f"{number}", qos=qos)
        device.close()
    service.start()
    got: dict[str, list[str]] = {}
    with Client(service.endpoint) as client:
        while sum(map(len, got.values())) < 20 and (messages := client.receive(queue, limit=10, wait_s=20)):
            for message in messages:
                got.setdefault(message.attributes["MessageGroupId"], []).append(message.body)
            client.delete_batch(queue, [message.receipt_handle for message in messages])
    assert got == {f"{version}-{qos}": [f"{number}" for number in range(5)] for version, qos in devices}
