"""The service behind a real nginx: queue URLs are the ones that clients outside can use."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws import sqs_client
from tests.support.nginx import start_nginx
from tests.support.process import Process
from tests.support.receiving import receive_all
from tests.support.server import Server, ServerFactory

OUTSIDE = "queues.example.com"
# What most guides to nginx tell to set; Host is then the upstream's own address.
FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "$http_host", "X-Forwarded-For": "$remote_addr"}

Proxy = Callable[..., int]


@pytest.fixture
def trusting(server: ServerFactory) -> Server:
    return server.shared("--trust-proxy")


@pytest.fixture
def plain(server: ServerFactory) -> Server:
    return server.shared("--allow-host", OUTSIDE)


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """`proxy(server, {header: value})` gives the port of an nginx in front of it."""
    running: list[Process] = []

    def start(server: Server, headers: dict[str, str]) -> int:
        process, port = start_nginx(tmp_path / f"nginx-{len(running)}", server.endpoint, headers)
        running.append(process)
        return port

    yield start
    for process in running:
        process.kill()


def created_url(port: int, name: str, host: str) -> str:
    """Creates a queue by a plain request with that Host header, which SDKs do not let one choose."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(
            "POST",
            "/",
            json.dumps({"QueueName": name}),
            {
                "Host": host,
                "Content-Type": "application/x-amz-json-1.0",
                "X-Amz-Target": "AmazonSQS.CreateQueue",
            },
        )
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    assert answer.status == 200, body
    url: str = json.loads(body)["QueueUrl"]
    return url


def test_a_trusted_proxy_says_where_the_service_is(
    trusting: Server, proxy: Proxy, new_name: Callable[..., str]
) -> None:
    name = new_name()
    url = created_url(proxy(trusting, FORWARDED), name, OUTSIDE)
    assert url == f"https://{OUTSIDE}/000000000000/{name}"


def test_a_trusted_proxy_names_its_port(trusting: Server, proxy: Proxy, new_name: Callable[..., str]) -> None:
    name = new_name()
    headers = FORWARDED | {"X-Forwarded-Host": "$host", "X-Forwarded-Port": "8443"}
    assert created_url(proxy(trusting, headers), name, OUTSIDE) == f"https://{OUTSIDE}:8443/000000000000/{name}"


def test_a_port_in_the_forwarded_host_is_kept(trusting: Server, proxy: Proxy, new_name: Callable[..., str]) -> None:
    name = new_name()
    url = created_url(proxy(trusting, FORWARDED), name, f"{OUTSIDE}:8443")
    assert url == f"https://{OUTSIDE}:8443/000000000000/{name}"


def test_of_two_proxies_the_outer_one_counts(trusting: Server, proxy: Proxy, new_name: Callable[..., str]) -> None:
    name = new_name()
    headers = {"X-Forwarded-Proto": '"https, http"', "X-Forwarded-Host": f'"{OUTSIDE}, inner.example.com"'}
    assert created_url(proxy(trusting, headers), name, "inner") == f"https://{OUTSIDE}/000000000000/{name}"


def test_forwarded_headers_are_not_believed_untold(plain: Server, proxy: Proxy, new_name: Callable[..., str]) -> None:
    name = new_name()
    assert created_url(proxy(plain, FORWARDED), name, OUTSIDE) == f"{plain.endpoint}/000000000000/{name}"


def test_the_host_header_counts_without_being_told(plain: Server, proxy: Proxy, new_name: Callable[..., str]) -> None:
    name = new_name()
    port = proxy(plain, FORWARDED | {"Host": "$http_host"})
    assert created_url(port, name, f"{OUTSIDE}:9000") == f"http://{OUTSIDE}:9000/000000000000/{name}"


def test_boto3_works_through_the_proxy(trusting: Server, proxy: Proxy, new_name: Callable[..., str]) -> None:
    port = proxy(trusting, FORWARDED | {"X-Forwarded-Proto": "$scheme"})
    outside: Any = sqs_client(f"http://127.0.0.1:{port}")
    url = outside.create_queue(QueueName=new_name())["QueueUrl"]
    assert url.startswith(f"http://127.0.0.1:{port}/000000000000/")
    body = "ü" * 524_288
    outside.send_message(QueueUrl=url, MessageBody=body)
    [message] = receive_all(outside, url, 1)
    assert message["Body"] == body
    outside.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    # A held receive passes through nginx too, and ends with the send.
    timer = threading.Timer(0.5, lambda: outside.send_message(QueueUrl=url, MessageBody="wake up"))
    timer.start()
    messages = outside.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
    timer.join()
    assert [message["Body"] for message in messages] == ["wake up"]
    outside.close()
