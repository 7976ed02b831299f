"""Single SQS calls outside the measured time: make a queue, count its messages."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from bench.error import BenchError

CONTENT_TYPE = "application/x-amz-json-1.0"

# What a real client sends, in shape; servers without accounts take any signature.
SIGNED = {
    "X-Amz-Date": "20250101T000000Z",
    "Authorization": "AWS4-HMAC-SHA256 Credential=bench/20250101/us-east-1/sqs/aws4_request, "
    f"SignedHeaders=host;x-amz-date;x-amz-target, Signature={'0' * 64}",
}

COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class CallError(BenchError):
    """A server refused a call that must work."""


def call(endpoint: str, operation: str, **payload: object) -> dict[str, Any]:
    headers = {"Content-Type": CONTENT_TYPE, "X-Amz-Target": f"AmazonSQS.{operation}", **SIGNED}
    request = urllib.request.Request(endpoint + "/", json.dumps(payload).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
    except urllib.error.HTTPError as error:
        raise CallError(f"{endpoint}: {operation} answered {error.code}: {error.read()[:300]!r}") from error
    reply: dict[str, Any] = json.loads(body) if body else {}
    return reply


def create(endpoint: str, name: str) -> str:
    """Makes a queue, returns its URL."""
    return str(call(endpoint, "CreateQueue", QueueName=name)["QueueUrl"])


def count(endpoint: str, queue_url: str) -> int:
    """All messages of the queue: visible, in flight and delayed."""
    reply = call(endpoint, "GetQueueAttributes", QueueUrl=queue_url, AttributeNames=list(COUNTS))
    return sum(int(reply["Attributes"][name]) for name in COUNTS)
