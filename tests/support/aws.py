"""boto3 clients that show what the server really does: no retries."""

from typing import Any

import boto3
from botocore.config import Config

from tests.support.environment import ACCESS_KEY, REGION, SECRET_KEY

# Far longer than the longest long poll (20 s), and than a busy disk may stall.
_READ_TIMEOUT_S = 120


def config(**options: Any) -> Config:
    defaults = {"retries": {"total_max_attempts": 1}, "connect_timeout": 3, "read_timeout": _READ_TIMEOUT_S}
    return Config(**(defaults | options))


def session() -> boto3.Session:
    return boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION)


def sqs_client(endpoint: str, **options: Any) -> Any:
    """Options are botocore Config's."""
    return session().client("sqs", endpoint_url=endpoint, config=config(**options))


def sqs_resource(endpoint: str) -> Any:
    return session().resource("sqs", endpoint_url=endpoint, config=config())
