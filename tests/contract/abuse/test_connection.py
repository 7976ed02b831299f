"""More connections than there may be: in all, and from one address."""

import json
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.contract.abuse.conftest import Dial, Start
from tests.support.neighbour import Neighbour
from tests.support.raw import Reply, Wire
from tests.support.service import RunningService

HEALTH = b"GET /health HTTP/1.1\r\nHost: queue.test\r\n\r\n"
_PATIENCE_S = 120


def served(wire: Wire) -> bool:
    wire.send(HEALTH)
    return wire.read().status == 200


def refused(wire: Wire, status: int, code: str) -> Reply:
    """The answer comes unasked; the connection is closed."""
    reply = wire.read()
    assert reply.status == status
    assert reply.headers["x-amzn-query-error"].startswith(f"{code};")
    assert json.loads(reply.body)["__type"].endswith(f"#{code}")
    assert (reply.headers["connection"], reply.headers["retry-after"]) == ("close", "1")
    assert wire.is_closed()
    return reply


def eventually_served(service: RunningService, dial: Dial, end: Callable[[Wire], None] = Wire.close) -> bool:
    """A place is free a moment after its owner has left. `end` is how this one leaves."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        wire = dial(service)
        with suppress(ConnectionError):
            wire.send(HEALTH)
            if wire.read().status == 200:
                end(wire)
                wire.close()
                return True
        wire.close()
    return False


def test_connections_in_all(start: Start, dial: Dial) -> None:
    service = start(max_connections=5)
    with Neighbour(service.port) as neighbour:
        wires = [dial(service) for _ in range(4)]
        assert all(map(served, wires))
        for _ in range(3):
            refused(dial(service), 503, "ServiceUnavailable")
        neighbour.go_on()
        assert all(map(served, wires))
        wires[0].close()
        assert eventually_served(service, dial)


def test_a_client_that_sends_before_it_is_turned_away_can_read_why(start: Start, dial: Dial) -> None:
    service = start(max_connections=1)
    first = dial(service)
    assert served(first)
    late = dial(service)
    late.send(HEALTH + b"x" * 100_000)
    assert late.read().status == 503


def test_connections_from_one_address(start: Start, dial: Dial) -> None:
    service = start(max_connections_per_address=3)
    with Neighbour(service.port):
        wires = [dial(service) for _ in range(3)]
        assert all(map(served, wires))
        refused(dial(service), 429, "ThrottlingException")
        wires[0].close()
        assert eventually_served(service, dial)


@pytest.mark.parametrize(("settings", "limit"), [({"trust_proxy": True}, 1), ({}, 0)])
def test_behind_a_proxy_and_with_0_an_address_may_have_any_number(
    start: Start, dial: Dial, settings: dict[str, bool], limit: int
) -> None:
    service = start(settings, max_connections_per_address=limit)
    assert all(served(dial(service)) for _ in range(20))


def test_very_many_at_once_are_all_told_or_hung_up_on(start: Start, dial: Dial) -> None:
    service = start(max_connections=3)
    with Neighbour(service.port):
        taken = [dial(service), dial(service)]
        assert all(map(served, taken))
        answers = [everything(dial(service)) for _ in range(50)] + [
            everything(wire) for wire in [dial(service) for _ in range(300)]
        ]
        told = [answer for answer in answers if answer]
        assert len(told) >= 50
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in told)
        assert all(map(served, taken))


def everything(wire: Wire) -> bytes:
    """All that comes until the connection is closed."""
    found = b""
    with suppress(ConnectionResetError):
        while data := wire.socket.recv(65536):
            found += data
    wire.close()
    return found


def test_places_are_given_back_however_a_connection_ends(start: Start, dial: Dial) -> None:
    service = start(max_connections=2)

    def leave_with_an_error(wire: Wire) -> None:
        wire.send(b"nonsense\r\n\r\n")
        assert wire.read().status == 400

    def leave_without_reading(wire: Wire) -> None:
        wire.send(HEALTH)

    def reset(wire: Wire) -> None:
        wire.send(HEALTH[:20])
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    for end in (Wire.close, leave_with_an_error, leave_without_reading, reset):
        for _ in range(5):
            assert eventually_served(service, dial, end)
