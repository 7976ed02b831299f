"""Addresses of services."""

import pytest

from rockdove.client.endpoint import DEFAULT_ENDPOINT, parse_endpoint


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "path", "authority"),
    [
        ("http://127.0.0.1:9324", "127.0.0.1", 9324, False, "/", "127.0.0.1:9324"),
        ("http://127.0.0.1:9324/", "127.0.0.1", 9324, False, "/", "127.0.0.1:9324"),
        ("http://queue.test", "queue.test", 80, False, "/", "queue.test"),
        ("https://queue.test", "queue.test", 443, True, "/", "queue.test"),
        ("https://queue.test:80/sqs", "queue.test", 80, True, "/sqs/", "queue.test:80"),
        ("http://[::1]:9324", "::1", 9324, False, "/", "[::1]:9324"),
    ],
)
def test_an_address_is_taken_apart(url: str, host: str, port: int, tls: bool, path: str, authority: str) -> None:
    found = parse_endpoint(url)
    assert (found.host, found.port, found.tls, found.path, found.authority) == (host, port, tls, path, authority)
    assert found.url == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:9324",
        "ftp://127.0.0.1",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://a b",
        "http://user@host",
        "http://host/?query",
        "http://host/\r\nX-Header: injected",
        "http://höst",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ValueError, match=r"must look like http://127\.0\.0\.1:9324"):
        parse_endpoint(url)


def test_without_address_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_endpoint().url == DEFAULT_ENDPOINT
    monkeypatch.setenv("ROCKDOVE_ENDPOINT", "http://elsewhere:1")
    assert parse_endpoint().url == "http://elsewhere:1"
    assert parse_endpoint("http://here:2").url == "http://here:2"
