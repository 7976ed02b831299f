"""boto3 clients for topics, and what a queue gets of them."""

import json
from functools import cache
from typing import Any

import boto3

from tests.support.aws import config
from tests.support.environment import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.sqs_queue import SqsQueue


@cache
def _session() -> boto3.Session:
    """Kept, because it reads botocore's models anew each time."""
    return boto3.Session(region_name=REGION)


def sns_client(endpoint: str, access_key: str = ACCESS_KEY, secret_key: str = SECRET_KEY) -> Any:
    """Checks no parameters itself: what is wrong with them is for the service to say."""
    keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key}
    settings = config(parameter_validation=False, user_agent="contract")
    return _session().client("sns", endpoint_url=endpoint, config=settings, **keys)


def envelopes(queue: SqsQueue) -> list[dict[str, Any]]:
    """What a topic has sent to a queue."""
    return [json.loads(body) for body in queue.bodies()]


def texts(queue: SqsQueue) -> list[str]:
    return [each["Message"] for each in envelopes(queue)]


def attribute(value: str | int | bytes, kind: str | None = None) -> dict[str, Any]:
    """A message attribute."""
    if isinstance(value, bytes):
        return {"DataType": "Binary", "BinaryValue": value}
    return {"DataType": kind or ("String" if isinstance(value, str) else "Number"), "StringValue": str(value)}
