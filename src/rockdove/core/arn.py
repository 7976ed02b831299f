"""Amazon resource names of queues. One service is one region: an ARN with another region names the same queue."""

import re

_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[^:]*:([^:]*):([^:/]+)")


def queue_arn(region: str, account: str, name: str) -> str:
    return f"arn:aws:sqs:{region}:{account}:{name}"


def parse_arn(arn: str) -> tuple[str, str] | None:
    """The account and the name of a queue, or None for what is no queue's ARN."""
    match = _ARN.fullmatch(arn)
    return (match[1], match[2]) if match else None
