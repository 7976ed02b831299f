"""Who may come in: accounts of the service, by name and secret or by token, over TLS."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason

from rockdove.client import Client, Credentials
from tests.support.certificate import Authority
from tests.support.device import V311, VERSIONS, Device
from tests.support.gateway import Gateway
from tests.support.process import Process
from tests.support.server import COMMAND, Server, ServerFactory

versions = pytest.mark.parametrize("version", VERSIONS, ids=["3.1.1", "5"])


class House(NamedTuple):
    """A service with accounts, and a gateway to it."""

    server: Server
    gateway: Gateway
    office: Client
    name: str
    secret: str
    token: str
    authority: Authority


@pytest.fixture(scope="module")
def house(server: ServerFactory, open_gateway: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    own = server()
    with Client(own.endpoint) as anybody:
        made = anybody.add_account("ann", admin=True)
    credentials = Credentials(made.access_key, made.secret_key)
    authority = Authority(tmp_path_factory.mktemp("tls"))
    authority.issue()
    tls = ("--tls-cert", str(authority.cert), "--tls-key", str(authority.key))
    gateway = open_gateway("mqtt", *tls, endpoint=own.endpoint)
    with Client(own.endpoint, credentials=credentials) as office:
        token = office.add_account_token("ann", label="greenhouse").token
        office.create_queue("jobs")
        yield House(own, gateway, office, "ann", made.secret_key, token, authority)


def device(house: House, user: str | None, password: str | None, **options: Any) -> Device:
    return Device(house.gateway.port, user=user, password=password, tls=house.authority.client(), **options)


@versions
def test_by_name_and_secret(house: House, version: Any) -> None:
    with device(house, house.name, house.secret, version=version) as own:
        own.publish("queues/jobs", "by secret").wait_for_publish(10)
    [message] = house.office.receive("jobs", wait_s=5)
    assert message.body == "by secret"
    house.office.delete("jobs", message.receipt_handle)


def test_by_a_token(house: House) -> None:
    """As the password, with an empty user name or the account's."""
    for user in ("", "ann"):
        with device(house, user, house.token) as own:
            assert not own.publish_and_wait("queues/jobs", "by token").is_failure
        [message] = house.office.receive("jobs", wait_s=5)
        house.office.delete("jobs", message.receipt_handle)


@pytest.mark.parametrize(
    ("user", "password"),
    [(None, None), ("ann", "wrong"), ("nobody", "secret"), ("", "wrong"), ("", "with\r\nX-Evil: 1"), ("ann", None)],
)
def test_others(house: House, user: str | None, password: str | None) -> None:
    own = device(house, user, password)
    assert own.connected.value == Reason.BadUserNameOrPassword
    own.close()
    old = device(house, user, password, version=V311)
    assert old.connected == "Bad user name or password"
    old.close()


def test_without_tls_nothing_is_said(house: House) -> None:
    own = Device(house.gateway.port, user=house.name, password=house.secret)
    assert own.connected is None
    own.close()


def test_a_token_that_is_taken_away(house: House) -> None:
    """Also from who is connected: what he sends is refused."""
    made = house.office.add_account_token("ann")
    with device(house, "", made.token) as own:
        assert not own.publish_and_wait("queues/jobs", "x").is_failure
        house.office.remove_account_token("ann", made.token_id)
        assert own.publish_and_wait("queues/jobs", "x").value == Reason.NotAuthorized


def test_a_token_that_is_taken_away_from_a_subscriber(house: House) -> None:
    house.office.create_queue("commands")
    made = house.office.add_account_token("ann")
    with device(house, "", made.token) as own:
        assert own.subscribe("queues/commands") == [1]
        house.office.remove_account_token("ann", made.token_id)
        own.wait(lambda: own.disconnected is not None, "end of the connection")
        assert own.disconnected[0].value == Reason.NotAuthorized


def test_queues_of_others(house: House) -> None:
    house.office.add_account("bob")
    bob = house.office.add_account_token("bob").token
    with device(house, "", bob) as own:
        assert own.publish_and_wait("queues/jobs", "x").value == Reason.TopicNameInvalid
        assert own.subscribe("queues/jobs") == [Reason.TopicFilterInvalid]


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    process = Process([*COMMAND, "gateway", *arguments], folder, arguments[0])
    try:
        process.wait_for(lambda: process.exit_code is not None, "end", 30)
    except AssertionError:
        process.kill()
        raise
    assert process.exit_code is not None
    return process.exit_code, process.err.read_text()


@pytest.mark.parametrize("kind", ["mqtt", "coap"])
def test_not_where_strangers_could_come_in(service: Server, tmp_path: Path, kind: str, house: House) -> None:
    words = [kind, "--endpoint", service.endpoint, "--port", "0", "--host", "0.0.0.0"]
    code, text = run(tmp_path, *words, *(["--insecure"] if kind == "coap" else []))
    assert code == 5
    assert "has no accounts to keep them out" in text
    if kind == "coap":
        code, text = run(tmp_path, *words)
        assert code == 5
        assert "--insecure" in text


def test_a_port_that_is_taken(service: Server, mqtt: Gateway, coap: Gateway, tmp_path: Path) -> None:
    for taken in (mqtt, coap):
        code, text = run(tmp_path, taken.kind, "--endpoint", service.endpoint, "--port", str(taken.port))
        assert code == 1
        assert f"port {taken.port} of 127.0.0.1 is in use" in text


def test_a_new_certificate(house: House, new_name: Callable[[], str]) -> None:
    """SIGHUP reads it; who connects afterwards gets it."""
    before = house.authority.issue().serial_number
    house.gateway.process._child.send_signal(1)
    seen = []
    for _ in range(100):
        with device(house, house.name, house.secret) as own:
            found = own.paho.socket().getpeercert()  # type: ignore[union-attr]
            seen.append(int(found["serialNumber"], 16))
        if seen[-1] == before:
            return
    raise AssertionError(f"no connection got the new certificate: {seen[-1]} is not {before}")
