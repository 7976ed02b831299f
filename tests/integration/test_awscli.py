"""The AWS command line client, as a user types it, against a real server."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import isolated
from tests.support.server import ServerFactory

AWS = str(Path(sys.executable).with_name("aws"))
_TIMEOUT_S = 60

Aws = Callable[..., subprocess.CompletedProcess[str]]
AwsJson = Callable[..., Any]


@pytest.fixture
def aws(server: ServerFactory) -> Aws:
    """Runs `aws --endpoint-url ... sqs WORDS`."""
    endpoint = server.shared().endpoint

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [AWS, "--endpoint-url", endpoint, "--output", "json", "sqs", *words],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=isolated(),
        )

    return run


@pytest.fixture
def sqs_json(aws: Aws) -> AwsJson:
    """The document that the command printed; None when it printed nothing."""

    def run(*words: str) -> Any:
        done = aws(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


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
    sqs_json: AwsJson, new_name: Callable[..., str]
) -> None:
    url = sqs_json("create-queue", "--queue-name", new_name())["QueueUrl"]
    attributes = {
        "city": {"DataType": "String", "StringValue": "Zürich"},
        "raw": {"DataType": "Binary", "BinaryValue": "dove"},
    }
    sent = sqs_json(
        "send-message", "--queue-url", url, "--message-body", "hello, wörld",
        "--message-attributes", json.dumps(attributes),
    )  # fmt: skip
    assert set(sent) == {"MD5OfMessageBody", "MD5OfMessageAttributes", "MessageId"}

    [message] = sqs_json(
        "receive-message", "--queue-url", url, "--wait-time-seconds", "5",
        "--message-attribute-names", "All", "--message-system-attribute-names", "All",
    )["Messages"]  # fmt: skip
    assert message["Body"] == "hello, wörld"
    assert message["MessageId"] == sent["MessageId"]
    # This client takes bytes as they are typed, and prints them in base64.
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


def test_a_missing_queue_is_an_error_that_names_it(aws: Aws, new_name: Callable[..., str]) -> None:
    done = aws("get-queue-url", "--queue-name", new_name())
    # 255 is what this major version of the client makes of every error of the service.
    assert (done.returncode, done.stdout) == (255, "")
    assert "(AWS.SimpleQueueService.NonExistentQueue) when calling the GetQueueUrl operation" in done.stderr
    assert "The specified queue does not exist" in done.stderr


def test_a_wrong_value_is_an_error(aws: Aws, new_name: Callable[..., str]) -> None:
    done = aws("create-queue", "--queue-name", new_name(), "--attributes", "VisibilityTimeout=43201")
    assert done.returncode == 255
    assert "(InvalidAttributeValue) when calling the CreateQueue operation" in done.stderr
