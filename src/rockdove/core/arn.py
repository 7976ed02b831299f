"""Amazon resource names of queues. One service is one region: an ARN with another region names the same queue."""

import re

_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[^:]*:([^:]*):([^:/]+)")

# What clients take for a region: they build names of hosts from it.
_REGION = re.compile(r"(?![0-9]+\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def is_region(text: str) -> bool:
    return _REGION.fullmatch(text) is not None


def queue_arn(region: str, account: str, name: str) -> str:
    return f"arn:aws:sqs:{region}:{account}:{name}"


def parse_arn(arn: str) -> tuple[str, str] | None:
    """The account and the name of a queue, or None for what is no queue's ARN."""
    match = _ARN.fullmatch(arn)
    return (match[1], match[2]) if match else None
