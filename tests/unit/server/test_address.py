"""Where a request comes from, as far as can be known."""

import pytest

from rockdove.server.address import base_url, client_address, forwarded_hosts
from rockdove.server.host import Hosts


@pytest.mark.parametrize(
    ("said", "peer", "trusted", "plain"),
    [
        ("", "10.0.0.1", "10.0.0.1", "10.0.0.1"),
        ("192.0.2.7", "10.0.0.1", "192.0.2.7", "10.0.0.1"),
        ("6.6.6.6, 192.0.2.7", "10.0.0.1", "192.0.2.7", "10.0.0.1"),
        ("192.0.2.7, nonsense", "10.0.0.1", "10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "::1", "2001:db8::1", "::1"),
        ("::ffff:192.0.2.7", "::ffff:10.0.0.1", "192.0.2.7", "10.0.0.1"),
        ("", "fe80::1%eth0", "fe80::1", "fe80::1"),
        ("", "", "", ""),
    ],
)
def test_only_a_trusted_proxy_is_believed_and_only_its_own_words(
    said: str, peer: str, trusted: str, plain: str
) -> None:
    headers = {b"x-forwarded-for": said.encode()} if said else {}
    assert client_address(headers, peer, True) == trusted
    assert client_address(headers, peer, False) == plain


@pytest.mark.parametrize(
    ("host", "port", "hosts"),
    [
        (None, "443", []),
        ("a.test", None, ["a.test"]),
        ("a.test", "8443", ["a.test", "a.test:8443"]),
        ("a.test:80", "8443", ["a.test:80"]),
        ("[::1]", "8443", ["[::1]", "[::1]:8443"]),
    ],
)
def test_hosts_that_a_client_behind_a_proxy_may_have_signed(
    host: str | None, port: str | None, hosts: list[str]
) -> None:
    headers = {b"x-forwarded-host": host, b"x-forwarded-port": port}
    given = {name: value.encode() for name, value in headers.items() if value is not None}
    assert forwarded_hosts(given) == [each.encode() for each in hosts]


@pytest.mark.parametrize(
    "headers",
    [
        {b"host": b"127.0.0." + b"0" * 60_000 + b"1"},
        {b"host": b"x" * 60_000},
        {b"x-forwarded-host": b"x" * 60_000},
        {b"host": b"x" * 271},
    ],
)
def test_a_name_that_no_host_has_is_in_no_url(headers: dict[bytes, bytes]) -> None:
    """A listing has it a thousand times."""
    assert base_url(headers, None, True) == "http://127.0.0.1:0"


def test_a_long_address_is_nobodys() -> None:
    hosts = Hosts("127.0.0.1", (), any_name=False)
    assert hosts.is_own(b"127.0.0.001:9324")
    assert not hosts.is_own(b"127.0.0." + b"0" * 60_000 + b"1")
