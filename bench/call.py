"""Single SQS calls outside the measured time: make a queue, count its messages."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from bench.error import BenchError
from rockdove.wire.signature import Credentials, sign

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


def signed(credentials: Credentials | None, endpoint: str, operation: str, body: bytes) -> dict[str, str]:
    """The headers of a request; without credentials, in their shape."""
    headers = {"Content-Type": CONTENT_TYPE, "X-Amz-Target": f"AmazonSQS.{operation}"}
    if credentials is None:
        return headers | SIGNED
    host = {"Host": endpoint.partition("://")[2]}
    return headers | sign(credentials, "us-east-1", "POST", "/", headers | host, body)


def call(endpoint: str, operation: str, credentials: Credentials | None = None, /, **payload: object) -> dict[str, Any]:
    body = json.dumps(payload).encode()
    headers = signed(credentials, endpoint, operation, body)
    request = urllib.request.Request(endpoint + "/", body, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
    except urllib.error.HTTPError as error:
        raise CallError(f"{endpoint}: {operation} answered {error.code}: {error.read()[:300]!r}") from error
    reply: dict[str, Any] = json.loads(body) if body else {}
    return reply


def create(
    endpoint: str, name: str, credentials: Credentials | None = None, attributes: dict[str, str] | None = None
) -> str:
    """Makes a queue, returns its URL."""
    return str(call(endpoint, "CreateQueue", credentials, QueueName=name, Attributes=attributes or {})["QueueUrl"])


def count(endpoint: str, queue_url: str, credentials: Credentials | None = None) -> int:
    """All messages of the queue: visible, in flight and delayed."""
    reply = call(endpoint, "GetQueueAttributes", credentials, QueueUrl=queue_url, AttributeNames=list(COUNTS))
    return sum(int(reply["Attributes"][name]) for name in COUNTS)
