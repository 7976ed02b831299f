"""Where the service is: queue URLs follow the request's Host, ARNs carry the region."""

import pytest

from tests.contract.sqs.conftest import NewName, QueueMaker
from tests.support.raw import Web, Wire, json_request
from tests.support.service import RunningService, Services
from tests.support.sqs_queue import redrive


@pytest.mark.parametrize("host", ["queue.test", "queue.test:1234", "[::1]:9324", "127.0.0.1"])
def test_urls_follow_the_host(web: Web, new_name: NewName, host: str) -> None:
    name = new_name()
    url = f"http://{host}/000000000000/{name}"
    headers = {"Host": host}
    assert web.call("CreateQueue", {"QueueName": name}, headers).json == {"QueueUrl": url}
    assert web.call("GetQueueUrl", {"QueueName": name}, headers).json == {"QueueUrl": url}
    assert web.call("ListQueues", {"QueueNamePrefix": name}, headers).json == {"QueueUrls": [url]}
    assert f"<QueueUrl>{url}</QueueUrl>" in web.get("/", headers, Action="GetQueueUrl", QueueName=name).text


def test_whatever_the_url_the_queue_is_the_same(web: Web, new_name: NewName) -> None:
    name = new_name()
    url = web.call("CreateQueue", {"QueueName": name}, {"Host": "one.test"}).json["QueueUrl"]
    assert web.call("SendMessage", {"QueueUrl": url, "MessageBody": "x"}, {"Host": "two.test"}).status == 200
    other = web.call("GetQueueUrl", {"QueueName": name}, {"Host": "two.test"}).json["QueueUrl"]
    assert url != other
    assert len(web.call("ReceiveMessage", {"QueueUrl": other}).json["Messages"]) == 1


def test_without_a_host_the_url_has_the_address(service: RunningService, new_name: NewName) -> None:
    """HTTP/1.0 knows no Host."""
    name = new_name()
    wire = Wire(service.port)
    request = json_request("CreateQueue", {"QueueName": name}).replace(b"HTTP/1.1\r\nHost: queue.test", b"HTTP/1.0")
    wire.send(request)
    assert wire.read().json == {"QueueUrl": f"{service.endpoint}/000000000000/{name}"}
    wire.close()


FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "sqs.example.org", "X-Forwarded-Port": "8443"}


def test_a_proxy_is_not_believed_unless_told_to(web: Web, new_name: NewName) -> None:
    name = new_name()
    reply = web.call("CreateQueue", {"QueueName": name}, FORWARDED | {"Host": "inner.test"})
    assert reply.json == {"QueueUrl": f"http://inner.test/000000000000/{name}"}


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        (FORWARDED, "https://sqs.example.org:8443"),
        ({"X-Forwarded-Proto": "https", "X-Forwarded-Host": "sqs.example.org"}, "https://sqs.example.org"),
        ({"X-Forwarded-Host": "sqs.example.org:99, inner.proxy"}, "http://sqs.example.org:99"),
        ({"X-Forwarded-Proto": "https"}, "https://inner.test"),
        ({"X-Forwarded-Proto": "HTTPS", "X-Forwarded-Host": "[::1]:99"}, "https://[::1]:99"),
        ({"X-Forwarded-Proto": "javascript"}, "http://inner.test"),
        ({"X-Forwarded-Host": "a b<"}, "http://inner.test"),
        ({"X-Forwarded-Host": "a/../b?"}, "http://inner.test"),
        ({"X-Forwarded-Host": "sqs.example.org", "X-Forwarded-Port": "1/x"}, "http://sqs.example.org"),
        ({}, "http://inner.test"),
    ],
    ids=str,
)
def test_a_proxy_is_believed_when_told_to(
    services: Services, new_name: NewName, headers: dict[str, str], base: str
) -> None:
    web = Web(services.shared("memory", trust_proxy=True).port)
    name = new_name()
    reply = web.call("CreateQueue", {"QueueName": name}, headers | {"Host": "inner.test"})
    assert reply.json == {"QueueUrl": f"{base}/000000000000/{name}"}
    web.close()


@pytest.fixture
def elsewhere(services: Services, store: str, protocol: str, new_name: NewName) -> QueueMaker:
    """A service in another region; the client still signs for us-east-1."""
    return QueueMaker(services.shared(store, region="eu-west-3").client(protocol), new_name)


def test_arns_carry_the_region_of_the_service(elsewhere: QueueMaker) -> None:
    for queue in (elsewhere(), elsewhere.fifo()):
        assert queue.arn == f"arn:aws:sqs:eu-west-3:000000000000:{queue.name}"


def test_arns_of_another_region_name_the_same_queue(elsewhere: QueueMaker) -> None:
    dead, queue = elsewhere(), elsewhere(VisibilityTimeout="0")
    queue.set(RedrivePolicy=redrive(f"arn:aws:sqs:us-east-1:000000000000:{dead.name}", 1))
    queue.send("x")
    queue.receive_one()
    assert queue.receive() == []
    message = dead.receive_one(MessageSystemAttributeNames=["DeadLetterQueueSourceArn"])
    assert message["Attributes"] == {"DeadLetterQueueSourceArn": queue.arn}
