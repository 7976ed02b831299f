"""The AWS command line client, as a user types it, against a real server."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import isolated
from tests.support.server import ServerFactory

_TIMEOUT_S = 60


@dataclass(frozen=True)
class Client:
    """A version of the client, and how it differs."""

    program: Path
    # What it ends with after an error of the service.
    failed: int
    # How bytes are typed.
    typed: Callable[[bytes], str]
    system_attributes: str


CLIENTS = {
    "PyPI": Client(Path(sys.executable).with_name("aws"), 255, bytes.decode, "--message-system-attribute-names"),
    # Version 2. That of Debian 12 speaks AWS Query.
    "Debian": Client(Path("/usr/bin/aws"), 254, lambda raw: base64.b64encode(raw).decode(), "--attribute-names"),
}

Aws = Callable[..., subprocess.CompletedProcess[str]]
AwsJson = Callable[..., Any]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Client:
    found = CLIENTS[request.param]
    if not found.program.exists():
        pytest.skip(f"no {found.program}: `make test-clients` installs it where apt has the package awscli")
    return found


@pytest.fixture
def aws(client: Client, server: ServerFactory) -> Aws:
    """Runs `aws --endpoint-url ... WORDS`."""
    endpoint = server.shared().endpoint

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [client.program, "--endpoint-url", endpoint, "--output", "json", *words],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=isolated(),
        )

    return run


@pytest.fixture
def aws_json(aws: Aws) -> AwsJson:
    """The document that the command printed; None when it printed nothing."""

    def run(*words: str) -> Any:
        done = aws(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


@pytest.fixture
def sqs_json(aws_json: AwsJson) -> AwsJson:
    """The same of `aws sqs WORDS`."""
    return partial(aws_json, "sqs")


@pytest.fixture
def sns_json(aws_json: AwsJson) -> AwsJson:
    return partial(aws_json, "sns")


def test_the_life_of_a_queue(sqs_json: AwsJson, new_name: Callable[..., str]) -> None:
    name = new_name()
    url = sqs_json("create-queue", "--queue-name", name, "--attributes", "VisibilityTimeout=45", "--tags", "a=b")[
        "QueueUrl"
    ]
    assert sqs_json("get-queue-url", "--queue-name", name) == {"QueueUrl": url}
    assert sqs_json("list-queues", "--queue-name-prefix", name) == {"QueueUrls": [url]}
    assert sqs_json("list-queue-tags", "--queue-url", url) == {"Tags": {"a": "b"}}

    assert sqs_json("set-queue-attributes", "--queue-url", url, "--attributes", "DelaySeconds=1") is None
    answer = sqs_json(
        "get-queue-attributes", "--queue-url", url, "--attribute-names", "DelaySeconds", "VisibilityTimeout"
    )
    assert answer == {"Attributes": {"DelaySeconds": "1", "VisibilityTimeout": "45"}}

    sqs_json("delete-queue", "--queue-url", url)
    assert url not in ((sqs_json("list-queues", "--queue-name-prefix", name) or {}).get("QueueUrls", []))


def test_a_message_with_attributes_is_sent_received_and_deleted(
    client: Client, sqs_json: AwsJson, new_name: Callable[..., str]
) -> None:
    url = sqs_json("create-queue", "--queue-name", new_name())["QueueUrl"]
    attributes = {
        "city": {"DataType": "String", "StringValue": "Zürich"},
        "raw": {"DataType": "Binary", "BinaryValue": client.typed(b"dove")},
    }
    sent = sqs_json(
        "send-message", "--queue-url", url, "--message-body", "hello, wörld",
        "--message-attributes", json.dumps(attributes),
    )  # fmt: skip
    assert set(sent) == {"MD5OfMessageBody", "MD5OfMessageAttributes", "MessageId"}

    [message] = sqs_json(
        "receive-message", "--queue-url", url, "--wait-time-seconds", "5",
        "--message-attribute-names", "All", client.system_attributes, "All",
    )["Messages"]  # fmt: skip
    assert message["Body"] == "hello, wörld"
    assert message["MessageId"] == sent["MessageId"]
    # Bytes are always printed in base64.
    assert message["MessageAttributes"]["raw"]["BinaryValue"] == base64.b64encode(b"dove").decode()
    assert message["MessageAttributes"]["city"] == attributes["city"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"

    handle = ["--queue-url", url, "--receipt-handle", message["ReceiptHandle"]]
    sqs_json("change-message-visibility", *handle, "--visibility-timeout", "0")
    [again] = sqs_json("receive-message", "--queue-url", url, "--wait-time-seconds", "5")["Messages"]
    assert again["MessageId"] == sent["MessageId"]
    sqs_json("delete-message", "--queue-url", url, "--receipt-handle", again["ReceiptHandle"])
    assert sqs_json("receive-message", "--queue-url", url) is None


def test_batches_and_purge(sqs_json: AwsJson, new_name: Callable[..., str]) -> None:
    url = sqs_json("create-queue", "--queue-name", new_name())["QueueUrl"]
    entries = json.dumps([{"Id": str(number), "MessageBody": f"m{number}"} for number in range(10)])
    sent = sqs_json("send-message-batch", "--queue-url", url, "--entries", entries)
    assert [entry["Id"] for entry in sent["Successful"]] == [str(number) for number in range(10)]

    received = sqs_json("receive-message", "--queue-url", url, "--max-number-of-messages", "3")["Messages"]
    entries = json.dumps(
        [{"Id": f"d{number}", "ReceiptHandle": message["ReceiptHandle"]} for number, message in enumerate(received)]
    )
    gone = sqs_json("delete-message-batch", "--queue-url", url, "--entries", entries)
    assert len(gone["Successful"]) == len(received)

    everything = ["get-queue-attributes", "--queue-url", url, "--attribute-names", "All"]
    assert sqs_json(*everything)["Attributes"]["ApproximateNumberOfMessages"] == str(10 - len(received))
    sqs_json("purge-queue", "--queue-url", url)
    assert sqs_json(*everything)["Attributes"]["ApproximateNumberOfMessages"] == "0"


def test_fifo(sqs_json: AwsJson, new_name: Callable[..., str]) -> None:
    url = sqs_json(
        "create-queue", "--queue-name", new_name(".fifo"),
        "--attributes", "FifoQueue=true,ContentBasedDeduplication=true",
    )["QueueUrl"]  # fmt: skip
    for body in ("first", "second", "first"):
        sqs_json("send-message", "--queue-url", url, "--message-body", body, "--message-group-id", "g")
    messages = sqs_json("receive-message", "--queue-url", url, "--max-number-of-messages", "10")["Messages"]
    assert [message["Body"] for message in messages] == ["first", "second"]


def test_the_list_is_paged(sqs_json: AwsJson, new_name: Callable[..., str]) -> None:
    prefix = new_name("-page")
    urls = [sqs_json("create-queue", "--queue-name", f"{prefix}-{number}")["QueueUrl"] for number in range(5)]
    words = ["list-queues", "--queue-name-prefix", prefix]
    assert sqs_json(*words, "--page-size", "2") == {"QueueUrls": urls}
    first = sqs_json(*words, "--max-items", "3")
    assert first["QueueUrls"] == urls[:3]
    assert sqs_json(*words, "--starting-token", first["NextToken"]) == {"QueueUrls": urls[3:]}


def test_a_message_is_hidden_and_delayed_by_batches(sqs_json: AwsJson, new_name: Callable[..., str]) -> None:
    url = sqs_json("create-queue", "--queue-name", new_name())["QueueUrl"]
    entries = [{"Id": "now", "MessageBody": "now"}, {"Id": "later", "MessageBody": "later", "DelaySeconds": 900}]
    sqs_json("send-message-batch", "--queue-url", url, "--entries", json.dumps(entries))
    [message] = sqs_json("receive-message", "--queue-url", url, "--max-number-of-messages", "10")["Messages"]
    entries = [{"Id": "now", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}]
    words = ["change-message-visibility-batch", "--queue-url", url, "--entries", json.dumps(entries)]
    assert sqs_json(*words) == {"Successful": [{"Id": "now"}]}
    counts = sqs_json("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
    assert counts["ApproximateNumberOfMessages"] == "1"
    assert counts["ApproximateNumberOfMessagesDelayed"] == "1"


def test_the_life_of_a_topic(sqs_json: AwsJson, sns_json: AwsJson, new_name: Callable[..., str]) -> None:
    url = sqs_json("create-queue", "--queue-name", new_name())["QueueUrl"]
    words = ["get-queue-attributes", "--queue-url", url, "--attribute-names", "QueueArn"]
    queue = sqs_json(*words)["Attributes"]["QueueArn"]
    topic = sns_json("create-topic", "--name", new_name())["TopicArn"]
    of_topic = ["--topic-arn", topic]
    assert {"TopicArn": topic} in sns_json("list-topics")["Topics"]

    subscription = sns_json(
        "subscribe", *of_topic, "--protocol", "sqs", "--notification-endpoint", queue,
        "--attributes", json.dumps({"FilterPolicy": json.dumps({"state": ["paid"]})}),
    )["SubscriptionArn"]  # fmt: skip
    [listed] = sns_json("list-subscriptions-by-topic", *of_topic)["Subscriptions"]
    assert (listed["SubscriptionArn"], listed["Protocol"], listed["Endpoint"]) == (subscription, "sqs", queue)

    paid = {"state": {"DataType": "String", "StringValue": "paid"}}
    sent = sns_json(
        "publish", *of_topic, "--subject", "an order", "--message", "grüße",
        "--message-attributes", json.dumps(paid),
    )  # fmt: skip
    entries = [{"Id": "paid", "Message": "more", "MessageAttributes": paid}, {"Id": "open", "Message": "filtered out"}]
    batch = sns_json("publish-batch", *of_topic, "--publish-batch-request-entries", json.dumps(entries))
    ids = {entry["Id"]: entry["MessageId"] for entry in batch["Successful"]}

    messages = sqs_json("receive-message", "--queue-url", url, "--max-number-of-messages", "10")["Messages"]
    envelopes = {envelope["Message"]: envelope for message in messages for envelope in [json.loads(message["Body"])]}
    assert {text: envelope["MessageId"] for text, envelope in envelopes.items()} == {
        "grüße": sent["MessageId"],
        "more": ids["paid"],
    }
    assert envelopes["grüße"]["Subject"] == "an order"
    assert envelopes["grüße"]["TopicArn"] == topic
    assert envelopes["grüße"]["MessageAttributes"] == {"state": {"Type": "String", "Value": "paid"}}

    assert sns_json("unsubscribe", "--subscription-arn", subscription) is None
    assert sns_json("list-subscriptions-by-topic", *of_topic)["Subscriptions"] == []
    assert sns_json("delete-topic", *of_topic) is None
    assert {"TopicArn": topic} not in sns_json("list-topics")["Topics"]


def test_a_missing_queue_is_an_error_that_names_it(client: Client, aws: Aws, new_name: Callable[..., str]) -> None:
    done = aws("sqs", "get-queue-url", "--queue-name", new_name())
    assert (done.returncode, done.stdout) == (client.failed, "")
    assert "(AWS.SimpleQueueService.NonExistentQueue) when calling the GetQueueUrl operation" in done.stderr
    assert "The specified queue does not exist" in done.stderr


def test_a_missing_topic_is_an_error(client: Client, aws: Aws, new_name: Callable[..., str]) -> None:
    topic = f"arn:aws:sns:us-east-1:000000000000:{new_name()}"
    done = aws("sns", "publish", "--topic-arn", topic, "--message", "hello")
    assert (done.returncode, done.stdout) == (client.failed, "")
    assert "(NotFound) when calling the Publish operation" in done.stderr


def test_a_wrong_value_is_an_error(client: Client, aws: Aws, new_name: Callable[..., str]) -> None:
    done = aws("sqs", "create-queue", "--queue-name", new_name(), "--attributes", "VisibilityTimeout=43201")
    assert done.returncode == client.failed
    assert "(InvalidAttributeValue) when calling the CreateQueue operation" in done.stderr
